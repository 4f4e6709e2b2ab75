"""The driver of Claude Code: its plan, its reading of odd lines, its proofs after a kill."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from amiral.agents.driver import (
    Asked,
    Finished,
    Limited,
    Nearing,
    Noise,
    Opened,
    Retrying,
    Said,
    Seat,
    Seen,
    Settlement,
    Usage,
    Used,
    Withdrawn,
)
from amiral.agents.drivers.claude.driver import DRIVER, KNOWN, UNASKED, ClaudeState
from amiral.permissions.rules import Permissions, Posture

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts" / "claude"
SESSION = "11111111-2222-4333-8444-555555555555"
RUNNING = ClaudeState(session="s", queued="m1", running="m1")


def read(before: ClaudeState, /, **event):
    return DRIVER.read(before, json.dumps(event).encode())


def signals(before: ClaudeState, /, **event):
    return read(before, **event).signals


# ---- the version


def test_versions_are_read_and_untested_ones_warned_about():
    assert DRIVER.version_command(("claude", "-x")) == ("claude", "-x", "--version")
    assert DRIVER.version_of("2.1.332 (Claude Code)\n") == "2.1.332"
    assert DRIVER.version_of("no version") == ""
    assert DRIVER.warning_for("2.1.332") == ""
    assert "9.9.9" in DRIVER.warning_for("9.9.9")
    assert "unknown" in DRIVER.warning_for("")


def test_its_permissions_are_an_argument_and_no_file_of_its_home_is_merged():
    seat = Seat("w", ("claude",), "/project", "/w/home", "/w/tmp", "", "all", 0, "", {})
    one = replace(seat, permissions=Permissions(Posture.ASK, ()))
    told, launch = DRIVER.project(one), DRIVER.open(one)[1]
    assert launch.argv[-1:] == told.args and told.files == ()
    assert DRIVER.merged("found", "ours") == "ours"


def test_a_variable_carries_its_login_whatever_its_options():
    login = DRIVER.login({"model": "x"})
    assert "ANTHROPIC_API_KEY" in login.variables
    assert login.files == ()


# ---- writing


def test_it_takes_messages_at_once():
    assert DRIVER.is_ready(ClaudeState())


def test_a_message_carries_its_id_and_is_never_a_command_of_the_cli():
    (plain,) = DRIVER.say(RUNNING, "m1", "hello /clear")
    told = json.loads(plain.data)
    assert (plain.id, told["uuid"]) == ("m1", "m1")
    assert told["message"] == {"role": "user", "content": "hello /clear"}
    (slash,) = DRIVER.say(RUNNING, "m1", "/clear")
    assert json.loads(slash.data)["message"]["content"] == "\n/clear"


def test_an_answer_gives_the_arguments_back_or_the_reason():
    asked = Asked("q1", "Bash", "ls", '{"command":"ls \\u00e9"}')
    (allowed,) = DRIVER.answer(RUNNING, asked, allow=True, reason="")
    told = json.loads(allowed.data)["response"]
    assert (told["subtype"], told["request_id"]) == ("success", "q1")
    assert told["response"] == {"behavior": "allow", "updatedInput": {"command": "ls é"}}
    (denied,) = DRIVER.answer(RUNNING, asked, allow=False, reason="not now")
    told = json.loads(denied.data)["response"]["response"]
    assert told == {"behavior": "deny", "message": "not now"}


def test_an_interrupt_is_a_request_under_the_turn_s_name():
    (line,) = DRIVER.interrupt(RUNNING, "t1")
    assert line.id == "interrupt-t1"
    assert json.loads(line.data)["request"] == {"subtype": "interrupt"}


# ---- reading


@pytest.mark.parametrize("path", sorted(TRANSCRIPTS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_recorded_line_is_one_the_driver_knows(path):
    state = ClaudeState()
    for line in path.read_bytes().split(b"\n"):
        result = DRIVER.read(state, line)
        state = result.state
        assert [one for one in result.signals if isinstance(one, Noise) and one != UNASKED] == []
        assert result.inputs == ()


def test_a_question_that_claude_takes_back_waits_no_more():
    event = {"type": "control_cancel_request", "request_id": "q1"}
    assert signals(RUNNING, **event) == (Withdrawn("q1"),)


def test_the_session_is_told_once_and_again_when_it_changes_r17():
    init = {"type": "system", "subtype": "init", "claude_code_version": "2", "model": "m"}
    first = read(ClaudeState(), **init, session_id="a", tools=["Read", 1])
    assert first.signals == (Opened("a", "2", "m", ("Read",)),)
    assert signals(first.state, **init, session_id="a") == ()
    assert signals(first.state, **init, session_id="b") == (Opened("b", "2", "m", ()),)


def test_a_message_is_seen_when_work_on_it_starts_and_only_then():
    event = {"type": "command_lifecycle", "command_uuid": "m1"}
    queued = read(ClaudeState(), **event, state="queued")
    assert queued.signals == ()
    started = read(queued.state, **event, state="started")
    assert started.signals == (Seen("m1"),)
    assert signals(started.state, type="user", isReplay=True, uuid="m1") == ()
    assert signals(started.state, **event, state="completed") == ()
    assert signals(started.state, type="user", uuid="x", message={"content": []}) == ()


def test_a_version_that_does_not_tell_of_work_is_believed_by_its_echo():
    echo = read(ClaudeState(), type="user", isReplay=True, uuid="m1")
    assert echo.signals == (Seen("m1"),)
    (final,) = signals(echo.state, type="result", is_error=False, result="x", session_id="s")
    assert (final.how, final.text, final.resume_key) == ("done", "x", "s")


def test_a_message_it_had_before_ends_the_turn_at_once():
    resumed = read(ClaudeState(), type="user", isReplay=True, uuid="m1")
    event = {"type": "command_lifecycle", "command_uuid": "m1", "state": "completed"}
    assert signals(resumed.state, **event) == (KNOWN,)
    later = ClaudeState(session="s", queued="m2")
    assert signals(later, type="user", isReplay=True, uuid="m1") == (KNOWN,)


def test_the_end_of_a_message_that_was_answered_says_nothing():
    event = {"type": "command_lifecycle", "command_uuid": "", "state": "completed"}
    assert signals(ClaudeState(), **event) == ()


def test_what_it_does_unasked_is_not_taken_for_the_answer():
    idle = ClaudeState(session="s", queued="m1")
    text = {"content": [{"type": "text", "text": "by myself"}]}
    assert signals(idle, type="assistant", message=text) == ()
    result = read(idle, type="result", is_error=False, result="by myself", session_id="s")
    assert (result.signals, result.state) == ((UNASKED,), idle)


def test_text_and_tools_are_told_in_their_order_and_thoughts_are_not():
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "I look."},
        {"type": "text", "text": ""},
        {"type": "tool_use", "name": "Read", "input": {"file_path": "/a"}},
        {"type": "server_tool_use", "name": "web_search", "input": {"query": "q"}},
        "not a block",
    ]
    told = signals(RUNNING, type="assistant", message={"content": blocks})
    assert told == (Said("I look."), Used("Read", "/a"), Used("web_search", "q"))


def test_a_subagent_s_words_are_not_the_worker_s_but_its_tools_are_used():
    blocks = [{"type": "text", "text": "x"}, {"type": "tool_use", "name": "Grep", "input": {}}]
    event = {"type": "assistant", "parent_tool_use_id": "t", "message": {"content": blocks}}
    assert signals(RUNNING, **event) == (Used("Grep", "{}"),)


@pytest.mark.parametrize("marks", [{"error": "server_error"}, {"is_api_error_message": True}])
def test_an_error_of_the_service_is_not_something_the_worker_said_r15(marks):
    text = {"content": [{"type": "text", "text": "You've hit your limit"}]}
    assert signals(RUNNING, type="assistant", message=text, **marks) == ()


def test_a_limit_is_told_once_a_turn_wherever_it_stands_r10():
    info = {"status": "rejected", "rateLimitType": "five_hour", "resetsAt": 1796052475}
    event = read(RUNNING, type="rate_limit_event", rate_limit_info=info)
    limited = Limited("five_hour", 1796052475000)
    assert event.signals == (limited,)
    params = {"rate_limit_info": info}
    told = {"type": "assistant", "error": "rate_limit", "api_error_params": params}
    assert signals(event.state, **told) == ()
    assert signals(RUNNING, **told) == (limited,)
    final = {"type": "result", "is_error": True, "api_error_status": 429, "result": "limit"}
    ended = read(event.state, **final, session_id="s")
    assert [one.how for one in ended.signals] == ["limited"]
    assert not ended.state.is_limited and ended.state.running == ""
    bare, end = signals(RUNNING, **final, session_id="s")
    assert (bare, end.how, end.reason) == (Limited("", None, "limit"), "limited", "limit")


def test_a_limit_that_is_paid_beyond_is_none_and_a_filling_window_is_told():
    info = {"status": "rejected", "rateLimitType": "five_hour", "isUsingOverage": True}
    assert signals(RUNNING, type="rate_limit_event", rate_limit_info=info) == ()
    assert signals(RUNNING, type="rate_limit_event", rate_limit_info={"status": "allowed"}) == ()
    info = {"status": "allowed_warning", "rateLimitType": "w", "utilization": 0.9, "resetsAt": "x"}
    told = signals(RUNNING, type="rate_limit_event", rate_limit_info=info)
    assert told == (Nearing("w", 0.9, None),)


def test_an_unreadable_reset_is_unknown_r09():
    info = {"status": "rejected", "rateLimitType": "five_hour", "resetsAt": 9e18}
    told = signals(RUNNING, type="rate_limit_event", rate_limit_info=info)
    assert told == (Limited("five_hour", None),)


def test_it_tells_that_it_tries_again():
    event = {"type": "system", "subtype": "api_retry", "error": "overloaded"}
    assert signals(RUNNING, **event, retry_delay_ms=541) == (Retrying("overloaded", 541),)


@pytest.mark.parametrize(
    "request_",
    [
        {"subtype": "hook_callback"},
        {"subtype": "can_use_tool", "tool_name": 5},
        {"subtype": "mcp_message", "tool_name": "x"},
        "nonsense",
        None,
    ],
)
def test_a_request_we_do_not_serve_is_refused_so_that_it_waits_for_nothing(request_):
    result = read(RUNNING, type="control_request", request_id="r1", request=request_)
    (refusal,) = result.inputs
    assert result.signals == () and refusal.id == "refuse-r1"
    told = json.loads(refusal.data)["response"]
    assert (told["subtype"], told["request_id"]) == ("error", "r1")


def test_a_permission_question_is_asked_with_its_arguments():
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "a\n b"}}
    result = read(RUNNING, type="control_request", request_id="r1", request=request)
    assert result.signals == (Asked("r1", "Bash", "a b", '{"command":"a\\n b"}'),)
    assert result.inputs == ()


@pytest.mark.parametrize(
    ("event", "how", "reason"),
    [
        ({"is_error": True, "subtype": "success", "result": "API Error"}, "failed", "API Error"),
        ({"subtype": "success"}, "failed", ""),
        ({"is_error": "no"}, "failed", ""),
        ({"is_error": True, "errors": ["a", 1, "b"]}, "failed", "a; b"),
        ({"is_error": True, "terminal_reason": "max_turns"}, "failed", "max_turns"),
        (
            {"is_error": True, "terminal_reason": "aborted_tools", "errors": ["x"]},
            *("interrupted", "aborted_tools"),
        ),
        (
            {"is_error": False, "terminal_reason": "aborted_streaming"},
            *("interrupted", "aborted_streaming"),
        ),
        ({"is_error": False, "subtype": "error_during_execution"}, "done", ""),
        ({"is_error": False, "terminal_reason": "completed"}, "done", ""),
    ],
)
def test_the_end_is_read_from_is_error_and_terminal_reason_never_from_subtype(event, how, reason):
    (final,) = signals(RUNNING, type="result", session_id="s", **event)
    assert (final.how, final.reason, final.text, final.resume_key) == (how, reason, "", "s")


def test_a_forgotten_conversation_proves_no_key_r17():
    errors = [f"No conversation found with session ID: {SESSION}"]
    event = {"type": "result", "is_error": True, "errors": errors, "session_id": SESSION}
    (final,) = signals(ClaudeState(), **event)
    assert final == Finished("context_lost", "", errors[0], "")


def test_usage_is_that_of_the_turn():
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 4}
    models = {"a": {"costUSD": 0.25}, "b": {"costUSD": 0.5}, "c": 1}
    event = {"type": "result", "is_error": False, "usage": {**usage, "output_tokens": 8}}
    (final,) = signals(RUNNING, **event, model_usage_since_last_result=models)
    assert final.usage == Usage(7, 8, 0.75)


def test_known_news_say_nothing_and_unknown_ones_are_noise_r08():
    for kind in ("control_response", "stream_event", "conversation_reset"):
        assert signals(RUNNING, type=kind) == ()
    assert signals(RUNNING, type="system", subtype="task_started") == ()
    (noise,) = signals(RUNNING, type="system", subtype="new")
    assert noise == Noise('{"type": "system", "subtype": "new"}')
    assert DRIVER.read(RUNNING, b"{}").signals == (Noise("{}"),)
    assert DRIVER.read(RUNNING, b"  ").signals == ()


# ---- proofs after a kill


@pytest.mark.parametrize(
    ("name", "message", "proof", "text"),
    [
        ("model", "m1", "received", ""),
        ("model", "m2", "absent", ""),
        ("model-resumed", "m1", "answered", "resumed"),
        ("tool", "m1", "received", ""),
        ("tool-resumed", "m1", "received", ""),
        ("tool-resumed", "m2", "answered", "resumed"),
        ("final", "m1", "answered", "The answer\nis 1."),
        ("final-resumed", "m1", "answered", "The answer\nis 1."),
        ("interrupted", "m1", "received", ""),
        ("interrupted", "m2", "answered", "after"),
        ("limited", "m1", "received", ""),
        ("limited", "m2", "answered", "after"),
        ("limited", "m3", "absent", ""),
    ],
)
def test_its_own_transcript_proves_what_became_of_a_message_r41(name, message, proof, text):
    lines = (TRANSCRIPTS / "own" / f"{name}.jsonl").read_bytes().split(b"\n")
    assert DRIVER.settle(lines, message, "") == Settlement(proof, text)


@pytest.mark.parametrize("name", ["final", "tool", "limited"])
def test_a_transcript_cut_anywhere_proves_no_more_than_it_holds(name):
    whole = (TRANSCRIPTS / "own" / f"{name}.jsonl").read_bytes()
    order = ["absent", "unknown", "received", "answered"]
    seen = [DRIVER.settle(whole[:end].split(b"\n"), "m1", "").proof for end in range(len(whole))]
    ranks = [order.index(proof) for proof in seen if proof != "unknown"]
    assert ranks == sorted(ranks), "more bytes never prove less"


def test_an_answer_in_several_blocks_is_whole_and_a_subagent_s_is_none():
    def entry(kind: str, **more) -> bytes:
        return json.dumps({"type": kind, **more}).encode()

    def reply(name: str, text: str, **more) -> bytes:
        block = {"type": "text", "text": text}
        message = {"id": name, "model": "m", "stop_reason": "end_turn", "content": [block]}
        return entry("assistant", message=message, **more)

    lines = [
        entry("user", uuid="m1", message={"content": "go"}),
        reply("a", "before"),
        entry("user", isMeta=True, uuid="x", message={"content": "reminder"}),
        reply("b", "one "),
        reply("b", "two"),
        reply("c", "aside", isSidechain=True),
    ]
    assert DRIVER.settle(lines, "m1", "") == Settlement("answered", "one two")


def test_the_transcript_of_a_session_is_looked_for_in_the_worker_s_home():
    seat = Seat("w", ("claude",), "/project", "/w/home", "/w/tmp", "", "all", 0, "", {})
    assert DRIVER.transcript(seat, SESSION) == f"/w/home/projects/*/{SESSION}.jsonl"
