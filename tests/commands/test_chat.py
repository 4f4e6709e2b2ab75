"""What `say`, `route`, `role`, `interrupt` and `cancel` answer, whoever asks."""

import pytest

from amiral.base import events as ev
from amiral.base.errors import Conflict, Denied, NotFound
from amiral.commands.chat import Refused
from amiral.commands.registry import Role


async def test_a_message_is_posted_with_who_sent_it_from_where_and_to_what(desk):
    await desk.ask("say", "--reply-to", "m0", "/c", "what is", "this?", surface="telegram")
    await desk.ask("say", "--as", "somebody", "/c more")
    await desk.ask("say", "/c", "and more", role=Role.MEMBER, caller="guest")
    first, second, third = desk.told(ev.MessageQueued)
    assert (first.text, first.worker) == ("what is this?", "consultant")
    assert first.conversation == "consultant-owner"
    assert (first.surface, first.reply_to, first.sender) == ("telegram", "m0", "owner")
    assert (second.sender, third.sender) == ("somebody", "guest")


async def test_an_answer_is_the_text_alone_for_people_and_everything_for_programs(desk):
    reply = await desk.ask("say", "/c hello")
    (message,) = desk.told(ev.MessageQueued)
    assert (reply.text, reply.exit_code) == ("an answer", 0)
    said = reply.data
    assert (said.accepted, said.outcome, said.worker) == (True, "done", "consultant")
    assert (said.message_id, said.turn_id) == (message.message, f"t-{message.message}")
    assert said.route == {"kind": "message", "worker": "consultant", "args": "hello"}
    assert [reply["text"] for reply in said.replies] == ["an answer"]
    desk.tray.text = ""
    empty = await desk.ask("say", "/c hello")
    assert (empty.text, empty.data.replies) == ("✓ consultant · done", ())


async def test_who_writes_tells_where_the_work_is_once_there_is_some(desk):
    desk.branches["developer"] = "amiral/developer"
    reply = await desk.ask("say", "/d hello")
    assert reply.data.branch == "amiral/developer"
    assert reply.text == (
        "an answer\n\n  amiral diff developer   amiral merge developer   (branch amiral/developer)"
    )
    assert (await desk.ask("say", "/c hello")).data.branch == ""
    pending = await desk.ask("say", "--wait", "0", "/d hello")
    assert pending.data.branch == ""


async def test_who_may_give_a_permission_is_shown_what_a_turn_waits_for(desk):
    desk.tray.outcome = "asking"
    reply = await desk.ask("say", "/d push it")
    said = reply.data
    assert (said.outcome, said.request, reply.exit_code) == ("pending", "a1b2c3d4", 0)
    lines = reply.text.split("\n")
    assert lines[:2] == ["? a1b2c3d4 · developer wants to use Bash", "  │ git push"]
    assert "⏳ developer · pending: it waits for a permission of the owner" in lines
    await desk.ask("approve-request", "a1b2c3d4", "deny")


async def test_who_may_not_give_it_is_told_that_it_waits(desk):
    desk.tray.outcome = "asking"
    reply = await desk.ask("say", "/d push it", role=Role.MEMBER, caller="guest")
    assert reply.data.request == "a1b2c3d4"
    assert reply.text.startswith("⏳ developer · pending: it waits for a permission of the owner")
    assert "git push" not in reply.text


@pytest.mark.parametrize(
    ("outcome", "shown", "code"),
    [
        ("limited", "⏸ consultant · limited: five_hour reached; amiral limits shows until when", 0),
        ("failed", "half\n✗ consultant · failed: why", 1),
        ("interrupted", "half\n✗ consultant · interrupted: why", 1),
        ("stopped", "half\n⛔ consultant · stopped: why", 1),
        ("unsure", "half\n? consultant · unsure: why", 1),
    ],
)
async def test_each_other_end_is_told_with_its_mark_and_reason(desk, outcome, shown, code):
    desk.tray.outcome, desk.tray.text, desk.tray.reason = outcome, "half", "why"
    reply = await desk.ask("say", "/c hello")
    assert (reply.text, reply.data.outcome, reply.exit_code) == (shown, outcome, code)


