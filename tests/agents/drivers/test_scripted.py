"""The driver of the scripted CLI, and what that CLI's transcript proves after a kill."""

import glob
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.driver import (
    NO_LOGIN,
    Asked,
    Finished,
    Limited,
    Nearing,
    Noise,
    Opened,
    Refused,
    Retrying,
    Said,
    Seat,
    Seen,
    Settlement,
    Used,
)
from amiral.agents.drivers.scripted import DRIVER, ScriptedState
from amiral.permissions.projection import Projection
from amiral.permissions.rules import Permissions, Posture

PATIENCE_S = 20.0
SESSION = "11111111-2222-4333-8444-555555555555"
TRANSCRIPTS = Path(__file__).parent / "transcripts" / "scripted"
CLI = (sys.executable, "-m", "amiral.testbench.scripted_cli")
OPEN = ScriptedState(is_open=True)


def seat(folder: Path, *options: str, **more) -> Seat:
    values = {"tools": "all", "fresh_key": SESSION, "max_turns": 0, "model": "", **more}
    return Seat(
        worker="dev",
        command=(*CLI, *options),
        cwd=str(folder),
        config_home=str(folder / "home"),
        tmp=str(folder),
        identity="You are a developer.",
        login={"TOKEN": "t"},
        **values,
    )


