"""The driver of Codex: its reading of what the recordings do not have."""

import json
from dataclasses import replace

import pytest

from amiral.agents.driver import (
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
    Usage,
    Used,
    Withdrawn,
)
from amiral.agents.drivers.codex.driver import DRIVER, UNASKED, CodexState, Window
from amiral.agents.drivers.codex.launch import login, plan
from amiral.agents.drivers.codex.questions import Patch
from amiral.permissions.projection import Projection
from amiral.permissions.rules import Permissions, Posture
from amiral.permissions.sandbox import Access

OPEN = CodexState(thread="t")
RUNNING = CodexState(thread="t", turn="u1")
RESET_S = 1_796_056_075
SEAT = Seat("backend", ("codex",), "/project", "/w/[home]", "/w/tmp", "", "all", 3, "", {})


def read(before: CodexState, /, **event):
    return DRIVER.read(before, json.dumps(event).encode())


def notice(before: CodexState, method: str, **params):
    return read(before, method=method, params={"threadId": "t", **params})


def item(stage: str, kind: str, before: CodexState = RUNNING, **more):
    told = {"turnId": "u1", "item": {"type": kind, "id": "i1", **more}}
    return notice(before, f"item/{stage}", **told)


def ended(status: str, before: CodexState = RUNNING, turn: str = "u1", **more):
    return notice(before, "turn/completed", turn={"id": turn, "status": status, **more})


def failed(info, message="no", before=RUNNING):
    return ended("failed", before, error={"message": message, "codexErrorInfo": info}).signals


# ---- the CLI itself


def test_the_cli_is_asked_for_its_version():
    assert DRIVER.version_command(("codex", "-c", "a=1")) == ("codex", "-c", "a=1", "--version")


def test_a_thread_begins_with_nothing_known_of_it():
    assert DRIVER.open(SEAT) == (CodexState(), plan(SEAT, Projection()))
    assert DRIVER.login({}) == login({})


def test_the_record_of_a_thread_is_found_whatever_its_day_and_settles_a_message():
    wanted = "/w/[[]home]/sessions/*/*/*/rollout-*-key.jsonl"
    assert DRIVER.transcript(SEAT, "key") == wanted
    assert DRIVER.settle([], "m1", "hello") == Settlement("absent")


# ---- what it says and is told


def test_it_is_ready_when_its_thread_is_open():
    assert not DRIVER.is_ready(CodexState())
    result = {"model": "m", "thread": {"id": "t", "cliVersion": "0.171.0"}}
    opened = read(CodexState(), id="open", result=result)
    assert opened.signals == (Opened("t", "0.171.0", "m"),)
    assert DRIVER.is_ready(opened.state)
    assert read(CodexState(), id="initialize", result={"thread": {"id": "x"}}).signals == ()


def test_how_its_questions_are_read_comes_back_with_the_thread():
    result = {"thread": {"id": "t"}}
    assert read(CodexState(), id="open reads searches", result=result).state.marks == (
        "reads",
        "searches",
    )
    assert read(CodexState(), id="open", result=result).state.marks == ()
    assert read(CodexState(), id=" ", result=result).state == CodexState()
    before = CodexState("t", "u1", marks=("held",))
    assert read(before, id="m2", result={"turn": {"id": "u2"}}).state.marks == ("held",)
    assert ended("completed", before).state.marks == ("held",)
    lost = read(CodexState(), id="open held", error={"message": "no rollout found for x"})
    assert [signal.how for signal in lost.signals] == ["context_lost"]


@pytest.mark.parametrize("command", ["touch a", "cat a"])
def test_where_it_is_held_back_no_command_leaves_its_sandbox_whoever_would_allow_it_s5(command):
    before = replace(RUNNING, marks=("held",))
    params = {"threadId": "t", "command": command, "itemId": "i1"}
    found = read(before, id=3, method="item/commandExecution/requestApproval", params=params)
    (answer,) = found.inputs
    assert (answer.id, json.loads(answer.data)["result"]) == ("answer-3", {"decision": "decline"})
    assert [type(signal) for signal in found.signals] == [Refused]
    patch = read(before, id=4, method="item/fileChange/requestApproval", params=params)
    assert [signal.tool for signal in patch.signals] == ["Edit"] and patch.inputs == ()


