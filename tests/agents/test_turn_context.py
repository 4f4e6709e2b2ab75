"""What a worker remembers: resumed by proved keys alone, and a loss is told (R17, R18, R20)."""

import pytest

from amiral.base import events as ev
from amiral.testbench.fake_clock import FakeClock

BAD = {"how": "failed", "text": "", "reason": "invalid_request (status 400)"}


def refusing(times, before="final"):
    """A CLI that works once, then refuses so many messages."""
    refused = [step for _ in range(times) for step in ("message", "seen", ["final", BAD])]
    return ("first", "message", "seen", before, *refused)


async def test_r17_the_key_that_resumes_comes_from_the_final_event_alone(works):
    other = {"type": "opened", "session": "another-id", "version": "1.0.0"}
    works.stub("mute", ["show", other], "message", "seen", ["final", {"session": "third-id"}])
    await works.open()
    await works.answer("one")
    (observed,) = works.events(ev.SessionIdObserved)
    (proved,) = works.events(ev.ResumeKeyProved)
    assert (observed.observed, proved.key) == ("another-id", "third-id")
    await works.close()
    await works.open()
    await works.answer("two")
    assert works.events(ev.SessionOpened)[-1].resume_key == "third-id"


async def test_r17_a_session_that_never_answered_is_not_resumed_and_the_next_gets_the_history(
    works,
):
    works.stub("first", "message", "seen", ["exit", 1])
    await works.open()
    await works.answer("remember 42")
    await works.answer("what was it?")
    assert [opened.resume_key for opened in works.events(ev.SessionOpened)] == ["", ""]
    assert "> remember 42" in works.given()[-1]["text"]


async def test_r17_a_lost_context_is_told_and_the_message_goes_again_with_the_history(works):
    works.scenario("default: {say: noted}")
    await works.open()
    await works.answer("remember 42")
    key = works.row().fresh_key
    await works.close()
    (works.workers_folder / "dev" / "home" / "scripted" / f"{key}.jsonl").unlink()
    await works.open()
    message = await works.post("what was it?")
    assert (await works.ended(message)).outcome == "done"
    (lost,) = works.events(ev.ContextLost)
    assert (lost.conversation, lost.worker, lost.key) == ("dev-owner", "dev", key)
    assert "No conversation found" in lost.reason
    assert [one.message for one in works.events(ev.MessageReturned)] == [message]
    last = works.events(ev.SessionOpened)[-1]
    assert last.resume_key == ""
    (told,) = [one["text"] for one in works.records(last.fresh_key) if one["type"] == "message"]
    assert "> remember 42" in told
    assert told.endswith("TASK\nwhat was it?")
    assert works.executed().count(message) == 1


async def test_r17_a_cli_that_loses_every_context_does_not_loop(works):
    works.plan.clock = FakeClock()
    lost = {"how": "context_lost", "text": "", "reason": "gone"}
    works.stub("message", ["final", lost], "hold")
    await works.open()
    end = await works.ended_in_time(await works.post())
    assert (end.outcome, end.reason) == ("failed", "tried 4 times: context lost")
    assert len(works.events(ev.ContextLost)) == 4


async def test_r18_a_session_of_another_folder_is_not_resumed_silently(works):
    works.scenario("default: {say: ok}")
    await works.open()
    await works.answer("remember 42")
    key = works.row().fresh_key
    await works.close()
    moved = works.home / "moved"
    works.project.rename(moved)
    was, works.project = works.project, moved
    await works.open()
    assert (await works.answer("what was it?")).outcome == "done"
    (lost,) = works.events(ev.ContextLost)
    assert lost.key == key
    assert str(was) in lost.reason
    assert str(moved) in lost.reason
    last = works.events(ev.SessionOpened)[-1]
    assert (last.resume_key, last.cwd) == ("", str(moved))
    (told,) = [one["text"] for one in works.records(last.fresh_key) if one["type"] == "message"]
    assert "> remember 42" in told
    assert not works.events(ev.MessageReturned)