@pytest.mark.parametrize("wait", ["0", "0.01"])
async def test_who_does_not_wait_is_told_where_the_answer_will_be(desk, wait):
    desk.tray.outcome = ""
    reply = await desk.ask("say", "--wait", wait, "/c hello")
    assert (reply.data.outcome, reply.data.replies, reply.exit_code) == ("pending", (), 0)
    first, ways = reply.text.split("\n")
    assert first == "⏳ consultant · pending"
    assert "amiral conversation show consultant-owner" in ways
    assert f"amiral cancel {reply.data.message_id}" in ways


async def test_a_message_that_is_taken_back_answers_who_waits(desk):
    desk.tray.outcome = "cancelled"
    desk.tray.text, desk.tray.reason = "", "cancelled by owner"
    reply = await desk.ask("say", "/c hello")
    assert reply.text == "✗ consultant · cancelled: cancelled by owner"


async def test_only_the_owner_speaks_as_somebody_else(desk):
    with pytest.raises(Denied):
        await desk.ask("say", "--as", "owner", "/c hello", role=Role.MEMBER)
    assert desk.told(ev.MessageQueued) == []


async def test_a_command_in_chat_has_the_rights_of_who_says_it(desk):
    """P09: `say` is for members, what it leads to may not be."""
    with pytest.raises(Denied):
        await desk.ask("say", "/release 0a1b2c3d", role=Role.MEMBER)
    for role in (Role.VIEWER, Role.AGENT):
        with pytest.raises(Denied):
            await desk.ask("say", "/status", role=role)
    assert (await desk.ask("say", "/status", role=Role.MEMBER)).data["projects"]


@pytest.mark.parametrize("text", ["/aprove x", "/w:nobody hello", "   ", "/consultant hello"])
async def test_what_is_unknown_or_empty_starts_nothing(desk, text):
    with pytest.raises(Refused) as refused:
        await desk.ask("say", text)
    assert refused.value.exit_code == 1
    assert desk.told(ev.MessageQueued) == []
    route = await desk.ask("route", text)
    assert route.exit_code == 0
    assert route.data["kind"] in ("error", "ignored")


async def test_a_route_is_told_for_people_too(desk):
    assert (await desk.ask("route", "/c hello")).text == "message to consultant: hello"
    assert (await desk.ask("route", "STOP")).data == {"kind": "stop", "command": "emergency-stop"}
    assert (await desk.ask("route", "/aprove x")).text.startswith("error: No command /aprove.")


async def test_the_active_worker_is_shown_and_chosen_among_those_there_are(desk):
    assert (await desk.ask("role")).data == {"role": "developer"}
    assert (await desk.ask("role", "consultant")).text == "active worker: consultant"
    with pytest.raises(NotFound):
        await desk.ask("role", "nobody")
    await desk.ask("say", "hello")
    assert desk.told(ev.MessageQueued)[0].worker == "consultant"
    assert [one.worker for one in desk.told(ev.RoleChosen)] == ["consultant"]


async def test_an_interrupt_and_a_taking_back_reach_the_inbox_and_its_refusals_the_person(desk):
    with pytest.raises(Conflict):
        await desk.ask("interrupt", "consultant")
    with pytest.raises(NotFound):
        await desk.ask("interrupt", "nobody")
    desk.tray.outcome = ""
    assert (await desk.ask("interrupt", "consultant")).data == {"worker": "consultant"}
    assert desk.tray.interrupted == [("consultant", "interrupted")]
    assert (await desk.ask("cancel", "m1")).text == "✓ cancelled m1 (was queued)"
    with pytest.raises(NotFound):
        await desk.ask("cancel", "gone")
    assert desk.tray.taken_back == [("m1", "owner")]


async def test_p10_a_running_message_is_said_to_be_in_the_course_of_being_cancelled(desk):
    reply = await desk.ask("cancel", "running")
    assert reply.text == "⏸ cancelling running (it runs)"
    assert reply.data == {"message_id": "running", "was": "seen"}