def test_what_is_projected_and_what_was_found_are_put_together():
    seat = replace(SEAT, permissions=Permissions(Posture.ALLOW, ()))
    (file,) = DRIVER.project(seat).files
    assert "notice" in DRIVER.merged("notice = {}", file.text)
    assert Access.READ in DRIVER.needs.login and "rules" in DRIVER.owned


def test_a_message_carries_its_own_id_twice():
    (line,) = DRIVER.say(OPEN, "m1", "hello")
    told = json.loads(line.data)
    assert (line.id, told["id"], told["method"]) == ("m1", "m1", "turn/start")
    assert told["params"]["clientUserMessageId"] == "m1"
    assert told["params"]["threadId"] == "t"
    assert told["params"]["input"] == [{"type": "text", "text": "hello"}]


def test_the_answer_to_a_message_names_its_turn_and_forgets_the_last_one():
    before = CodexState("t", "u0", Usage(7, 8), (Window("five_hour", 95, None),), Patch("i"))
    after = read(before, id="m2", result={"turn": {"id": "u2"}}).state
    assert after == CodexState("t", "u2", windows=before.windows)


def test_a_message_that_is_refused_ends_its_turn():
    refused = read(OPEN, id="m1", error={"code": -32600, "message": "thread not found: t"})
    assert refused.signals == (Finished("failed", "", "thread not found: t"),)
    silent = read(OPEN, id="m1", error={})
    assert silent.signals == (Finished("failed", "", "Codex refused it without a reason"),)


def test_an_interrupt_names_the_running_turn_and_its_refusal_means_nothing():
    (line,) = DRIVER.interrupt(RUNNING, "t9")
    told = json.loads(line.data)
    assert (line.id, told["method"]) == ("interrupt-t9", "turn/interrupt")
    assert told["params"] == {"threadId": "t", "turnId": "u1"}
    assert DRIVER.interrupt(OPEN, "t9") == (), "nothing runs that it could name"
    assert read(RUNNING, id="interrupt-t9", error={"message": "no active turn"}).signals == ()


# ---- questions


def ask(method: str, before: CodexState = RUNNING, number: object = 3, **params):
    return read(before, id=number, method=method, params={"threadId": "t", **params})


def reply(asked: Asked, *, allow: bool) -> dict:
    (line,) = DRIVER.answer(RUNNING, asked, allow=allow, reason="no")
    assert line.id == f"answer-{asked.ask}"
    found = json.loads(line.data)
    return dict(found)


def test_a_command_is_asked_without_the_shell_around_it():
    command = "/bin/bash -lc 'rm -rf \"a b\"'"
    found = ask("item/commandExecution/requestApproval", command=command, reason="tidy")
    (asked,) = found.signals
    assert (asked.ask, asked.tool, asked.summary) == ("3", "Bash", 'rm -rf "a b"')
    assert json.loads(asked.arguments)["reason"] == "tidy"
    assert reply(asked, allow=True) == {"id": 3, "result": {"decision": "accept"}}
    assert reply(asked, allow=False) == {"id": 3, "result": {"decision": "decline"}}


@pytest.mark.parametrize("command", ["touch a", "/bin/bash -lc 'x", "bash a b", "sh -c a b", ""])
def test_a_command_that_is_not_one_shell_s_is_asked_as_it_is(command):
    (asked,) = ask("item/commandExecution/requestApproval", command=command).signals
    assert json.loads(asked.arguments)["command"] == command


@pytest.mark.parametrize(("kinds", "tool"), [(["add"], "Write"), (["add", "update"], "Edit")])
def test_a_change_is_asked_with_the_files_it_was_announced_with(kinds, tool):
    changes = [{"path": f"/p/{kind}", "kind": {"type": kind}} for kind in kinds]
    begun = item("started", "fileChange", changes=changes)
    paths = [f"/p/{kind}" for kind in kinds]
    assert begun.signals == (Used(tool, " ".join(paths)),)
    (asked,) = ask("item/fileChange/requestApproval", begun.state, itemId="i1").signals
    told = [change["path"] for change in json.loads(asked.arguments)["changes"]]
    assert (asked.tool, told) == (tool, paths)
    (other,) = ask("item/fileChange/requestApproval", begun.state, itemId="i2").signals
    assert (other.tool, json.loads(other.arguments)["changes"]) == ("Edit", [])


