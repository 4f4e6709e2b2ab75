"""The scripted CLI as a program: sessions, messages, tools, permissions, failures."""

import base64
import json
import os
import signal
import time
from pathlib import Path

import pytest

PATIENCE_S = 20.0
SESSION = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"


def eventually(is_true) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if is_true():
            return True
        time.sleep(0.005)
    return False


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


# ---- without a scenario


def test_it_tells_who_it_is_as_soon_as_it_has_started(start):
    opened = start("--model", "opus", "--tools", "Read,Bash,Nope").until("opened")
    assert opened["session"] == SESSION
    assert opened["model"] == "opus"
    assert opened["tools"] == ["Bash", "Read"]


def test_without_a_scenario_it_answers_with_the_task_it_was_given(start):
    cli = start()
    cli.message("m1", "CONTEXT\n> old\n\nTASK\n\nAdd a cart\n\nPROJECT\nshop")
    final = cli.until("final")
    assert final["how"] == "done"
    assert final["text"].endswith("You asked: Add a cart")
    assert [event["type"] for event in cli.events] == ["opened", "seen", "said", "final"]


def test_it_answers_messages_in_order_and_ends_well_when_stdin_ends(start):
    cli = start()
    cli.message("m1", "one")
    cli.message("m2", "two")
    code, _, err = cli.close()
    assert (code, err) == (0, "")
    assert [event["id"] for event in cli.of_kind("seen")] == ["m1", "m2"]
    assert [event["text"][-3:] for event in cli.of_kind("final")] == ["one", "two"]


def test_text_of_any_kind_comes_back_as_it_went(start):
    cli = start()
    text = 'é한😀 \u2028 \ud83d " \\ \x00'
    cli.message("m1", text)
    assert cli.until("final")["text"].endswith(f"You asked: {text}")


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b"[]\n",
        b'{"type":"message","id":"m1"}\n',
        b'{"type":"nope"}\n',
        b'{"type":"message","id":"m\xff","text":"x"}\n',
        b"[" * 100_000 + b"\n",
        b'{"type":"message","id":"m1","text":"cut',
    ],
)
def test_one_malformed_line_ends_it_with_an_error(start, line):
    cli = start()
    cli.send_bytes(line)
    code, _, err = cli.close()
    assert code == 1
    assert err.startswith("Error: this input line is no message:")
    assert not cli.of_kind("seen")


def test_blank_lines_are_nothing(start):
    cli = start()
    cli.send_bytes(b"\n  \n")
    cli.message("m1", "one")
    assert cli.until("final")["how"] == "done"


def test_it_prints_its_version(start):
    process = start("--version").process
    assert process.wait(PATIENCE_S) == 0
    assert process.stdout.read() == b"scripted 1.0.0\n"


def test_a_broken_scenario_is_told_with_its_lines_and_nothing_starts(start):
    code, events, err = start(scenario="turns:\n  - sya: hi\n").close()
    assert (code, events) == (1, [])
    assert "scenario.yaml:2: turn: unknown key" in err
    assert "Traceback" not in err


def test_a_missing_scenario_is_told(start):
    code, events, err = start("--scenario", "nowhere.yaml").close()
    assert (code, events) == (1, [])
    assert err.startswith("Error: nowhere.yaml cannot be read")


def test_a_reader_that_has_gone_ends_it_quietly(start):
    cli = start()
    cli.until("opened")
    cli.process.stdout.close()
    cli.message("m1", "one")
    assert cli.process.wait(PATIENCE_S) == 1
    assert cli.process.stderr.read() == b""


# ---- sessions


def test_a_session_goes_on_where_its_scenario_was(start):
    scenario = "turns: [{say: first}, {say: second}]\ndefault: {say: over}\n"
    first = start(scenario=scenario)
    first.message("m1", "go")
    first.close()
    second = start(scenario=scenario, resume=True)
    second.message("m2", "go")
    second.message("m3", "go")
    second.close()
    texts = [event["text"] for event in (*first.of_kind("final"), *second.of_kind("final"))]
    assert texts == ["first", "second", "over"]
    assert second.of_kind("opened")[0]["session"] == SESSION


def test_resuming_an_unknown_session_loses_the_context_and_says_so(start):
    code, events, _ = start(resume=True).close()
    assert code == 1
    (final,) = events
    assert final["how"] == "context_lost"
    assert final["session"] == ""
    assert SESSION in final["reason"]


def test_the_id_of_a_session_that_exists_cannot_be_given_to_a_new_one(start):
    first = start()
    first.message("m1", "go")
    first.close()
    code, events, err = start().close()
    assert (code, events) == (1, [])
    assert err == f"Error: Session ID {SESSION} is already in use.\n"


