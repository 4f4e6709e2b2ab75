"""A model that plays a scenario over HTTP: `python -m amiral.testbench.model_server FILE --port N`.

Claude Code talks to it through ANTHROPIC_BASE_URL, Codex through the `base_url` (`/v1`) of a model
provider. The turns are taken in order by all that call it, one for each main call. `GET /calls`
tells what was asked so far. A limit has the form of a subscription: Claude Code understands it when
it is logged in by CLAUDE_CODE_OAUTH_TOKEN; with an API key it tries again by itself.
"""

import argparse
import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Self

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from amiral.base.clock import MS_PER_S, Clock, SystemClock
from amiral.base.errors import AmiralError, Broken, Invalid
from amiral.base.ids import new_id
from amiral.testbench import anthropic_wire as wire
from amiral.testbench import openai_wire
from amiral.testbench.anthropic_wire import Call
from amiral.testbench.scenario import Say, Scenario, Turn
from amiral.testbench.scenario_yaml import parse_scenario

_SIDE_TEXT = '{"title": "Scripted"}'


class _Http(uvicorn.Server):
    """Leaves signals to the program it runs in, and tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ModelServer:
    """Serves one scenario on the loopback. `root` makes paths of tools absolute.

    Without `root` they begin at the working directory that the CLI tells the model. `port` 0 is
    any free one. Raises Invalid for a scenario that a model cannot play.
    """

    def __init__(
        self, scenario: Scenario, *, port: int = 0, root: str = "", clock: Clock | None = None
    ) -> None:
        wire.check_playable(scenario)
        self.calls: list[Call] = []
        self._scenario = scenario
        self._used: tuple[int, ...] = ()
        self._port = port
        self._root = root
        self._clock = clock or SystemClock()
        self._http: _Http | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where it listens, for ANTHROPIC_BASE_URL."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def main_calls(self) -> list[Call]:
        """The calls that carried on the scenario."""
        return [call for call in self.calls if call.is_main]

    @property
    def unused(self) -> list[Turn]:
        """The turns nobody has taken yet."""
        turns = enumerate(self._scenario.turns)
        return [turn for number, turn in turns if number not in self._used]

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen. Raises Broken when the port is taken."""
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", self._port))
        except OSError as error:
            listening.close()
            raise Broken(f"port {self._port}: {error.strerror}", "Choose another one.") from error
        self._port = listening.getsockname()[1]
        config = uvicorn.Config(
            self._app(),
            log_config=None,
            log_level="critical",
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=0,
        )
        self._http = _Http(config)
        self._serving = asyncio.create_task(self._http.serve(sockets=[listening]))
        await self._http.is_up.wait()

    async def stop(self) -> None:
        """Stop listening and drop what is being answered; harmless when stopped."""
        if self._http is None or self._serving is None:
            return
        self._http.should_exit = True
        await self._serving
        self._http = self._serving = None

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/messages", self._answer, methods=["POST"]),
                Route("/v1/messages/count_tokens", self._count, methods=["POST"]),
                Route("/v1/responses", self._respond, methods=["POST"]),
                Route("/v1/responses", self._refuse_websocket),
                Route("/calls", self._tell_calls),
            ]
        )

    async def _answer(self, request: Request) -> Response:
        try:
            call = wire.read_call(await request.body())
        except Invalid as error:
            wrong = {"type": "invalid_request_error", "message": error.message}
            return JSONResponse({"type": "error", "error": wrong}, 400)
        turn = await self._take_turn(call)
        headers = wire.headers(turn, self._clock.now_ms() // MS_PER_S)
        if wire.is_refused(turn):
            status, body = wire.refusal(turn)
            return Response(body, status, headers, "application/json")
        name = new_id()
        if not call.is_stream:
            body = wire.whole_message(turn, call, name, self._root)
            return Response(body, 200, headers, "application/json")
        pieces = self._paced(wire.stream(turn, call, name, self._root))
        return StreamingResponse(pieces, 200, headers, "text/event-stream")

    async def _respond(self, request: Request) -> Response:
        try:
            call = openai_wire.read_call(await request.body())
        except Invalid as error:
            return JSONResponse({"error": {"message": error.message}}, 400)
        turn = await self._take_turn(call)
        now_s = self._clock.now_ms() // MS_PER_S
        headers = openai_wire.headers(turn, now_s)
        if wire.is_refused(turn):
            status, body = openai_wire.refusal(turn, now_s)
            return Response(body, status, headers, "application/json")
        name = new_id()
        if not call.is_stream:
            body = openai_wire.whole_response(turn, call, name, self._root)
            return Response(body, 200, headers, "application/json")
        pieces = self._paced(openai_wire.stream(turn, call, name, self._root))
        return StreamingResponse(pieces, 200, headers, "text/event-stream")

    async def _refuse_websocket(self, _request: Request) -> Response:
        """Codex tries a WebSocket first; at this answer it falls back to HTTP at once."""
        return Response(status_code=426)

    async def _count(self, request: Request) -> Response:
        return JSONResponse({"input_tokens": len(await request.body()) // 4})

    async def _tell_calls(self, _request: Request) -> Response:
        return Response(msgspec.json.encode(self.calls), media_type="application/json")

    async def _take_turn(self, call: Call) -> Turn:
        self.calls.append(call)
        turn = Turn(say=Say(_SIDE_TEXT))
        if call.is_main:
            turn, self._used = self._scenario.next_turn(call.text, self._used)
        if turn.hang is not None:
            await self._clock.sleep(turn.hang.seconds)
        return turn

    async def _paced(self, pieces: Iterator[wire.Piece]) -> AsyncIterator[bytes]:
        for piece in pieces:
            if piece.pause_ms:
                await self._clock.sleep(piece.pause_ms / MS_PER_S)
            yield piece.data


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; the address is the first line on stdout."""
    parser = argparse.ArgumentParser(prog="model_server", allow_abbrev=False)
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--root", default="", help="folder of the paths of tools")
    options = parser.parse_args(argv)
    try:
        text = options.scenario.read_text(encoding="utf-8")
        scenario = parse_scenario(text, options.scenario.name)
        asyncio.run(_serve(ModelServer(scenario, port=options.port, root=options.root)))
    except (AmiralError, OSError, UnicodeDecodeError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


async def _serve(server: ModelServer) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with server:
        print(server.url, flush=True)
        await ended.wait()


if __name__ == "__main__":
    sys.exit(main())