def test_a_question_that_codex_has_settled_waits_no_more():
    assert notice(RUNNING, "serverRequest/resolved", requestId=0).signals == (Withdrawn("0"),)
    foreign = notice(RUNNING, "serverRequest/resolved", threadId="other", requestId=0)
    assert foreign.signals == ()


def test_a_tool_of_an_mcp_server_is_asked_under_its_whole_name():
    meta = {"codex_approval_kind": "mcp_tool_call", "tool_name": "post", "tool_params": {"a": 1}}
    (asked,) = ask("mcpServer/elicitation/request", serverName="wiki", _meta=meta).signals
    assert (asked.tool, asked.arguments) == ("mcp__wiki__post", '{"a":1}')
    assert reply(asked, allow=True)["result"] == {"action": "accept", "content": {}}
    assert reply(asked, allow=False)["result"] == {"action": "decline", "content": None}


@pytest.mark.parametrize("number", [4, "four"])
@pytest.mark.parametrize(
    "method",
    [
        "mcpServer/elicitation/request",
        "item/tool/requestUserInput",
        "item/permissions/requestApproval",
        "account/chatgptAuthTokens/refresh",
        "from/the/future",
    ],
)
def test_what_nobody_can_answer_is_refused_at_once(method, number):
    found = ask(method, number=number)
    assert found.signals == ()
    (line,) = found.inputs
    assert line.id == f"refuse-{number}"
    told = json.loads(line.data)
    assert (told["id"], told["error"]["message"]) == (number, "not served")


# ---- the turn


def test_a_message_is_seen_under_its_own_id_alone():
    assert item("started", "userMessage", clientId="m1").signals == (Seen("m1"),)
    assert item("started", "userMessage", clientId=None).signals == ()


def test_what_is_said_is_told_whole_and_once():
    assert item("started", "agentMessage", text="").signals == ()
    assert item("completed", "agentMessage", text="hello").signals == (Said("hello"),)
    assert item("completed", "agentMessage", text="").signals == ()
    assert item("completed", "reasoning", text="hm").signals == ()
    assert item("completed", "agentMessage", CodexState("t", "u9"), text="late").signals == ()


def test_a_command_that_runs_is_told_without_the_shell_around_it():
    used = item("started", "commandExecution", command="/bin/bash -lc 'make test'")
    assert used.signals == (Used("Bash", "make test"),)


def test_other_tools_are_told_by_their_names():
    assert item("started", "webSearch", query="q").signals == (Used("WebSearch", "q"),)
    called = item("started", "mcpToolCall", server="wiki", tool="get", arguments={"path": "x"})
    assert called.signals == (Used("mcp__wiki__get", "x"),)
    assert item("started", "plan").signals == ()


def test_the_tokens_of_a_turn_are_added_up_and_those_of_another_are_not():
    last = {"last": {"inputTokens": 5, "outputTokens": 2}, "total": {"inputTokens": 99}}
    state = RUNNING
    for turn in ("u1", "u0", "u1"):
        state = notice(state, "thread/tokenUsage/updated", turnId=turn, tokenUsage=last).state
    (final,) = ended("completed", state, items=[{"text": "a"}, {"text": "b"}]).signals
    assert final == Finished("done", "b", "", "t", Usage(10, 4))
    assert ended("completed", state).state == CodexState("t")


def test_an_end_that_was_not_asked_for_ends_no_turn():
    assert ended("completed", turn="u9").signals == (UNASKED,)
    assert ended("completed", OPEN).signals == (UNASKED,)
    assert ended("completed", turn="u9").state == RUNNING