@pytest.mark.parametrize("name", ["../../escape", "a/b/c/d/e/f", "short", "x" * 65])
def test_a_session_id_is_never_a_path(start, name):
    code, events, err = start(session=name).close()
    assert (code, events) == (1, [])
    assert "is no session id" in err


def test_a_message_is_on_disk_before_it_is_seen_and_its_answer_before_it_is_told(start):
    cli = start(scenario="turns: [{hang: 600}]\n")
    cli.message("m1", "go")
    cli.until("seen")
    assert cli.records()[0] == {"type": "message", "id": "m1", "text": "go"}
    cli.send({"type": "interrupt"})
    cli.until("final")
    assert cli.records()[-1] == {"type": "final", "id": "m1", "how": "interrupted", "text": ""}


def test_a_torn_last_line_is_skipped_and_closed(start):
    scenario = "turns: [{say: first}, {say: second}]\n"
    first = start(scenario=scenario)
    first.message("m1", "go")
    first.close()
    path = first.home / "scripted" / f"{SESSION}.jsonl"
    with path.open("ab") as file:
        file.write(b'{"type":"message","id":"m2","te')
    second = start(scenario=scenario, resume=True)
    second.message("m3", "go")
    assert second.until("final")["text"] == "second"
    lines = path.read_bytes().split(b"\n")
    assert lines[3] == b'{"type":"message","id":"m2","te'
    assert json.loads(lines[4]) == {"type": "message", "id": "m3", "text": "go"}


def test_a_message_sent_twice_is_executed_twice_and_the_effects_show_it(start):
    cli = start()
    cli.message("m1", "go")
    cli.message("m1", "go")
    cli.close()
    assert [record["id"] for record in cli.effects("executed")] == ["m1", "m1"]


# ---- saying


def test_text_is_said_in_the_pieces_asked_for_and_whole_in_the_final_event(start):
    cli = start(scenario="turns: [{say: abcdefg, chunk: 3, pause_ms: 1}]\n")
    cli.message("m1", "go")
    assert cli.until("final")["text"] == "abcdefg"
    assert [event["text"] for event in cli.of_kind("said")] == ["abc", "def", "g"]


def test_match_picks_a_turn_by_the_message(start):
    cli = start(scenario="turns: [{match: cach, say: A}, {say: B}]\n")
    cli.message("m1", "other")
    cli.message("m2", "caching")
    cli.close()
    assert [event["text"] for event in cli.of_kind("final")] == ["B", "A"]


# ---- tools

TOOLS = """
turns:
  - use: {tool: write, args: {path: a/cart.py, text: "x = 1\\r\\n"}}
  - use: {tool: edit, args: {path: a/cart.py, old: "1", new: "2"}}
  - use: {tool: read, args: {path: a/cart.py}}
  - use: {tool: bash, args: {command: "echo $((6*7)); exit 3"}}
  - say: done
"""


def test_tools_really_do_what_they_say_one_model_call_after_the_other(start):
    cli = start(scenario=TOOLS)
    cli.message("m1", "go")
    assert cli.until("final")["text"] == "done"
    assert (cli.cwd / "a" / "cart.py").read_bytes() == b"x = 2\r\n"
    assert [event["tool"] for event in cli.of_kind("used")] == ["Write", "Edit", "Read", "Bash"]
    assert [effect["result"] for effect in cli.effects("effect")] == [
        "written",
        "written",
        "7 bytes",
        "exit 3: 42",
    ]


def test_a_tool_that_fails_is_noted_and_the_worker_goes_on(start):
    cli = start(
        scenario="turns: [{use: {tool: edit, args: {path: no.py, old: a, new: b}}},"
        " {use: {tool: write, args: {path: f, text: aa}}},"
        " {use: {tool: edit, args: {path: f, old: a, new: b}}}, {say: done}]\n"
    )
    cli.message("m1", "go")
    assert cli.until("final")["how"] == "done"
    results = [effect["result"] for effect in cli.effects("effect")]
    assert results[0].startswith("failed: ")
    assert results[2] == "failed: the old text stands 2 times in the file, not once"


def test_a_tool_it_was_not_given_is_refused_and_nothing_is_touched(start):
    cli = start("--tools", "Read", scenario=TOOLS)
    cli.message("m1", "go")
    cli.until("final")
    assert [event["tool"] for event in cli.of_kind("refused")] == ["Write", "Edit", "Bash"]
    assert list(cli.cwd.iterdir()) == []


