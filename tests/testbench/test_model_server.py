"""The scripted model over HTTP, as a program and inside one."""

import asyncio
import http.client
import json
import signal
import subprocess
import sys
import time

import pytest

from amiral.base.errors import Broken, Invalid
from amiral.testbench.fake_clock import FakeClock
from amiral.testbench.model_server import ModelServer, main
from amiral.testbench.scenario_yaml import parse_scenario

TOOLS = [{"name": "Read"}]


def server(text: str, **more) -> ModelServer:
    return ModelServer(parse_scenario(text, "s.yaml"), **more)


def send(url: str, path: str, body: bytes | None):
    """Send one request: status, headers, body."""
    link = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    try:
        link.request("GET" if body is None else "POST", path, body)
        answer = link.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        link.close()


async def post(running: ModelServer, text: str = "hi", path="/v1/messages", **more):
    fields = {"model": "m", "messages": [{"role": "user", "content": text}], "tools": TOOLS}
    body = json.dumps({**fields, **more}).encode()
    return await asyncio.to_thread(send, running.url, path, body)


def said(answer) -> str:
    return str(json.loads(answer[2])["content"][0]["text"])


async def test_turns_are_taken_in_order_then_the_default():
    async with server("turns: [{say: one}, {say: two}]") as running:
        assert [said(await post(running)) for _ in range(3)] == ["one", "two", "ok"]
        assert [turn.text for turn in running.unused] == []


async def test_a_turn_may_wait_for_its_text():
    async with server("turns: [{match: cache, say: a}, {say: b}]") as running:
        assert said(await post(running, "hello")) == "b"
        assert [turn.match for turn in running.unused] == ["cache"]
        assert said(await post(running, "the cache")) == "a"


async def test_side_calls_take_no_turn_and_all_calls_are_kept_without_secrets():
    async with server("turns: [{say: one}]") as running:
        await post(running, "a title please", tools=[])
        assert said(await post(running)) == "one"
        assert [call.is_main for call in running.calls] == [False, True]
        assert [call.text for call in running.main_calls] == ["hi"]
        status, _, body = await asyncio.to_thread(send, running.url, "/calls", None)
    assert status == 200
    assert [call["text"] for call in json.loads(body)] == ["a title please", "hi"]


async def test_a_stream_is_an_event_stream():
    async with server("turns: [{say: hello, chunk: 2, pause_ms: 1}]") as running:
        status, headers, body = await post(running, stream=True)
    assert (status, headers["content-type"].split(";")[0]) == (200, "text/event-stream")
    assert body.count(b"text_delta") == 3 and body.endswith(b'{"type":"message_stop"}\n\n')


async def test_errors_and_limits_are_answered_as_the_service_does():
    clock = FakeClock(1796052475_000)
    text = "turns: [{error: {status: 529, times: 2}}, {limit: {window: five_hour, resets_in_s: 9}}]"
    async with server(text, clock=clock) as running:
        answers = [await post(running) for _ in range(3)]
    assert [status for status, _, _ in answers] == [529, 529, 429]
    assert answers[2][1]["anthropic-ratelimit-unified-reset"] == "1796052484"


async def test_tokens_are_counted_and_what_is_no_request_is_an_error():
    async with server("default: {say: x}") as running:
        status, _, body = await post(running, path="/v1/messages/count_tokens")
        assert status == 200 and json.loads(body)["input_tokens"] > 0
        wrong = await asyncio.to_thread(send, running.url, "/v1/messages", b"{}")
        assert wrong[0] == 400 and json.loads(wrong[2])["error"]["type"] == "invalid_request_error"
        assert (await asyncio.to_thread(send, running.url, "/v1/other", b"{}"))[0] == 404
        assert running.calls == []


async def test_a_hanging_turn_does_not_keep_it_from_stopping():
    async with server("turns: [{hang: 600, say: late}]") as running:
        waiting = asyncio.create_task(post(running))
        while not running.calls:
            await asyncio.sleep(0.01)
        began = time.monotonic()
        await running.stop()
        assert time.monotonic() - began < 5
        answer: object = (await asyncio.gather(waiting, return_exceptions=True))[0]
        assert isinstance(answer, Exception) or (isinstance(answer, tuple) and answer[0] == 500)
        await running.stop()


async def test_a_port_that_is_taken_is_told():
    async with server("default: {say: x}") as running:
        port = int(running.url.rpartition(":")[2])
        with pytest.raises(Broken, match=f"port {port}"):
            await server("default: {say: x}", port=port).start()


def test_a_scenario_it_cannot_play_is_refused_at_once():
    with pytest.raises(Invalid, match="turn 1"):
        server("turns: [{ask: {worker: w, text: x}}]")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_as_a_program_it_tells_its_address_and_ends_on_a_signal(tmp_path, end):
    path = tmp_path / "s.yaml"
    path.write_text("turns: [{use: {tool: read, args: {path: a}}}]")
    command = [sys.executable, "-m", "amiral.testbench.model_server", str(path), "--root=/r"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            url = program.stdout.readline().strip()
            fields = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": TOOLS}
            _, _, body = send(url, "/v1/messages", json.dumps(fields).encode())
            program.send_signal(end)
            assert program.wait(timeout=20) == 0
        finally:
            program.kill()
    assert json.loads(body)["content"][0]["input"] == {"file_path": "/r/a"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"turn: []", "s.yaml:1: scenario: unknown key"),
        (b"turns: [{raw: {bytes: x}}]", "turn 1: a scripted model does not do raw"),
        (b"\xff", "can't decode"),
    ],
)
def test_a_mistake_in_the_scenario_is_told_without_a_traceback(tmp_path, capsys, content, message):
    path = tmp_path / "s.yaml"
    path.write_bytes(content)
    assert main([str(path)]) == 1
    assert message in capsys.readouterr().err


def test_a_missing_scenario_is_told(tmp_path, capsys):
    assert main([str(tmp_path / "none.yaml")]) == 1
    assert "No such file" in capsys.readouterr().err


async def respond(running: ModelServer, text: str = "hi", **more):
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    fields = {"model": "m", "input": [item], "tools": [{"type": "function", "name": "x"}]}
    body = json.dumps({**fields, **more}).encode()
    return await asyncio.to_thread(send, running.url, "/v1/responses", body)


async def test_codex_takes_turns_of_the_same_scenario():
    async with server("turns: [{say: one}, {say: two, chunk: 2}]") as running:
        whole = await respond(running)
        assert json.loads(whole[2])["output"][0]["content"][0]["text"] == "one"
        status, headers, body = await respond(running, stream=True)
        assert (status, headers["content-type"].split(";")[0]) == (200, "text/event-stream")
        assert body.count(b"output_text.delta") == 4, "two pieces, each named and typed"
        assert said(await post(running)) == "ok"
        assert [call.text for call in running.main_calls] == ["hi", "hi", "hi"]
        wrong = await asyncio.to_thread(send, running.url, "/v1/responses", b"{}")
        assert wrong[0] == 400 and "Responses API" in json.loads(wrong[2])["error"]["message"]


async def test_codex_is_told_limits_and_errors_and_that_there_is_no_websocket():
    clock = FakeClock(1796052475_000)
    text = "turns: [{error: {status: 503}}, {limit: {window: five_hour, resets_in_s: 9}}]"
    async with server(text, clock=clock) as running:
        answers = [await respond(running) for _ in range(2)]
        websocket = await asyncio.to_thread(send, running.url, "/v1/responses", None)
    assert [status for status, _, _ in answers] == [503, 429]
    assert answers[1][1]["x-codex-primary-reset-at"] == "1796052484"
    assert websocket[0] == 426
