"""Limits are listed, lifted and given up by hand."""

from amiral.base import events as ev

WHO = ("t1", "m1", "consultant")


async def test_no_limit_is_said_so(desk):
    reply = await desk.ask("limits")
    assert (reply.text, reply.data) == ("no worker is limited", {"limits": []})


async def test_a_limit_says_who_until_when_and_what_to_do(desk):
    await desk.journal.append(
        ev.TurnParked(*WHO, "s1", (1, 0), "five_hour", 4102444800000, "cli", "full"),
        ev.TurnParked("t2", "m2", "developer", "s2", (1, 0), "", None, "cli"),
    )
    reply = await desk.ask("limits")
    first, second = reply.data["limits"]
    assert (first.worker, first.window, first.state) == ("consultant", "five_hour", "waiting")
    assert first.resets_at_ms == 4102444800000
    assert (second.worker, second.resets_at_ms, second.state) == ("developer", None, "unknown")
    assert reply.text.split("\n") == [
        "⏸ consultant · five_hour · resets 2100-01-01T00:00:00.000Z",
        "  amiral limits resume consultant",
        "⏸ developer · rate limit · no hour given",
        "  amiral limits resume developer",
    ]


async def test_a_passed_hour_is_due(desk):
    await desk.journal.append(ev.TurnParked(*WHO, "s1", (1, 0), "five_hour", 1000, "cli"))
    (limit,) = (await desk.ask("limits")).data["limits"]
    assert limit.state == "due"


async def test_a_person_resumes_or_gives_up(desk):
    assert (await desk.ask("limits", "resume", "consultant")).text == "⏳ resumed consultant"
    assert (await desk.ask("limits", "cancel", "consultant")).data == {
        "worker": "consultant",
        "state": "cancelled",
    }
    told = ["resume", "cancel"]
    assert desk.tray.taken_back == [(what, "consultant", "owner") for what in told]