def test_a_path_outside_the_working_folder_is_refused(start, tmp_path):
    cli = start(
        scenario="turns: [{use: {tool: write, args: {path: ../out.txt, text: x}}},"
        " {use: {tool: write, args: {path: link/out.txt, text: x}}},"
        " {use: {tool: read, args: {path: loop}}},"
        ' {use: {tool: read, args: {path: "a\\0b"}}}, {say: done}]\n'
    )
    (cli.cwd / "link").symlink_to(tmp_path)
    (cli.cwd / "loop").symlink_to("loop")
    cli.message("m1", "go")
    cli.until("final")
    assert len(cli.of_kind("refused")) == 4
    assert not (tmp_path / "out.txt").exists()


def test_asking_another_worker_is_refused_while_no_tools_of_amiral_are_connected(start):
    cli = start(scenario="turns: [{ask: {worker: backend, text: hi}}, {say: alone}]\n")
    cli.message("m1", "go")
    assert cli.until("final")["text"] == "alone"
    assert cli.of_kind("refused")[0]["tool"] == "ask"


def test_it_gives_up_after_the_most_turns_it_may_take(start):
    cli = start("--max-turns", "2", scenario=TOOLS)
    cli.message("m1", "go")
    final = cli.until("final")
    assert (final["how"], final["reason"]) == ("failed", "max turns: 2 were used")
    assert len(cli.of_kind("used")) == 2


# ---- permissions


def asking(start):
    cli = start("--ask-permissions", scenario=TOOLS)
    cli.message("m1", "go")
    return cli, cli.until("asked")


def test_a_change_waits_for_permission_and_happens_once_allowed(start):
    cli, asked = asking(start)
    assert (asked["tool"], asked["input"]["path"]) == ("Write", "a/cart.py")
    assert not (cli.cwd / "a").exists()
    cli.send({"type": "answer", "ask": asked["ask"], "allow": True, "reason": ""})
    cli.until("used")
    cli.until("asked")
    assert (cli.cwd / "a" / "cart.py").exists()


def test_a_denied_change_never_happens_and_the_reason_is_told(start):
    cli, asked = asking(start)
    cli.send({"type": "answer", "ask": asked["ask"], "allow": False, "reason": "not today"})
    assert cli.until("refused") == {"type": "refused", "tool": "Write", "reason": "not today"}
    cli.until("asked")
    assert not (cli.cwd / "a").exists()


def test_a_question_nobody_can_answer_any_more_is_denied(start):
    cli, _ = asking(start)
    code, _, _ = cli.close()
    assert code == 0
    assert {event["reason"] for event in cli.of_kind("refused")} == {"nobody is there to answer"}
    assert [event["how"] for event in cli.of_kind("final")] == ["done"]


def test_each_question_has_its_own_name_even_when_a_message_is_executed_again(start):
    cli = start("--ask-permissions", scenario=TOOLS)
    cli.message("m1", "go")
    cli.message("m1", "go")
    cli.close()
    names = [event["ask"] for event in cli.of_kind("asked")]
    assert len(names) == len(set(names)) == 3


def test_a_question_can_be_interrupted(start):
    cli, _ = asking(start)
    cli.send({"type": "interrupt"})
    assert cli.until("final")["how"] == "interrupted"


# ---- limits and errors


def test_a_reached_limit_ends_the_message_and_the_next_one_works(start):
    cli = start(scenario="turns: [{say: I was, limit: {window: five_hour, resets_in_s: 60}}]\n")
    before = int(time.time())
    cli.message("m1", "go")
    cli.message("m2", "go")
    cli.close()
    (limited,) = cli.of_kind("limited")
    assert limited["window"] == "five_hour"
    assert before + 60 <= limited["resets_at"] <= time.time() + 60
    assert [event["how"] for event in cli.of_kind("final")] == ["limited", "done"]


def test_a_limit_without_a_time_tells_none(start):
    cli = start(scenario="turns: [{limit: {window: weekly}}]\n")
    cli.message("m1", "go")
    assert cli.until("limited")["resets_at"] is None


def test_a_filling_window_is_only_a_warning(start):
    cli = start(scenario="turns: [{limit: {window: weekly, utilization: 0.9}, say: hi}]\n")
    cli.message("m1", "go")
    assert cli.until("final")["how"] == "done"
    assert cli.of_kind("nearing")[0]["utilization"] == 0.9


def test_errors_of_the_service_are_retried_and_told(start):
    cli = start(scenario="turns: [{error: {status: 529, times: 2}}, {say: there}]\n")
    cli.message("m1", "go")
    assert cli.until("final")["text"] == "there"
    assert [event["error"] for event in cli.of_kind("retrying")] == ["overloaded"] * 2


