"""The ordinary course of turns: what is told, what is asked, how long turns may be."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from amiral.agents import fold
from amiral.agents.wish import Wish
from amiral.base import events as ev
from amiral.testbench.fake_clock import FakeClock

TOOLS = """
turns:
  - say: I look first.
  - use: {tool: write, args: {path: a.txt, text: "1"}}
  - use: {tool: bash, args: {command: "echo hi"}}
  - say: All done.
"""


async def test_a_turn_is_told_from_the_queue_to_its_end(works):
    works.scenario(TOOLS)
    await works.open()
    first = await works.answer("look")
    assert (first.outcome, first.text, first.reason) == ("done", "I look first.", "")
    assert first.input_tokens > 0
    assert works.names() == [
        *("MessageQueued", "SessionOpened", "SessionLaunched", "TurnStarted"),
        *("SessionIdObserved", "MessageSeen", "WorkerSaid"),
        *("ResumeKeyProved", "TurnEnded", "OutputRead"),
    ]
    second = await works.answer("go on")
    assert second.text == "All done."
    assert [used.tool for used in works.events(ev.ToolUsed)] == ["Write", "Bash"]
    assert (works.project / "a.txt").read_text() == "1"
    assert len(works.events(ev.SessionOpened)) == 1


async def test_r41_a_message_is_queued_then_injected_then_seen_then_done(works):
    works.stub("message", "answer", "seen", "interrupt", "final")
    await works.open()
    message = await works.post()
    await works.until(works.given)
    assert works.state_of(message) == "injected"
    assert works.events(ev.TurnStarted)[0].line == message
    session = await works.sessions.find(works.row())
    await session.write([works.input("answer")])
    await works.state(message, "seen")
    await works.inbox.interrupt("dev", Wish("interrupted", "x"), "owner")
    await works.ended(message)
    assert works.state_of(message) == "done"
    assert [one["id"] for one in works.given()] == [message]


@pytest.mark.parametrize(("tools", "allowed"), [("all", True), (("Read",), False)])
async def test_a_permission_question_is_answered_by_the_workers_tools(works, tools, allowed):
    asked = {"type": "asked", "ask": "a1", "tool": "Write", "summary": "a.py", "input": {}}
    works.plan.workers["dev"] = works.make_worker(tools=tools)
    works.stub("message", "seen", ["show", asked], "answer", "final")
    await works.open()
    assert (await works.answer()).outcome == "done"
    (answered,) = works.events(ev.PermissionAnswered)
    assert answered.allowed is allowed
    (told,) = [one for one in works.records("read") if one["type"] == "answer"]
    assert (told["ask"], told["allow"], told["reason"]) == ("a1", allowed, answered.reason)


async def test_an_answer_is_durable_before_it_is_sent(works):
    """The CLI is asked what the journal held when the answer came: it must name the answer."""
    asked = {"type": "asked", "ask": "a1", "tool": "Write", "summary": "", "input": {}}
    works.stub("message", "seen", ["show", asked], "answer", "hold")
    await works.open()
    await works.post()
    await works.until(lambda: [one for one in works.records("read") if one["type"] == "answer"])
    names = works.names()
    assert names.index("PermissionAsked") < names.index("PermissionAnswered")


async def test_r01_an_oversized_line_is_told_and_the_turn_goes_on(works):
    cap = 64 << 20
    works.stub("message", "seen", ["flood", "x" * 1024, (cap >> 10) + 1], ["raw", "\n"], "final")
    await works.open()
    assert (await works.answer()).outcome == "done"
    (oversized,) = works.events(ev.OutputOversized)
    assert oversized.size == cap + 1024


async def test_r08_a_flood_of_noise_does_not_flood_the_journal(works):
    works.stub("message", "seen", ["flood", "no event of ours\n", 20_000], "final")
    await works.open()
    assert (await works.answer()).outcome == "done"
    assert len(works.events(ev.NoiseRead)) == fold.MOST_NOISE + 1


async def test_p11_a_turn_that_says_a_lot_keeps_a_bounded_end(works):
    say = '{"type": "said", "text": "%s"}\n' % ("x" * 2000)
    final = {"how": "failed", "text": "", "reason": "enough"}
    works.stub("message", "seen", ["flood", say, 300], ["final", final])
    await works.open()
    end = await works.answer()
    assert (end.outcome, len(end.text)) == ("failed", fold.MOST_SAID)
    assert len(works.events(ev.WorkerSaid)) == 300


async def test_r07_a_turn_is_done_at_its_final_event_though_its_cli_lingers(works):
    works.stub(["ignore", "SIGTERM"], "message", "seen", "final", "hold")
    await works.open()
    end = await works.answer()
    assert end.outcome == "done"
    assert not works.events(ev.SessionEnded)


async def test_r06_silence_after_a_tool_ends_nothing_until_the_longest_time(works):
    clock = works.plan.clock = FakeClock()
    works.stub("message", "seen", "interrupt", ["final", {"how": "interrupted"}], "message")
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    await clock.advance(599)
    assert not works.events(ev.TurnEnded)
    await clock.advance(2)
    end = await works.ended(message)
    assert (end.outcome, end.reason) == ("timed_out", "the turn ran longer than 600 s")
    assert not works.events(ev.SessionEnded)


async def test_an_interrupt_ends_the_turn_and_the_session_stays(works):
    works.scenario("turns: [{say: working, hang: 60}]\ndefault: {say: again}")
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    await works.inbox.interrupt("dev", Wish("interrupted", "interrupted by owner"), "owner")
    end = await works.ended(message)
    assert (end.outcome, end.reason) == ("interrupted", "interrupted by owner")
    assert (await works.answer()).text == "again"
    assert len(works.events(ev.SessionOpened)) == 1


async def test_an_interrupt_that_is_ignored_ends_the_tree_after_the_grace(works):
    works.plan.grace_s = 0.2
    works.stub(
        "first",
        ["ignore", "SIGTERM"],
        "message",
        "seen",
        ["show", said("half")],
        "interrupt",
        "hold",
    )
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    cli = (await works.launched()).cli
    await works.inbox.interrupt("dev", Wish("interrupted", "interrupted by owner"), "owner")
    end = await works.ended(message)
    assert (end.outcome, end.text) == ("interrupted", "half")
    assert not works.is_alive(cli)
    assert (await works.answer()).outcome == "done"


def said(text):
    return {"type": "said", "text": text}


async def test_an_interrupt_before_the_message_was_written_ends_the_turn_at_once(works):
    works.stub("mute", "hold")
    await works.open()
    message = await works.post()
    await works.state(message, "injected")
    await works.inbox.interrupt("dev", Wish("interrupted", "not this"), "owner")
    end = await works.ended(message)
    assert (end.outcome, end.reason) == ("interrupted", "not this")
    assert works.is_alive((await works.launched()).cli)


async def test_a_cli_that_does_not_read_can_still_be_interrupted(works):
    works.plan.grace_s = 0.2
    works.stub("first", "opened", "hold")
    await works.open()
    message = await works.post("x" * 300_000)
    await works.state(message, "injected")
    await works.until(lambda: works.inputs() == {message: "recorded"})
    await works.inbox.interrupt("dev", Wish("interrupted", "hangs"), "owner")
    end = await works.ended(message)
    assert (end.outcome, end.reason) == ("interrupted", "hangs")


async def test_r32_a_running_turn_survives_a_new_process_and_is_told_once(works):
    works.scenario("turns: [{say: one two three, chunk: 4, pause_ms: 100}]")
    await works.open()
    message, later = await works.post("first"), await works.post("second")
    await works.until(lambda: works.events(ev.WorkerSaid))
    await works.crash()
    await works.open()
    end = await works.ended(message)
    assert (end.outcome, end.text) == ("done", "one two three")
    assert (await works.ended(later)).outcome == "done"
    pieces = [one.text for one in works.events(ev.WorkerSaid) if one.turn == end.turn]
    assert pieces == ["one ", "two ", "thre", "e"]
    assert len(works.events(ev.MessageSeen, message)) == 1
    assert works.executed() == [message, later]
    assert len(works.events(ev.SessionOpened)) == 1


async def test_p01_a_message_is_executed_once_wherever_processes_end(works):
    """Crash again and again at odd moments of ten turns, in the middle of anything."""
    works.scenario("default: {say: one two three, chunk: 4, pause_ms: 5}")
    await works.open()
    messages = [await works.post(f"n={number}") for number in range(10)]
    for number in range(12):
        await asyncio.sleep(0.011 * (number % 5))
        await works.crash()
        await works.open()
    ends = [await works.ended(message) for message in messages]
    assert {end.outcome for end in ends} == {"done"}
    assert works.executed() == messages
    for message in messages:
        assert len(works.events(ev.TurnEnded, message)) == 1
        assert len(works.events(ev.MessageSeen, message)) == 1


async def test_r32_an_answer_given_while_nobody_listened_is_read_afterwards(works):
    works.scenario("turns: [{say: done meanwhile, hang: 0.2}]")
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    out = works.sessions_folder / works.session() / "out.000001"
    await works.crash()
    await works.until(lambda: b'"final"' in out.read_bytes())
    await works.open()
    assert (await works.ended(message)).text == "done meanwhile"


async def test_a_seat_that_changed_gets_a_new_cli_that_goes_on_with_the_conversation(works):
    works.scenario("default: {say: ok}")
    await works.open()
    await works.answer("one")
    works.plan.workers["dev"] = works.make_worker(tools=("Read",))
    await works.answer("two")
    first, second = works.events(ev.SessionOpened)
    assert second.resume_key == first.fresh_key
    assert [ended.reason for ended in works.events(ev.SessionEnded)] == ["replaced"]
    assert not works.events(ev.ContextLost)


async def test_output_is_released_at_the_turns_border_after_the_snapshot(works):
    big = "x" * 1023 + "\n"
    works.stub("message", "seen", ["flood", big, (64 << 10) + 2], "final")
    await works.open()
    assert (await works.answer()).outcome == "done"
    folder = works.sessions_folder / works.session()
    await works.until(lambda: not (folder / "out.000001").exists(), "the first segment's end")
    assert (folder / "out.000002").exists()
    (read,) = works.events(ev.OutputRead)
    assert read.position[0] == 2
    await works.crash()
    await works.open()
    assert (await works.answer("again")).outcome == "done"


async def test_the_worker_is_asked_in_its_own_prompt_style(works):
    worker = works.make_worker()
    works.plan.workers["dev"] = replace(worker, prompt_style="gsd")
    works.stub("message", "seen", "final")
    await works.open()
    await works.answer("the task")
    assert "TASK\nthe task\n" in works.given()[0]["text"]


def test_r38_a_turn_outlasts_a_full_disk_and_loses_nothing():
    home = Path(tempfile.mkdtemp(prefix="amiral-"))
    (home / "journal").mkdir(mode=0o700)
    command = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
    mount = 'mount -t tmpfs -o size=2m,mode=700 tmpfs "$1/journal" && shift && exec "$@"'
    here = Path(__file__).parent
    script = [sys.executable, str(here / "scripts" / "full_disk.py"), str(here / "conftest.py")]
    ran = subprocess.run(
        [*command, "sh", "-ec", mount, "sh", str(home), *script, str(home)],
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.rmtree(home)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "state_while_full": "seen",
        "refused": 3,
        "outcomes": ["done", "done"],
        "said": True,
        "seen": 1,
        "given": 2,
        "queued": 2,
    }
