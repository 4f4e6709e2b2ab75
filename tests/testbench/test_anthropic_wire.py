"""Turns of a scenario in the form of Anthropic's Messages API."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.testbench import anthropic_wire as wire
from amiral.testbench.scenario import Limit, Say, Scenario, Turn, Use
from amiral.testbench.scenario_yaml import parse_scenario

NOW_S = 1796052475


def call(**more) -> wire.Call:
    return wire.read_call(request(**more))


def request(**more) -> bytes:
    fields = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **more}
    return json.dumps(fields).encode()


def playable(text: str) -> None:
    wire.check_playable(parse_scenario(text, "s.yaml"))


def events(turn: Turn, of: wire.Call, root: str = "") -> list[tuple[str, dict]]:
    body = b"".join(piece.data for piece in wire.stream(turn, of, "n1", root)).decode()
    found = []
    for event in body.split("\n\n")[:-1]:
        kind, _, data = event.partition("\n")
        found.append((kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def assembled(turn: Turn, of: wire.Call, root: str = "") -> list[dict]:
    """Put the blocks together from their deltas, as a client does."""
    blocks: list[dict] = []
    for kind, event in events(turn, of, root):
        if kind == "content_block_start":
            blocks.append(event["content_block"])
            parts = ""
        elif kind == "content_block_delta":
            parts += event["delta"].get("text", event["delta"].get("partial_json"))
        elif kind == "content_block_stop" and blocks[-1]["type"] == "tool_use":
            blocks[-1]["input"] = json.loads(parts)
        elif kind == "content_block_stop":
            blocks[-1]["text"] = parts
    return blocks


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("turns: [{say: a}, {raw: {bytes: x}}]", "turn 2: a scripted model does not do raw"),
        ("turns: [{process: {exit: 3}}]", "turn 1: a scripted model does not do process"),
        ("turns: [{ask: {worker: w, text: x}}]", "turn 1: a scripted model does not do ask"),
        ("turns: [{say: a, limit: {window: w}}]", "say together with a reached limit"),
        ("default: {raw: {bytes: x}}", "default: a scripted model does not do raw"),
    ],
)
def test_what_a_model_cannot_do_is_refused_with_its_place(text, part):
    with pytest.raises(Invalid, match=part):
        playable(text)


def test_what_a_model_can_do_is_accepted():
    playable("turns: [{say: a, limit: {window: w, utilization: 0.9}}, {error: {status: 500}}]")
    playable("turns: [{hang: 1, use: {tool: read, args: {path: x}}}, {limit: {window: w}}]")


def test_a_call_tells_what_was_asked_and_no_more():
    found = call(
        tools=[{"name": "Read"}, {"type": "custom", "name": "Write", "input_schema": {}}],
        system=[{"type": "text", "text": "You are."}],
        messages=[
            {"role": "user", "content": [{"type": "text", "text": "first"}]},
            {"role": "system", "content": [{"type": "text", "text": "Working directory: /x"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "input": {}}]},
        ],
        metadata={"user_id": "secret"},
        stream=True,
    )
    assert (found.model, found.tools, found.text) == ("m", ("Read", "Write"), "first")
    assert found.system == "You are.\nWorking directory: /x"
    assert found.is_stream and found.is_main
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "b"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "<system-reminder>x"}], "a"),
        ([{"type": "tool_result", "content": "r"}], "hi"),
        ([{"type": "text", "text": "<system-reminder>x"}], "hi"),
    ],
)
def test_the_last_text_of_the_user_is_no_tool_s_result_and_no_reminder(content, text):
    messages = [{"role": "user", "content": "hi"}, {"role": "user", "content": content}]
    assert call(messages=messages).text == text


def test_a_user_who_said_nothing_has_no_text():
    assert call(messages=[{"role": "assistant", "content": "x"}]).text == ""


def test_only_calls_with_tools_carry_on_the_scenario():
    assert not call().is_main
    assert call(tools=[{"name": "Read"}]).is_main
    summary = [{"role": "user", "content": "CRITICAL: Respond with TEXT ONLY. Do NOT"}]
    assert not call(tools=[{"name": "Read"}], messages=summary).is_main


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b"{}", b'{"model":1}', b"[" * 100_000, b'{"messages":[]}']
)
def test_what_is_no_request_is_refused(body):
    with pytest.raises(Invalid, match="not a request of the Messages API"):
        wire.read_call(body)


@given(st.text(), st.integers(0, 5), st.sampled_from([0, 20]))
def test_a_streamed_text_is_the_whole_text_in_its_pieces(text, chunk, pause_ms):
    turn = Turn(say=Say(text, chunk, pause_ms))
    assert assembled(turn, call()) == ([{"type": "text", "text": text}] if text else [])
    pieces = [piece for piece in wire.stream(turn, call(), "n1") if b"text_delta" in piece.data]
    assert [piece.pause_ms for piece in pieces[1:]] == [pause_ms] * len(pieces[1:])
    assert all(piece.pause_ms == 0 for piece in pieces[:1])


def test_a_stream_begins_and_ends_as_the_service_s_does():
    found = events(Turn(say=Say("ab")), call())
    kinds = [kind for kind, _ in found]
    assert kinds == [
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    start, end = found[0][1]["message"], found[4][1]
    assert (start["id"], start["model"], start["content"]) == ("msg_n1", "m", [])
    assert end["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert end["usage"]["output_tokens"] >= 1


@pytest.mark.parametrize(
    ("use", "name", "given_"),
    [
        (
            Use("write", {"path": "a.py", "text": "x"}),
            *("Write", {"file_path": "/w/a.py", "content": "x"}),
        ),
        (
            Use("edit", {"path": "d/a.py", "old": "x", "new": ""}),
            *("Edit", {"file_path": "/w/d/a.py", "old_string": "x", "new_string": ""}),
        ),
        (Use("read", {"path": "/etc/x"}), "Read", {"file_path": "/etc/x"}),
        (Use("bash", {"command": "ls"}), "Bash", {"command": "ls"}),
    ],
)
def test_a_tool_is_named_as_claude_code_names_it(use, name, given_):
    of = call(system=" - Primary working directory: /w\n - Platform: linux")
    block = assembled(Turn(use=use), of)[0]
    assert (block["name"], block["input"]) == (name, given_)
    assert events(Turn(use=use), of)[-2][1]["delta"]["stop_reason"] == "tool_use"


def test_paths_begin_at_the_given_root_or_at_the_working_directory_that_is_told():
    turn = Turn(say=Say("I write."), use=Use("read", {"path": "a"}))
    assert assembled(turn, call(), "/r")[1]["input"] == {"file_path": "/r/a"}
    assert assembled(turn, call())[1]["input"] == {"file_path": "/a"}


def test_an_answer_without_streaming_is_the_same_message():
    turn = Turn(say=Say("hello", chunk=2), use=Use("bash", {"command": "ls"}))
    body = json.loads(wire.whole_message(turn, call(), "n1"))
    assert body["content"] == assembled(turn, call())
    assert (body["stop_reason"], body["role"]) == ("tool_use", "assistant")


@pytest.mark.parametrize(
    ("status", "kind"),
    [(529, "overloaded_error"), (401, "authentication_error"), (599, "api_error")],
)
def test_an_error_has_the_service_s_kind(status, kind):
    (turn,) = parse_scenario(f"turns: [{{error: {{status: {status}}}}}]", "s").turns
    assert wire.is_refused(turn)
    found, body = wire.refusal(turn)
    assert (found, json.loads(body)["error"]["type"]) == (status, kind)
    assert wire.headers(turn, NOW_S) == {}


def test_a_reached_limit_is_a_429_that_tells_when_it_ends():
    turn = Turn(limit=Limit("five_hour", 60))
    assert wire.is_refused(turn)
    assert wire.refusal(turn)[0] == 429
    prefix = "anthropic-ratelimit-unified"
    assert wire.headers(turn, NOW_S) == {
        f"{prefix}-status": "rejected",
        f"{prefix}-representative-claim": "five_hour",
        f"{prefix}-reset": str(NOW_S + 60),
        f"{prefix}-5h-status": "rejected",
        f"{prefix}-5h-reset": str(NOW_S + 60),
        f"{prefix}-5h-utilization": "1.0",
    }


def test_a_filling_window_is_a_good_answer_that_warns():
    turn = Turn(say=Say("x"), limit=Limit("seven_day", None, 0.93))
    assert not wire.is_refused(turn)
    found = wire.headers(turn, NOW_S)
    assert found["anthropic-ratelimit-unified-7d-status"] == "allowed_warning"
    assert found["anthropic-ratelimit-unified-7d-surpassed-threshold"] == "0.93"
    assert not any("reset" in name for name in found)


def test_a_window_the_service_has_no_short_name_for_is_told_by_its_claim_alone():
    found = wire.headers(Turn(limit=Limit("other")), NOW_S)
    assert set(found.values()) == {"rejected", "other"}
    assert not wire.headers(Turn(), NOW_S)
    assert Scenario().default.text == "ok"
