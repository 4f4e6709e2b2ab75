"""Turns of a scenario in the form of OpenAI's Responses API."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.testbench import openai_wire as wire
from amiral.testbench.anthropic_wire import Call
from amiral.testbench.scenario import Error, Limit, Say, Turn, Use

NOW_S = 1796052475
TOOLS = [{"type": "function", "name": "exec_command"}, {"type": "custom", "name": "apply_patch"}]
BY_SCRIPT = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [
        {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}
    ],
}


def message(text: str, role="user") -> dict:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def request(*items: dict, **more) -> bytes:
    return json.dumps({"model": "m", "input": [*items], "tools": TOOLS, **more}).encode()


def call(*items: dict, **more) -> Call:
    return wire.read_call(request(*(items or (message("hi"),)), **more))


def events(turn: Turn, of: Call, root: str = "") -> list[dict]:
    body = b"".join(piece.data for piece in wire.stream(turn, of, "n1", root)).decode()
    found = []
    for event in body.split("\n\n")[:-1]:
        kind, _, data = event.partition("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert kind == f"event: {found[-1]['type']}"
    return found


def items(turn: Turn, of: Call, root: str = "") -> list[dict]:
    return [
        event["item"] for event in events(turn, of, root) if event["type"].endswith("item.done")
    ]


def test_a_call_is_what_the_user_said_last_and_what_the_cli_told():
    found = call(
        message("be good", "developer"),
        message("# AGENTS.md instructions for /p\nread it"),
        message("<environment_context>here"),
        message("hello"),
        {"type": "message", "role": "assistant", "content": [{"text": "hm"}]},
        {"type": "function_call_output", "output": "x"},
        {"type": "reasoning", "content": None},
        instructions="base",
        stream=True,
    )
    assert (found.text, found.tools) == ("hello", ("exec_command", "apply_patch"))
    assert found.system.split("\n") == [
        *("base", "be good", "# AGENTS.md instructions for /p", "read it"),
        *("<environment_context>here", "hm"),
    ]
    assert found.is_main and found.is_stream and found.tokens > 0


def test_tools_may_come_in_the_input_and_a_summary_is_no_main_call():
    assert call(BY_SCRIPT, message("hi"), tools=[]).tools == ("exec",)
    about = json.dumps({"request_kind": "compaction"})
    summary = call(client_metadata={"x-codex-turn-metadata": about})
    assert not summary.is_main
    assert call(client_metadata={"x-codex-turn-metadata": "{}"}).is_main


@pytest.mark.parametrize("body", [b"", b"[]", b'{"model": "m"}', b"\xff", b"[" * 99999])
def test_what_is_no_request_is_told(body):
    with pytest.raises(Invalid, match="not a request of the Responses API"):
        wire.read_call(body)


def test_a_text_is_streamed_in_its_pieces():
    found = events(Turn(say=Say("hello", 2, 7)), call())
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    assert [one["type"].removeprefix("response.") for one in found] == [
        *("created", "output_item.added"),
        *["output_text.delta"] * 3,
        *("output_item.done", "completed"),
    ]
    assert "".join(one.get("delta", "") for one in found) == "hello"
    (item,) = found[-1]["response"]["output"]
    assert item["content"][0]["text"] == "hello"
    pieces = [piece.pause_ms for piece in wire.stream(Turn(say=Say("hello", 2, 7)), call(), "n")]
    assert pieces == [0, 0, 0, 7, 7, 0, 0]


@given(st.text(max_size=30), st.integers(0, 5))
def test_the_stream_and_the_whole_response_say_the_same(text, chunk):
    turn = Turn(say=Say(text, chunk))
    last = events(turn, call())[-1]["response"]
    assert last == json.loads(wire.whole_response(turn, call(), "n1"))
    assert last["usage"]["total_tokens"] > 0


@pytest.mark.parametrize(
    ("use", "name", "given"),
    [
        (Use("bash", {"command": "ls"}), "exec_command", {"cmd": "ls", "yield_time_ms": 30_000}),
        (Use("read", {"path": "a b"}), "exec_command", {"cmd": "cat '/r/a b'"}),
        (
            Use("write", {"path": "a", "text": "x\n\ny\n"}),
            "apply_patch",
            "*** Begin Patch\n*** Add File: /r/a\n+x\n+\n+y\n*** End Patch\n",
        ),
        (Use("write", {"path": "/b", "text": ""}), "apply_patch", "*** Add File: /b\n*** End"),
        (
            Use("edit", {"path": "a", "old": "x\ny", "new": "z"}),
            "apply_patch",
            "*** Update File: /r/a\n@@\n-x\n-y\n+z\n*** End Patch\n",
        ),
    ],
)
def test_tools_become_codex_own(use, name, given):
    (item,) = items(Turn(use=use), call(), "/r")
    assert (item["name"], item["id"], item["call_id"]) == (name, "item_n1", "call_n1")
    if name == "apply_patch":
        assert item["type"] == "custom_tool_call" and given in item["input"]
    else:
        assert item["type"] == "function_call"
        assert given.items() <= json.loads(item["arguments"]).items()


def test_where_only_a_script_can_call_them_a_script_does():
    offered = call(BY_SCRIPT, message("hi"), tools=[])
    (item,) = items(Turn(use=Use("bash", {"command": "ls"})), offered)
    assert (item["type"], item["name"]) == ("custom_tool_call", "exec")
    assert item["input"] == 'text(await tools.exec_command({"cmd":"ls","yield_time_ms":30000}));'
    (item,) = items(Turn(use=Use("write", {"path": "a", "text": "x"})), offered)
    assert item["input"].startswith('text(await tools.apply_patch("*** Begin Patch\\n')


def test_text_comes_before_the_tool():
    turn = Turn(say=Say("I begin."), use=Use("bash", {"command": "ls"}))
    assert [item["type"] for item in items(turn, call())] == ["message", "function_call"]


def test_a_limit_is_told_in_body_and_headers_as_the_service_does():
    turn = Turn(limit=Limit("five_hour", 3600))
    status, body = wire.refusal(turn, NOW_S)
    error = json.loads(body)["error"]
    assert (status, error["type"], error["resets_at"]) == (429, "usage_limit_reached", NOW_S + 3600)
    assert wire.headers(turn, NOW_S) == {
        "x-codex-primary-used-percent": "100.0",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(NOW_S + 3600),
    }


def test_a_warning_and_an_unknown_window_tell_what_is_known():
    warned = wire.headers(Turn(limit=Limit("seven_day", None, 0.93)), NOW_S)
    assert warned == {
        "x-codex-secondary-used-percent": "93.0",
        "x-codex-secondary-window-minutes": "10080",
    }
    assert set(wire.headers(Turn(limit=Limit("other", 5)), NOW_S)) == {
        "x-codex-primary-used-percent",
        "x-codex-primary-reset-at",
    }
    assert "resets_at" not in json.loads(wire.refusal(Turn(limit=Limit("x")), NOW_S)[1])["error"]
    assert wire.headers(Turn(say=Say("x")), NOW_S) == {}


@pytest.mark.parametrize(("status", "code"), [(503, "server_is_overloaded"), (403, None)])
def test_an_error_has_its_status_and_code(status, code):
    found, body = wire.refusal(Turn(error=Error(status)), NOW_S)
    assert (found, json.loads(body)["error"]["code"]) == (status, code)
