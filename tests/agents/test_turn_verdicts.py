"""A CLI or its shim ends in mid turn: what becomes of the message, at each state it can be in."""

import pytest

from amiral.agents.drivers import scripted
from amiral.base import events as ev
from amiral.testbench.fake_clock import FakeClock


class WithoutTranscript(scripted.Scripted):
    """A CLI that keeps no transcript of its own."""

    def transcript(self, seat, key):
        return ""


async def kill_shim(works, when):
    """Wait until the CLI has come so far, then kill its shim; give the CLI's identity."""
    meta = await works.launched()
    await works.until(when, "the CLI being there")
    works.kill(meta.shim)
    return meta.cli


async def test_r41_a_message_that_was_never_read_goes_again_after_its_shim_was_killed(works):
    works.stub("first", "opened", "hold")
    await works.open()
    message = await works.post()
    cli = await kill_shim(works, lambda: works.inputs() == {message: "written"})
    end = await works.ended(message)
    assert end.outcome == "done"
    assert [one.reason for one in works.events(ev.MessageReturned)] == ["its shim was lost"]
    assert [one["id"] for one in works.given()] == [message]
    assert not works.is_alive(cli)


async def test_r41_a_message_that_was_read_and_not_answered_is_interrupted(works):
    works.stub("first", "message", "seen", ["show", {"type": "said", "text": "half"}], "hold")
    await works.open()
    message, later = await works.post(), await works.post("later")
    cli = await kill_shim(works, lambda: works.events(ev.WorkerSaid))
    end = await works.ended(message)
    assert (end.outcome, end.text, end.reason) == ("interrupted", "half", "its shim was lost")
    assert (await works.ended(later)).outcome == "done"
    assert [one["id"] for one in works.given()] == [message, later]
    assert not works.is_alive(cli)


async def test_r41_a_message_in_the_transcript_alone_is_interrupted_too(works):
    works.stub("first", "message", "received", "hold")
    await works.open()
    message = await works.post()
    await kill_shim(works, lambda: works.records(works.row().fresh_key))
    assert (await works.ended(message)).outcome == "interrupted"


async def test_p01_a_message_that_was_told_to_be_read_never_goes_again(works):
    """The CLI says so before its transcript does, and dies in between."""
    works.stub("first", "message", "told", ["exit", 1])
    await works.open()
    assert (await works.answer()).outcome == "interrupted"
    assert not works.events(ev.MessageReturned)


async def test_r41_an_answer_in_the_transcript_is_the_answer(works):
    works.stub("first", "message", "seen", ["answered", "it is 42"], "hold")
    await works.open()
    message = await works.post()
    await kill_shim(works, lambda: len(works.records(works.row().fresh_key)) == 2)
    end = await works.ended(message)
    assert (end.outcome, end.text) == ("done", "it is 42")


@pytest.mark.parametrize(
    ("place", "outcome", "returns"),
    [
        ("received", "done", 1),
        ("recorded", "interrupted", 0),
        ("seen", "interrupted", 0),
        ("used", "interrupted", 0),
        ("answered", "interrupted", 0),
        ("final_recorded", "done", 0),
    ],
)
async def test_r41_a_cli_killed_anywhere_in_a_turn_executes_its_message_once_at_most(
    works, place, outcome, returns
):
    works.scenario('turns: [{use: {tool: bash, args: {command: "true"}}}, {say: ok}]')
    works.plan.env = {"AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": f"scripted.{place}"}
    await works.open()
    message = await works.post()
    await works.launched()
    works.plan.env = {}
    assert (await works.ended(message)).outcome == outcome
    assert len(works.events(ev.MessageReturned)) == returns
    assert len(works.executed()) <= 1


async def test_r41_without_any_proof_a_message_is_unsure_and_never_goes_again(works):
    works.plan.drivers = {"scripted": WithoutTranscript()}
    works.stub("first", "opened", "hold")
    await works.open()
    message = await works.post()
    await kill_shim(works, lambda: works.inputs() == {message: "written"})
    end = await works.ended(message)
    assert end.outcome == "unsure"
    assert "nothing proves" in end.reason
    assert works.given() == []


async def test_r41_a_cli_that_never_reads_is_tried_four_times_with_growing_pauses(works):
    clock = works.plan.clock = FakeClock()
    works.stub(["err", "Error: no such model\n"], ["exit", 1])
    await works.open()
    message = await works.post()
    for number, pause_s in enumerate((0.5, 1.0, 2.0), start=1):
        await works.until(lambda n=number: len(works.events(ev.MessageReturned)) == n)
        await clock.until_sleeping(1)
        await clock.advance(pause_s - 0.25)
        assert len(works.events(ev.SessionOpened)) == number
        await clock.advance(0.25)
    end = await works.ended(message)
    assert end.outcome == "failed"
    assert end.reason == (
        "tried 4 times: the CLI ended (code 1); its last words: Error: no such model"
    )
    assert len(works.events(ev.SessionOpened)) == 4