async def test_r20_the_same_request_error_twice_begins_a_new_session_with_the_history(works):
    works.stub(*refusing(2))
    await works.open()
    assert (await works.answer("remember 42")).outcome == "done"
    key = works.row().fresh_key
    assert (await works.answer("bad one")).outcome == "failed"
    assert not works.events(ev.ContextLost)
    end = await works.answer("bad two")
    assert end.outcome == "done"
    (lost,) = works.events(ev.ContextLost)
    assert lost.key == key
    assert lost.reason == "refused twice in a row: invalid_request (status 400)"
    last = works.given()[-1]
    assert last["session"] == works.row().fresh_key != key
    assert "> remember 42" in last["text"]
    assert works.row().resume_key == ""


async def test_r20_a_success_in_between_is_no_row(works):
    refused = ("message", "seen", ["final", BAD])
    works.stub("message", "seen", "final", *refused, "message", "seen", "final", *refused)
    await works.open()
    outcomes = [(await works.answer(text)).outcome for text in "abcd"]
    assert outcomes == ["done", "failed", "done", "failed"]
    assert not works.events(ev.ContextLost)


async def test_r20_a_conversation_that_never_worked_is_not_begun_anew_for_ever(works):
    works.stub(*(step for _ in range(9) for step in ("message", "seen", ["final", BAD])))
    await works.open()
    outcomes = [(await works.answer(text)).outcome for text in "abcd"]
    assert outcomes == ["failed"] * 4
    assert not works.events(ev.ContextLost)
    assert len(works.given()) == 4


async def test_r20_an_error_that_follows_into_the_new_session_ends_the_message(works):
    """The request itself is bad: one new session is tried, and no other one after that."""
    works.stub(*refusing(9))
    await works.open()
    await works.answer("works")
    await works.answer("bad one")
    works.stub(*(step for _ in range(9) for step in ("message", "seen", ["final", BAD])))
    outcomes = [(await works.answer(text)).outcome for text in ("bad two", "bad three", "bad 4")]
    assert outcomes == ["failed"] * 3
    assert len(works.events(ev.ContextLost)) == 1
    assert len(works.given()) == 6


@pytest.mark.parametrize("reason", ["authentication (status 401)", "overloaded (status 529)"])
async def test_r20_an_error_that_is_not_about_the_request_keeps_the_context(works, reason):
    failed = ["final", {**BAD, "reason": reason}]
    rest = [step for _ in range(3) for step in ("message", "seen", failed)]
    works.stub("message", "seen", "final", *rest)
    await works.open()
    outcomes = [(await works.answer(text)).outcome for text in "abcd"]
    assert outcomes == ["done", "failed", "failed", "failed"]
    assert not works.events(ev.ContextLost)


async def test_two_workers_have_conversations_of_their_own(works):
    works.plan.workers["two"] = works.make_worker("two")
    works.scenario("default: {say: ok}")
    await works.open()
    first = await works.post("a", "dev")
    await works.ended(first)
    second = await works.post("b", "two")
    await works.ended(second)
    keys = {(one.conversation, one.fresh_key) for one in works.events(ev.SessionOpened)}
    assert len(keys) == 2
    assert works.executed("dev") == [first]
    assert works.executed("two") == [second]


async def test_r17_the_transcript_of_the_id_a_cli_goes_on_under_is_asked_too(works):
    """Resumed under one id, the CLI writes under another: its proof must not be missed."""
    works.stub("message", "seen", "final")
    await works.open()
    await works.answer("one")
    await works.close()
    works.stub("first", ["as", "another-id"], "opened", "message", "received", "hold")
    await works.open()
    message = await works.post("two")
    await works.until(lambda: works.records("another-id"))
    works.kill(works.meta().shim)
    assert (await works.ended(message)).outcome == "interrupted"