def test_another_thread_s_events_are_not_ours():
    for method in ("turn/completed", "item/started", "error", "warning"):
        found = read(RUNNING, method=method, params={"threadId": "sub", "turn": {"id": "u1"}})
        assert (found.state, found.signals) == (RUNNING, ())


@pytest.mark.parametrize("status", ["interrupted", "failed", "somehow"])
def test_a_bad_end_always_has_a_reason(status):
    (final,) = ended(status).signals
    assert final.how == ("interrupted" if status == "interrupted" else "failed")
    assert final.reason == f"Codex ended the turn: {status}"
    assert final.resume_key == "t"


# ---- limits and errors


def limits(before: CodexState = RUNNING, **slots):
    return notice(before, "account/rateLimits/updated", rateLimits=slots)


def window(used: int, minutes: int | None = 300, resets: object = RESET_S) -> dict:
    return {"usedPercent": used, "windowDurationMins": minutes, "resetsAt": resets}


def test_a_filling_window_is_told_once_and_again_when_it_has_changed():
    first = limits(primary=window(89), secondary=window(90, 10_080))
    assert first.signals == (Nearing("seven_day", 0.9, RESET_S * 1000),)
    assert limits(first.state, primary=window(89), secondary=window(90, 10_080)).signals == ()
    again = limits(first.state, primary=window(89), secondary=window(91, 10_080))
    assert [one.utilization for one in again.signals] == [0.91]


def test_a_limit_is_the_full_window_that_opens_last_r09():
    both = limits(primary=window(100), secondary=window(100, 10_080, RESET_S + 9)).state
    limited, final = failed("usageLimitExceeded", "try again at 8:05 AM", both)
    assert limited == Limited("seven_day", (RESET_S + 9) * 1000, "try again at 8:05 AM")
    assert (final.how, final.reason) == ("limited", "try again at 8:05 AM")


def test_a_limit_whose_window_was_not_told_has_no_time_never_a_guess_r09():
    filling = limits(primary=window(95)).state
    assert failed("usageLimitExceeded", "text", filling)[0] == Limited("", None, "text")
    odd = limits(primary=window(100, 60, "soon")).state
    assert failed("usageLimitExceeded", "text", odd)[0] == Limited("primary", None, "text")


def test_an_error_that_is_tried_again_is_told_and_another_one_comes_with_the_end():
    error = {"message": "Reconnecting... 1/5", "additionalDetails": "status 529"}
    assert notice(RUNNING, "error", error=error, willRetry=True).signals == (
        Retrying("status 529", 0),
    )
    assert notice(RUNNING, "error", error=error, willRetry=False).signals == ()


@pytest.mark.parametrize(
    ("info", "is_login"),
    [
        ("unauthorized", True),
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, True),
        ({"httpConnectionFailed": {"httpStatusCode": 403}}, False),
        ("other", False),
        (None, False),
    ],
)
def test_an_error_of_the_login_says_how_to_log_in(info, is_login):
    (final,) = failed(info)
    assert final.how == "failed"
    assert ("amiral login codex" in final.reason) == is_login


def test_news_say_nothing_warnings_and_unknown_ones_are_noise_r08():
    for method in ("turn/started", "thread/status/changed", "configWarning", "mcpServer/x"):
        assert read(RUNNING, method=method, params={}).signals == ()
    assert notice(RUNNING, "warning", message="careful").signals == (Noise("careful"),)
    (noise,) = read(RUNNING, method="model/rerouted", params={}).signals
    assert isinstance(noise, Noise) and "model/rerouted" in noise.text
    assert DRIVER.read(RUNNING, b"not json").signals == (Noise("not json"),)
    assert DRIVER.read(RUNNING, b'{"id": 5}').signals == (Noise('{"id": 5}'),)


def test_versions_are_read_and_untested_ones_warned_about():
    assert DRIVER.version_of("WARNING: x\ncodex-cli 0.171.0\n") == "0.171.0"
    assert DRIVER.version_of("codex") == ""
    assert DRIVER.warning_for("0.171.0") == ""
    assert "0.1.0 is untested" in DRIVER.warning_for("0.1.0")
    assert "version unknown" in DRIVER.warning_for("")