def run(the_seat: Seat, lines: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Start the CLI as the driver plans it, give it all its input at once, wait for its end."""
    _, launch = DRIVER.open(the_seat)
    return subprocess.run(
        launch.argv,
        input=lines.encode(),
        env={"PATH": os.environ["PATH"], **launch.env, **env},
        cwd=launch.cwd,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )


def fold(output: bytes) -> list:
    state = ScriptedState()
    signals: list[Any] = []
    for line in output.split(b"\n"):
        read = DRIVER.read(state, line)
        state = read.state
        signals += read.signals
        assert read.inputs == ()
    return signals


def said(message: str, text: str) -> str:
    return "".join(line.data for line in DRIVER.say(OPEN, message, text))


def settle(the_seat: Seat, message: str) -> Settlement:
    key = the_seat.resume_key or the_seat.fresh_key
    paths = glob.glob(DRIVER.transcript(the_seat, key))
    lines = [line for path in paths for line in Path(path).read_bytes().split(b"\n")]
    return DRIVER.settle(lines, message, "any text")


def executions(folder: Path, message: str) -> int:
    path = folder / "home" / "scripted" / "effects.jsonl"
    records = (
        [json.loads(line) for line in path.read_text().split("\n") if line] if path.exists() else []
    )
    return sum(record["type"] == "executed" and record["id"] == message for record in records)


# ---- planning


def test_it_needs_no_login():
    assert DRIVER.login({}) == NO_LOGIN


def test_it_has_no_permissions_of_its_own_and_no_file_to_merge(tmp_path):
    permissions = Permissions(Posture.DENY, ())
    assert DRIVER.project(seat(tmp_path, permissions=permissions)) == Projection()
    assert DRIVER.merged("found", "ours") == "ours"


def test_the_plan_names_everything_the_cli_needs(tmp_path):
    state, launch = DRIVER.open(
        seat(tmp_path, "--scenario", "x.yaml", tools=("Read", "Bash"), max_turns=5, model="m")
    )
    assert launch.argv == (
        *CLI,
        *("--scenario", "x.yaml", f"--home={tmp_path}/home", f"--session-id={SESSION}"),
        *("--tools=Read,Bash", "--model=m", "--max-turns=5"),
    )
    assert launch.env == {"TOKEN": "t", "HOME": f"{tmp_path}/home", "TMPDIR": str(tmp_path)}
    assert launch.cwd == str(tmp_path)
    assert (launch.files, launch.inputs) == ((), ())
    assert not DRIVER.is_ready(state)


def test_a_resumed_conversation_is_named_and_no_new_one(tmp_path):
    _, launch = DRIVER.open(seat(tmp_path, resume_key="abc", fresh_key=""))
    assert "--resume=abc" in launch.argv
    assert not any(option.startswith("--session-id") for option in launch.argv)


def test_a_tool_list_of_nothing_gives_no_tool(tmp_path):
    (opened,) = fold(run(seat(tmp_path, tools=()), "").stdout)
    assert opened.tools == ()


def test_the_version_is_read_and_an_untested_one_is_warned_about():
    output = subprocess.run(
        DRIVER.version_command(CLI), capture_output=True, check=True, timeout=PATIENCE_S
    ).stdout.decode()
    version = DRIVER.version_of(output)
    assert DRIVER.warning_for(version) == ""
    assert DRIVER.version_of("claude 2.1.3") == ""
    assert "9.9.9" in DRIVER.warning_for("9.9.9")
    assert "unknown" in DRIVER.warning_for("")


def test_it_is_ready_once_the_cli_has_told_that_it_is_there():
    line = (TRANSCRIPTS / "plain.jsonl").read_bytes().split(b"\n")[0]
    state = DRIVER.read(ScriptedState(), line).state
    assert DRIVER.is_ready(state)
    assert state == OPEN


def test_a_folder_with_odd_letters_still_names_one_transcript(tmp_path):
    odd = tmp_path / "a[b]*?"
    odd.mkdir()
    the_seat = seat(odd)
    run(the_seat, said("m1", "x"))
    assert settle(the_seat, "m1").proof == "answered"


# ---- reading


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "seen", "id": "m1"}, Seen("m1")),
        ({"type": "said", "text": "é\n"}, Said("é\n")),
        ({"type": "used", "tool": "Bash", "summary": "ls"}, Used("Bash", "ls")),
        (
            {"type": "asked", "ask": "a", "tool": "Bash", "summary": "ls", "input": {"c": "ls"}},
            Asked("a", "Bash", "ls", '{"c":"ls"}'),
        ),
        ({"type": "refused", "tool": "Bash", "reason": "no"}, Refused("Bash", "no")),
        ({"type": "retrying", "error": "overloaded", "delay_ms": 10}, Retrying("overloaded", 10)),
        (
            {"type": "limited", "window": "w", "resets_at": 1_796_025_722},
            Limited("w", 1_796_025_722_000),
        ),
        ({"type": "limited", "window": "w", "resets_at": None}, Limited("w", None)),
        ({"type": "limited", "window": "w", "resets_at": 0}, Limited("w", None)),
        ({"type": "limited", "window": "w", "resets_at": 9e18}, Limited("w", None)),
        (
            {"type": "nearing", "window": "w", "utilization": 0.9, "resets_at": 1_796_025_722},
            Nearing("w", 0.9, 1_796_025_722_000),
        ),
        (
            {"type": "final", "how": "context_lost", "text": "", "reason": "gone", "session": ""},
            Finished("context_lost", "", "gone", ""),
        ),
        ({"type": "final", "how": "splendid", "text": "t"}, Finished("failed", "t")),
        ({"type": "unheard"}, Noise('{"type": "unheard"}')),
        (["said"], Noise('["said"]')),
    ],
)
def test_each_event_becomes_its_signal(event, expected):
    read = DRIVER.read(OPEN, json.dumps(event).encode())
    assert (read.state, read.signals, read.inputs) == (OPEN, (expected,), ())


def test_an_empty_line_is_nothing():
    assert DRIVER.read(OPEN, b" \r").signals == ()


lines = st.one_of(
    st.binary(max_size=60),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(
                    ["type", "id", "text", "usage", "session", "tools", "resets_at", "input"]
                ),
                inner | st.sampled_from(["opened", "seen", "asked", "limited", "nearing", "final"]),
            )
            | st.lists(inner, max_size=3)
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
)


@given(lines)
def test_no_line_whatever_its_bytes_makes_it_fail(line):
    """P12: reading is total, and what it yields can be stored."""
    read = DRIVER.read(ScriptedState(), line)
    assert len(read.signals) <= 1
    for told in read.signals:
        assert repr(told).encode()


@given(st.integers(0, 2000), st.integers(1, 3))
def test_a_recorded_line_cut_anywhere_is_read_or_is_noise(at, length):
    whole = (TRANSCRIPTS / "tools.jsonl").read_bytes()
    fold(whole[:at] + whole[at + length :])


@given(st.text(), st.text(min_size=1))
def test_what_is_said_is_one_line_that_the_cli_reads_back(text, message):
    (given_line,) = DRIVER.say(OPEN, message, text)
    assert given_line.id == message
    assert given_line.data.count("\n") == 1
    read_back = json.loads(given_line.data)
    assert (read_back["type"], read_back["id"]) == ("message", message)
    assert (
        read_back["text"] == text.encode("utf-8", "replace").decode()
        or "\ufffd" in read_back["text"]
    )


def test_every_line_has_its_own_id():
    asked = Asked("a1", "Bash", "", "{}")
    inputs = (
        *DRIVER.say(OPEN, "m1", "x"),
        *DRIVER.answer(OPEN, asked, allow=True, reason=""),
        *DRIVER.interrupt(OPEN, "t1"),
        *DRIVER.interrupt(OPEN, "t2"),
    )
    assert [line.id for line in inputs] == ["m1", "answer-a1", "interrupt-t1", "interrupt-t2"]


# ---- with the real program


def write_scenario(folder: Path, text: str) -> str:
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_whole_turn_from_plan_to_settlement(tmp_path):
    scenario = write_scenario(
        tmp_path,
        "turns: [{use: {tool: write, args: {path: a.txt, text: x}}}, {say: written}]\n",
    )
    the_seat = seat(tmp_path, "--scenario", scenario)
    signals = fold(run(the_seat, said("m1", "go")).stdout)
    assert [type(signal) for signal in signals] == [Opened, Seen, Used, Said, Finished]
    assert (signals[-1].how, signals[-1].resume_key) == ("done", SESSION)
    assert settle(the_seat, "m1") == Settlement("answered", "written")
    assert settle(the_seat, "m2") == Settlement("absent")


def test_a_denied_permission_ends_in_a_refusal(tmp_path):
    scenario = write_scenario(
        tmp_path, "turns: [{use: {tool: write, args: {path: a.txt, text: x}}}]\n"
    )
    signals = fold(
        run(seat(tmp_path, "--scenario", scenario, "--ask-permissions"), said("m1", "go")).stdout
    )
    assert [type(signal) for signal in signals] == [Opened, Seen, Asked, Refused, Said, Finished]
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize("turn", ["limit: {window: w}", "error: {status: 400}"])
def test_a_turn_that_ended_badly_is_received_not_answered(tmp_path, turn):
    the_seat = seat(tmp_path, "--scenario", write_scenario(tmp_path, f"turns: [{{{turn}}}]\n"))
    assert fold(run(the_seat, said("m1", "go")).stdout)[-1].how in ("limited", "failed")
    assert settle(the_seat, "m1") == Settlement("received")


def test_a_session_nobody_knows_is_a_lost_context(tmp_path):
    ran = run(seat(tmp_path, resume_key=SESSION, fresh_key=""), said("m1", "go"))
    (finished,) = fold(ran.stdout)
    assert (finished.how, finished.resume_key, ran.returncode) == ("context_lost", "", 1)


# ---- kill -9

PLACES = {
    "scripted.received": Settlement("absent"),
    "scripted.recorded": Settlement("received"),
    "scripted.seen": Settlement("received"),
    "scripted.used": Settlement("received"),
    "scripted.answered": Settlement("received"),
    "scripted.final_recorded": Settlement("answered", "written"),
}
WRITES = "turns: [{use: {tool: write, args: {path: a.txt, text: x}}}]\ndefault: {say: written}\n"


@pytest.mark.parametrize("place", PLACES)
def test_after_a_kill_anywhere_the_transcript_proves_what_was_done(tmp_path, place):
    the_seat = seat(tmp_path, "--scenario", write_scenario(tmp_path, WRITES))
    armed = {"AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": place}
    ran = run(the_seat, said("m1", "go"), **armed)
    assert ran.returncode == -signal.SIGKILL
    settlement = settle(the_seat, "m1")
    assert settlement == PLACES[place]
    hold_promises(tmp_path, ran.stdout, settlement)


@pytest.mark.parametrize("place", PLACES)
def test_a_message_sent_again_only_when_absent_is_executed_once(tmp_path, place):
    """P01: the whole of crash, settlement and restart, as the product does it."""
    the_seat = seat(tmp_path, "--scenario", write_scenario(tmp_path, WRITES))
    armed = {"AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": place}
    run(the_seat, said("m1", "go"), **armed)
    if settle(the_seat, "m1").proof == "absent":
        assert fold(run(the_seat, said("m1", "go")).stdout)[-1].text == "written"
    assert executions(tmp_path, "m1") <= 1


@pytest.mark.parametrize("delay_ms", range(0, 120, 8))
def test_after_a_kill_at_any_moment_the_transcript_proves_what_was_done(tmp_path, delay_ms):
    the_seat = seat(tmp_path, "--scenario", write_scenario(tmp_path, WRITES))
    _, launch = DRIVER.open(the_seat)
    with subprocess.Popen(
        launch.argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **launch.env},
        cwd=launch.cwd,
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(said("m1", "go").encode())
        process.stdin.flush()
        head = process.stdout.readline() if delay_ms % 16 else b""
        with_patience(process, delay_ms / 1000)
        process.kill()
        out = head + process.stdout.read()
    hold_promises(tmp_path, out, settle(the_seat, "m1"))


def with_patience(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def hold_promises(folder: Path, output: bytes, settlement: Settlement) -> None:
    """What was told is proved, and what is called absent has changed nothing."""
    signals = fold(output)
    if Seen("m1") in signals:
        assert settlement.proof != "absent"
    if any(isinstance(signal, Finished) for signal in signals):
        assert settlement == Settlement("answered", "written")
    if settlement.proof == "absent":
        assert executions(folder, "m1") == 0
        assert not (folder / "a.txt").exists()
    if settlement.proof == "answered":
        assert executions(folder, "m1") == 1


RECORD = b'{"type": "message", "id": "m1", "text": "go"}'
ANSWER = b'{"type": "final", "id": "m1", "how": "done", "text": "yes"}'


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], Settlement("absent")),
        ([RECORD[:-1]], Settlement("absent")),
        ([RECORD], Settlement("received")),
        ([RECORD, ANSWER[:-9]], Settlement("received")),
        ([RECORD, ANSWER], Settlement("answered", "yes")),
        ([RECORD, ANSWER, RECORD], Settlement("answered", "yes")),
        ([RECORD, ANSWER.replace(b"done", b"interrupted")], Settlement("received")),
        ([b"\xff", b"", b"[]", RECORD, b'{"id": "m1"}'], Settlement("received")),
        ([RECORD.replace(b"m1", b"m2"), ANSWER.replace(b"m1", b"m2")], Settlement("absent")),
    ],
)
def test_records_prove_no_more_than_they_say(records, expected):
    assert DRIVER.settle(records, "m1", "go") == expected


@given(st.integers(0, len(RECORD) + len(ANSWER) + 2))
def test_a_transcript_torn_anywhere_proves_less_never_more(size):
    data = (RECORD + b"\n" + ANSWER + b"\n")[:size]
    order = ["absent", "received", "answered"]
    proof = DRIVER.settle(data.split(b"\n"), "m1", "go").proof
    assert order.index(proof) == (size >= len(RECORD)) + (size >= len(RECORD) + 1 + len(ANSWER))


def test_in_a_terminal_a_shell_stands_in_for_it(tmp_path):
    there, turn = DRIVER.in_terminal(seat(tmp_path)), DRIVER.open(seat(tmp_path))[1]
    assert there.argv == ("/bin/sh",)
    assert (there.env, there.cwd) == (turn.env, turn.cwd)