def test_ten_retries_are_enough(start):
    cli = start(scenario="default: {error: {status: 429}}\n")
    cli.message("m1", "go")
    final = cli.until("final")
    assert (final["how"], final["reason"]) == ("failed", "rate_limit (status 429)")
    assert len(cli.of_kind("retrying")) == 10


@pytest.mark.parametrize(("status", "name"), [(401, "authentication"), (400, "invalid_request")])
def test_a_permanent_error_is_not_retried(start, status, name):
    cli = start(scenario=f"turns: [{{error: {{status: {status}}}}}]\n")
    cli.message("m1", "go")
    assert cli.until("final")["reason"] == f"{name} (status {status})"
    assert not cli.of_kind("retrying")


# ---- waiting and interrupts


@pytest.mark.parametrize(
    "turn",
    [
        "hang: 600",
        "say: abc, chunk: 1, pause_ms: 60000",
        'use: {tool: bash, args: {command: "sleep 600"}}',
        'raw: {bytes: "abc", split: [1], pause_ms: 60000}',
    ],
)
def test_an_interrupt_ends_the_turn_at_once_and_the_session_stays(start, turn):
    cli = start(scenario=f"turns: [{{{turn}}}]\ndefault: {{say: back}}\n")
    cli.message("m1", "go")
    cli.until("seen")
    cli.send({"type": "interrupt"})
    cli.bytes_until(b'"how": "interrupted"')
    cli.bytes_until(b"\n")
    cli.message("m2", "go")
    assert cli.until("final")["text"] == "back"


def test_an_interrupt_between_turns_means_nothing(start):
    cli = start()
    cli.send({"type": "interrupt"})
    cli.until("opened")
    cli.message("m1", "go")
    assert cli.until("final")["how"] == "done"


