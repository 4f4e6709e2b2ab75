"""What there is to see of workers, conversations and events."""

import json

import pytest

from amiral.base import events as ev
from amiral.base.errors import Invalid, NotFound

QUEUED = ("m1", "consultant", "consultant-owner", "hello", "owner")
WHO = ("t1", "m1", "consultant")


async def lines(desk, *argv):
    return (await desk.ask(*argv)).text.split("\n")


async def state(desk):
    (project,) = (await desk.ask("status")).data["projects"]
    return {row["id"]: row for row in project["workers"]}["consultant"]


async def test_a_worker_is_idle_waiting_working_or_limited(desk):
    assert (await state(desk))["state"] == "idle"
    await desk.journal.append(ev.MessageQueued(*QUEUED))
    assert (await state(desk))["state"] == "waiting"
    await desk.journal.append(ev.TurnStarted(*WHO, "s1", "m1"))
    assert {**(await state(desk)), "waiting": 0}["turn_id"] == "t1"
    assert (await state(desk))["state"] == "working"
    assert "⏳ consultant · working" in await lines(desk, "status")
    await desk.journal.append(ev.TurnParked(*WHO, "s1", (1, 0), "five_hour", None, "cli"))
    assert (await state(desk))["state"] == "limited"
    assert "⏸ consultant · limited · until unknown: amiral limits resume consultant" in (
        await lines(desk, "status")
    )
    await desk.journal.append(ev.TurnEnded(*WHO, "s1", (1, 0), "done"))
    assert (await state(desk))["state"] == "idle"
    assert "✓ developer (active) · idle" in await lines(desk, "status")


async def test_what_needs_the_person_comes_first(desk):
    stop = desk.brake.engage("a test", "owner", 0)
    folder = desk.home.with_name("shop") / ".amiral" / "config"
    folder.mkdir(parents=True)
    (folder / "workers_registry.json").write_text("{}")
    await desk.roster.refresh()
    shown = await lines(desk, "status")
    assert shown[0] == f"⛔ stop {stop.stop_id} is on: amiral release {stop.stop_id}"
    assert shown[1].startswith("? config/workers_registry.json has no effect until you trust it")
    health = await desk.ask("health")
    assert (health.data["ok"], health.data["stop_id"]) == (False, stop.stop_id)
    assert f"⛔ stop {stop.stop_id} is on" in health.text
    desk.brake.release(stop.stop_id)
    (folder / "workers_registry.json").unlink()
    await desk.roster.refresh()
    assert (await desk.ask("health")).text == "✓ shop is well"


async def test_the_workers_are_listed_and_shown_in_full(desk):
    listed = (await desk.ask("workers")).data["workers"]
    assert [row["id"] for row in listed] == ["consultant", "developer", "ui-designer"]
    assert "💬 consultant" in (await desk.ask("workers")).text
    one = await desk.ask("workers", "show", "consultant")
    assert (one.data["driver"], one.data["tools"][0]) == ("scripted", "Read")
    assert "max_turns" in one.text
    with pytest.raises(NotFound, match="consultant"):
        await desk.ask("workers", "show", "consultat")


async def test_a_conversation_shows_every_word_and_how_each_turn_ended(desk):
    assert (await desk.ask("conversations")).text == "no conversation yet"
    with pytest.raises(NotFound):
        await desk.ask("conversation", "show", "consultant-owner")
    await desk.journal.append(ev.MessageQueued(*QUEUED))
    await desk.journal.append(
        ev.TurnEnded(*WHO, "s1", (1, 0), "unsure", reason="nothing proves it")
    )
    await desk.journal.append(ev.MessageQueued("m2", *QUEUED[1:]))
    await desk.journal.append(ev.TurnEnded("t2", "m2", *WHO[2:], "s1", (1, 0), "done", "Hi."))
    shown = await desk.ask("conversation", "show", "consultant-owner")
    words = [line.split(" ", 1)[1] for line in shown.text.split("\n")]
    assert words[:2] == ["owner: hello", "consultant: (unsure)"]
    assert words[2:] == ["owner: hello", "consultant: Hi."]
    assert [one.outcome for one in shown.data["messages"]] == ["", "unsure", "", "done"]
    (listed,) = (await desk.ask("conversations")).data["conversations"]
    assert (listed["id"], listed["count"]) == ("consultant-owner", 4)


async def test_events_are_told_once_each_from_the_place_asked_for(desk):
    await desk.journal.append(ev.MessageQueued(*QUEUED), ev.TurnStarted(*WHO, "s1", "m1"))
    newest = desk.journal.last_seq
    reply = await desk.ask("events", "--since", str(newest - 2))
    told = [item async for item in reply.items]
    assert [item.data["name"] for item in told] == ["MessageQueued", "TurnStarted"]
    assert told[0].data["payload"]["text"] == "hello"
    assert "\n" not in told[0].text
    json.dumps([item.data for item in told])
    for since in (newest, newest + 7):
        reply = await desk.ask("events", "--since", str(since))
        assert [item async for item in reply.items] == []


async def test_a_follower_gets_what_comes_and_is_refused_a_place_that_is_not_there(desk):
    reply = await desk.ask("events", "--follow", "--since", str(desk.journal.last_seq))
    await desk.journal.append(ev.MessageQueued(*QUEUED))
    assert (await anext(reply.items)).data["name"] == "MessageQueued"
    await reply.items.aclose()
    reply = await desk.ask("events", "--follow", "--since", "999")
    with pytest.raises(Invalid):
        await anext(reply.items)


async def test_the_projects_of_a_process_are_one(desk):
    for command in ("list", "projects"):
        reply = await desk.ask(command)
        assert reply.data["projects"] == [
            {"name": "shop", "id": desk.project.id, "path": desk.project.path}
        ]
        assert reply.text == f"shop  {desk.project.path}"
