"""Hands a request on to a project's process and its answer back, neither of them kept here."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from amiral.base.errors import AmiralError
from amiral.hub.index import render_down
from amiral.hub.upstream import Headers, Unreachable, Upstream, Way
from amiral.web.answers import complain

T = TypeVar("T")

PATIENCE_S: Final = 10.0

_ALIVE = b"/api/child/health"
_ASKED: Final = (b"accept", b"content-type", b"last-event-id")
_ANSWERED: Final = (b"allow", b"content-length", b"content-type")
_STREAMED: Final = (b"transfer-encoding", b"chunked")


@dataclass(frozen=True)
class Errand:
    """What is asked of which project: `target` is the path and query there, as it was sent."""

    project: str
    way: Way
    target: bytes


class Relay:
    """All errands under way.

    Of a request only what a project's process reads is handed on, of an answer only what describes
    its body: neither who asked, nor from where, nor a cookie passes.
    """

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._links: set[Upstream] = set()

    def response(self, errand: Errand) -> Response:
        """Give the response that runs the errand when it is sent."""
        return _Relayed(self, errand)

    def close(self) -> None:
        """Hang up on everybody; what the processes have accepted they carry out."""
        for link in self._links:
            link.hang_up()

    @contextlib.asynccontextmanager
    async def linked(self, way: Way) -> AsyncIterator[Upstream]:
        """Connect for the time of the body; raises Unreachable."""
        try:
            async with asyncio.timeout(self._patience_s):
                link = await Upstream.connect(way)
        except TimeoutError as error:
            raise Unreachable("it does not take connections") from error
        self._links.add(link)
        try:
            yield link
        finally:
            self._links.discard(link)
            link.hang_up()

    async def patiently(self, way: Way, step: Callable[[], Awaitable[T]]) -> T:
        """Wait for a step as long as the process lives: it may well have nothing to say.

        A turn lasts hours; a process that hangs does not even say how it is.
        """
        while True:
            try:
                async with asyncio.timeout(self._patience_s):
                    return await step()
            except TimeoutError:
                await self._check_alive(way)

    async def _check_alive(self, way: Way) -> None:
        async with self.linked(way) as link:
            try:
                async with asyncio.timeout(self._patience_s):
                    await link.ask("GET", _ALIVE, [])
                    await link.end()
                    await link.head()
            except TimeoutError as error:
                raise Unreachable("it is there and hangs", "amiral watchdog") from error


class _Relayed(Response):
    def __init__(self, relay: Relay, errand: Errand) -> None:
        super().__init__()
        self._relay, self._errand = relay, errand
        self._has_begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until one of the two ends it.

        An answer that breaks off is left unfinished: the server hangs up, and the client sees that
        something is missing.
        """
        try:
            await self._run(scope, receive, send)
        except AmiralError as error:
            if not self._has_begun:
                told = _explained(self._errand.project, error)
                await _complaint(Request(scope), told)(scope, receive, send)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        relay, way = self._relay, self._errand.way
        async with relay.linked(way) as link:
            await link.ask(scope["method"], self._errand.target, _asked(scope["headers"]))
            pump = asyncio.create_task(_pump(receive, link))
            try:
                head = await relay.patiently(way, link.head)
                self._has_begun = True
                await send(_start(head.status, head.headers))
                while data := await relay.patiently(way, link.piece):
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                pump.cancel()


async def _pump(receive: Receive, link: Upstream) -> None:
    """Hand the body on, and hang up when the client does.

    A process that answers before it has read everything is given no more of it.
    """
    while (message := await receive())["type"] != "http.disconnect":
        with contextlib.suppress(Unreachable):
            await link.write(message.get("body", b""))
            if not message.get("more_body", False):
                await link.end()
    link.hang_up()


def _asked(headers: Headers) -> Headers:
    """Choose what is handed on; how the body comes is said anew, once."""
    chosen = [(name, value) for name, value in headers if name in _ASKED]
    found = dict(headers)
    if b"transfer-encoding" in found:
        return [*chosen, _STREAMED]
    length = found.get(b"content-length")
    return chosen if length is None else [*chosen, (b"content-length", length)]


def _start(status: int, headers: Headers) -> dict[str, object]:
    chosen = [(name, value) for name, value in headers if name in _ANSWERED]
    return {"type": "http.response.start", "status": status, "headers": chosen}


def _complaint(request: Request, told: Unreachable) -> Response:
    """Say it as JSON; where a person opened a page, as a page."""
    answer = complain(request, told)
    if request.scope["path"].endswith("/") and "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(render_down(told.message, told.next_step), answer.status_code)
    return answer


def _explained(project: str, error: AmiralError) -> Unreachable:
    next_step = error.next_step or "`amiral watchdog` says what is done about it"
    return Unreachable(f"the process of {project} does not answer: {error.message}", next_step)