def test_an_interrupted_command_is_killed_with_its_children(start):
    command = "sleep 600 & echo $! > pid; wait"
    cli = start(scenario=f'turns: [{{use: {{tool: bash, args: {{command: "{command}"}}}}}}]\n')
    cli.message("m1", "go")
    cli.until("used")
    pid_file = cli.cwd / "pid"
    assert eventually(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
    cli.send({"type": "interrupt"})
    assert cli.until("final")["how"] == "interrupted"
    assert eventually(lambda: not is_alive(int(pid_file.read_text())))


def test_a_message_that_comes_during_a_turn_waits_for_its_end(start):
    cli = start(scenario="turns: [{hang: 0.2, say: slow}]\n")
    cli.message("m1", "go")
    cli.until("seen")
    cli.message("m2", "go")
    cli.close()
    kinds = [event["type"] for event in cli.events]
    assert kinds == ["opened", "seen", "said", "final", "seen", "said", "final"]


def test_sigint_ends_turn_and_process_with_a_final_event(start):
    cli = start(scenario="turns: [{hang: 600}]\n")
    cli.message("m1", "go")
    cli.until("seen")
    cli.process.send_signal(signal.SIGINT)
    assert cli.until("final")["how"] == "interrupted"
    assert cli.process.wait(PATIENCE_S) == 0


def test_sigint_between_turns_ends_the_process_well(start):
    cli = start()
    cli.until("opened")
    cli.process.send_signal(signal.SIGINT)
    assert cli.process.wait(PATIENCE_S) == 0
    assert cli.close()[1:] == (cli.events, "")


def test_sigint_after_the_end_of_stdin_is_heard_too(start):
    cli = start(scenario="turns: [{hang: 600}]\n")
    cli.message("m1", "go")
    cli.message("m2", "go")
    cli.stdin.close()
    cli.until("seen")
    cli.process.send_signal(signal.SIGINT)
    assert cli.until("final")["how"] == "interrupted"
    assert cli.process.wait(PATIENCE_S) == 0
    assert len(cli.of_kind("seen")) == 1


# ---- raw bytes


def test_raw_bytes_are_written_exactly_and_no_final_event_is_added(start):
    data = b'\xff{"type":\r\n\x00'
    coded = base64.b64encode(data).decode()
    cli = start(scenario=f"turns: [{{raw: {{base64: {coded}, split: [1, 3], times: 2}}}}]\n")
    cli.message("m1", "go")
    cli.until("seen")
    assert cli.bytes_until(data * 2) == data * 2
    code, _, _ = cli.close()
    assert code == 0
    assert not cli.of_kind("final")
    assert [record["type"] for record in cli.records()] == ["message", "turn"]


def test_raw_bytes_can_go_before_an_answer_and_to_stderr(start):
    cli = start(scenario='turns: [{raw: {bytes: "é", times: 1000, to: stderr}, say: hi}]\n')
    cli.message("m1", "go")
    assert cli.until("final")["text"] == "hi"
    assert cli.close()[2] == "é" * 1000


def test_raw_bytes_come_in_the_pieces_asked_for(start):
    cli = start(scenario='turns: [{raw: {bytes: "abc\\n", split: [1], pause_ms: 60000}}]\n')
    cli.message("m1", "go")
    cli.until("seen")
    assert cli.bytes_until(b"a") == b"a"
    assert cli._buffer == b""


# ---- as a process


def test_an_exit_without_an_answer_has_no_final_event(start):
    cli = start(scenario="turns: [{process: {exit: 3}}]\n")
    cli.message("m1", "go")
    assert cli.process.wait(PATIENCE_S) == 3
    cli.close()
    assert [event["type"] for event in cli.events] == ["opened", "seen"]


def test_an_exit_after_an_answer_comes_after_the_final_event(start):
    cli = start(scenario="turns: [{say: bye, process: {exit: 0}}]\n")
    cli.message("m1", "go")
    assert cli.until("final")["text"] == "bye"
    assert cli.process.wait(PATIENCE_S) == 0


def test_an_exit_after_a_tool_ends_it_between_two_model_calls(start):
    use = "use: {tool: write, args: {path: f, text: x}}"
    cli = start(scenario=f"turns: [{{{use}, process: {{exit: 4}}}}]\n")
    cli.message("m1", "go")
    assert cli.process.wait(PATIENCE_S) == 4
    assert (cli.cwd / "f").read_text() == "x"
    assert "final" not in [event["type"] for event in cli.close()[1]]


def child_of(cli) -> int:
    (effect,) = cli.effects("effect")
    return int(effect["result"].removeprefix("child "))


@pytest.mark.parametrize("fork", ["setsid", "double"])
def test_a_forked_child_lives_on_in_its_own_session(start, fork):
    cli = start(scenario=f"turns: [{{process: {{fork: {fork}}}, say: hi}}]\n")
    cli.message("m1", "go")
    cli.until("final")
    child = child_of(cli)
    try:
        assert cli.close()[0] == 0
        assert os.getsid(child) != os.getsid(0)
        assert is_alive(child)
        assert (os.getpgid(child) == child) is (fork == "setsid")
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_child_can_hold_stdout_open_after_the_cli_is_gone(start):
    process = "process: {fork: double, hold_stdout: true, exit: 0}"
    cli = start(scenario=f"turns: [{{{process}, say: hi}}]\n")
    cli.message("m1", "go")
    cli.until("final")
    child = child_of(cli)
    try:
        assert cli.process.wait(PATIENCE_S) == 0
        assert Path(f"/proc/{child}/fd/1").readlink().name.startswith("pipe:")
        assert Path(f"/proc/{child}/fd/0").readlink() == Path(os.devnull)
    finally:
        os.kill(child, signal.SIGKILL)
    assert cli.process.stdout.read() == b""


def test_ignored_signals_are_ignored_by_it_and_its_children(start):
    cli = start(
        scenario="turns: [{process: {ignore: [TERM, HUP], fork: setsid}, say: hi}, {say: again}]\n"
    )
    cli.message("m1", "go")
    cli.until("final")
    child = child_of(cli)
    try:
        for pid in (cli.process.pid, child):
            ignored = int(_status(pid, "SigIgn"), 16)
            assert ignored >> (signal.SIGTERM - 1) & ignored >> (signal.SIGHUP - 1) & 1
        cli.process.terminate()
        cli.message("m2", "go")
        assert cli.until("final")["text"] == "again"
    finally:
        os.kill(child, signal.SIGKILL)


def _status(pid: int, field: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().split("\n")
    return next(line.split()[1] for line in lines if line.startswith(f"{field}:"))


def test_a_child_does_not_live_for_ever(start):
    cli = start(scenario="turns: [{process: {fork: double, lives_s: 1}, say: hi}]\n")
    cli.message("m1", "go")
    cli.until("final")
    child = child_of(cli)
    assert eventually(lambda: not is_alive(child))


def test_two_sessions_of_one_home_keep_their_own_progress(start):
    scenario = "turns: [{say: first}]\n"
    one, two = start(scenario=scenario), start(scenario=scenario, session=OTHER)
    one.message("m1", "go")
    two.message("m2", "go")
    assert one.until("final")["text"] == two.until("final")["text"] == "first"
    assert {record["session"] for record in one.effects("executed")} == {SESSION, OTHER}