async def test_r06_a_cli_that_ends_well_without_a_final_event_has_not_answered(works):
    works.stub("first", "message", "seen", ["exit", 0])
    await works.open()
    end = await works.answer()
    assert (end.outcome, end.reason) == ("interrupted", "the CLI ended (code 0)")
    (ended,) = await works.until(lambda: works.events(ev.SessionEnded))
    assert (ended.reason, ended.exit_code) == ("the CLI ended", 0)
    assert (await works.answer("again")).outcome == "done"


async def test_r06_a_cli_that_ends_after_a_limit_event_is_limited(works):
    limited = {"type": "limited", "window": "week", "resets_at": 1900000000}
    works.stub("first", "message", "seen", ["show", limited], ["exit", 1])
    await works.open()
    parked = await works.parked(await works.post())
    assert (parked.window, parked.resets_at_ms) == ("week", 1900000000000)


async def test_a_dead_clis_last_words_are_the_reason_and_hold_no_secret(works):
    words = "boom: cannot reach https://joe:hunter22@proxy.example/ at all\n"
    works.stub("first", "message", "seen", ["err", "x" * 400 + " " + words], ["exit", 3])
    await works.open()
    end = await works.answer()
    assert end.reason.startswith("the CLI ended (code 3); its last words: … boom: cannot reach")
    assert "hunter22" not in end.reason


async def test_a_cli_killed_by_a_signal_is_told_so(works):
    works.stub("first", "message", "seen", "hold")
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    works.kill(works.meta().cli)
    end = await works.ended(message)
    assert (end.outcome, end.reason) == ("interrupted", "the CLI ended (signal 9)")


FINAL = '{"type": "final", "how": "done", "text": "whole", "reason": "", "session": ""}'


async def test_r05_a_final_event_without_its_newline_counts_when_it_is_whole(works):
    works.stub("first", "message", "seen", ["raw", FINAL], ["exit", 0])
    await works.open()
    end = await works.answer()
    assert (end.outcome, end.text) == ("done", "whole")


async def test_r05_a_torn_final_event_is_kept_and_is_no_success(works):
    works.stub("first", "message", "seen", ["raw", FINAL[:-20]], ["exit", 0])
    await works.open()
    assert (await works.answer()).outcome == "interrupted"
    (noise,) = works.events(ev.NoiseRead)
    assert noise.text == FINAL[:-20]


async def test_r05_a_torn_final_event_is_read_from_the_transcript(works):
    works.stub("first", "message", "seen", ["answered", "whole"], ["raw", FINAL[:-20]], ["exit", 0])
    await works.open()
    end = await works.answer()
    assert (end.outcome, end.text) == ("done", "whole")


async def test_r07_a_grandchild_that_holds_stdout_does_not_hold_the_turn(works):
    works.scenario(
        "turns:\n"
        "  - process: {fork: setsid, hold_stdout: true, lives_s: 60, exit: 0}\n"
        "    say: bye\n"
    )
    await works.open()
    assert (await works.answer()).text == "bye"
    assert (await works.answer("again")).outcome == "done"


async def test_the_death_of_an_idle_session_is_noticed_before_the_next_message(works):
    works.stub("first", "message", "seen", "final", "hold")
    await works.open()
    await works.answer("one")
    works.kill(works.meta().cli)
    folder = works.sessions_folder / works.session()
    await works.until((folder / "exit.json").exists)
    end = await works.answer("two")
    assert end.outcome == "done"
    first, second = works.events(ev.SessionOpened)
    assert second.resume_key == first.fresh_key
    assert not works.events(ev.MessageReturned)


async def test_r32_a_machine_that_went_down_leaves_no_turn_that_seems_to_run(works):
    works.stub("first", "message", "seen", "hold")
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    meta = works.meta()
    await works.crash()
    works.kill(meta.shim)
    works.kill(meta.cli)
    await works.open()
    end = await works.ended(message)
    assert (end.outcome, end.reason) == ("interrupted", "its shim was lost")


async def test_a_damaged_input_record_proves_nothing_but_holds_up_nothing(works):
    works.plan.drivers = {"scripted": WithoutTranscript()}
    works.stub("first", "opened", "hold")
    await works.open()
    message = await works.post()
    await works.launched()
    await works.until(lambda: works.inputs() == {message: "written"})
    folder, meta = works.sessions_folder / works.session(), works.meta()
    await works.crash()
    works.kill(meta.shim)
    (folder / "in.jsonl").write_bytes(b"?\n")
    (folder / "meta.json").write_bytes(b"?")
    await works.open()
    assert (await works.ended(message)).outcome == "unsure"
    assert not works.is_alive(meta.cli)


async def test_a_transcript_that_cannot_be_read_proves_nothing(works):
    works.stub("first", "message", "received", "hold")
    await works.open()
    message = await works.post()
    await works.launched()
    key = works.row().fresh_key
    await works.until(lambda: works.records(key))
    transcript = works.workers_folder / "dev" / "home" / "scripted" / f"{key}.jsonl"
    transcript.unlink()
    transcript.mkdir()
    works.kill(works.meta().shim)
    assert (await works.ended(message)).outcome == "unsure"
