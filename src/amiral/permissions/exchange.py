"""One connection of a worker's proxy: judged, made, carried, and told once.

token? ── on the list? ── look up once ── public? ── connect ── TLS name? ── bytes
 407          403             502            403        502        alert
"""

import asyncio
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from amiral.base.errors import Broken, Denied
from amiral.base.plain import one_line
from amiral.permissions.client_hello import Hello, Unreadable, read_hello
from amiral.permissions.domains import Entry, Place, is_same_host, why_not
from amiral.permissions.outside import Outside
from amiral.permissions.proxy_request import (
    HEAD_END,
    Fetch,
    Head,
    Refused,
    Tunnel,
    read_head,
    read_request,
)
from amiral.permissions.relay import End, carry

_CHUNK = 1 << 14
_LONGEST_REASON = 200
_NO_TOKEN = 407
_TUNNEL_IS_OPEN: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
# The only answer that a client understands once its tunnel is open.
_TLS_ACCESS_DENIED: Final = bytes([21, 3, 3, 0, 2, 2, 49])


class Verdict(StrEnum):
    """What became of a connection; a failed one was allowed and could not be made."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True)
class Visit:
    """A connection that a worker asked for: `host` is "" and `port` 0 where none could be read."""

    host: str
    port: int
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Bounds:
    """What one worker can take of us; more connections than these wait unaccepted.

    `head_s` is for what a client says first, `linger_s` for a server whose client has ended,
    `part_s` for a client that has its answer.
    """

    connections: int = 128
    waiting: int = 128
    buffer_bytes: int = 1 << 15
    head_s: float = 30.0
    linger_s: float = 60.0
    part_s: float = 5.0


@dataclass(frozen=True)
class Terms:
    """On what a worker's connections are made; `log` hears of each."""

    allowed: Sequence[Entry]
    token: str
    outside: Outside
    bounds: Bounds
    log: Callable[[Visit], None]


class _Refusal(Exception):
    """Why there is no connection, in words for the program that asked."""

    def __init__(self, reason: str, status: int = 403, verdict: Verdict = Verdict.REFUSED) -> None:
        super().__init__(reason)
        self.reason, self.status, self.verdict = reason, status, verdict


class Exchange:
    """What one client asks for, from its first byte to the last."""

    def __init__(self, client: End, terms: Terms) -> None:
        self._client, self._terms, self._bounds = client, terms, terms.bounds
        self._place: Place | None = None

    async def run(self) -> None:
        """Serve the client to the end. Raises OSError when a side goes away before that."""
        try:
            request = self._judge(await self._head())
            upstream, reason = await self._reach(request.place)
        except _Refusal as refusal:
            await self._refuse(refusal, _reply(refusal))
            return
        try:
            await self._carry(upstream, request, reason)
        except _Refusal as refusal:
            await self._refuse(refusal, _TLS_ACCESS_DENIED)
        finally:
            upstream.drop()

    async def _head(self) -> Head:
        try:
            async with asyncio.timeout(self._bounds.head_s):
                data = await self._client.reader.readuntil(HEAD_END)
        except TimeoutError:
            raise _Refusal("no request came in time", 408) from None
        except asyncio.LimitOverrunError:
            raise _Refusal("the head of the request is too long", 431) from None
        except asyncio.IncompleteReadError:
            raise ConnectionResetError from None
        head = read_head(data)
        if isinstance(head, Refused):
            raise _Refusal(head.reason, head.status)
        return head

    def _judge(self, head: Head) -> Tunnel | Fetch:
        request = read_request(head)
        if not isinstance(request, Refused):
            self._place = request.place
        if not hmac.compare_digest(head.token, self._terms.token):
            raise _Refusal("the token of this worker's proxy is not shown", _NO_TOKEN)
        if isinstance(request, Refused):
            raise _Refusal(request.reason, request.status)
        if reason := why_not(self._terms.allowed, request.place):
            raise _Refusal(reason)
        return request

    async def _reach(self, place: Place) -> tuple[End, str]:
        outside, bounds = self._terms.outside, self._bounds
        try:
            address, end = await outside.reach(place, self._terms.allowed, bounds.buffer_bytes)
        except Denied as error:
            raise _Refusal(error.message) from None
        except Broken as error:
            raise _Refusal(error.message, 502, Verdict.FAILED) from None
        return end, f"at {address}"

    async def _carry(self, upstream: End, request: Tunnel | Fetch, reason: str) -> None:
        most: int | None = None
        match request:
            case Tunnel(place):
                await self._client.say(_TUNNEL_IS_OPEN)
                first = await self._first_bytes(place)
            case Fetch(_, first, body_bytes):
                most = body_bytes
        self._tell(Verdict.ALLOWED, reason)
        await upstream.say(first)
        await carry(self._client, upstream, most=most, linger_s=self._bounds.linger_s)

    async def _first_bytes(self, place: Place) -> bytes:
        """Wait for what a tunnel begins with, and let it be no other server than was asked for."""
        data = b""
        try:
            async with asyncio.timeout(self._bounds.head_s):
                while (hello := read_hello(data)) is None:
                    data += await self._more()
        except TimeoutError:
            hello = Unreadable("nothing came in time")
        match hello:
            case Unreadable(reason):
                raise _Refusal(f"a tunnel carries TLS only: {reason}")
            case Hello(name) if not _is_for(name, place):
                asked = one_line(name) or "no server"
                raise _Refusal(f"TLS asks for {asked} in a tunnel to {place.host}")
            case Hello():
                return data

    async def _more(self) -> bytes:
        data = await self._client.reader.read(_CHUNK)
        if not data:
            raise _Refusal("a tunnel carries TLS only: the client left before it began")
        return data

    async def _refuse(self, refusal: _Refusal, answer: bytes) -> None:
        self._tell(refusal.verdict, refusal.reason)
        async with asyncio.timeout(self._bounds.head_s):
            await self._client.say(answer)

    def _tell(self, verdict: Verdict, reason: str) -> None:
        host, port = ("", 0) if self._place is None else (str(self._place.host), self._place.port)
        self._terms.log(Visit(host, port, verdict, reason))


def _is_for(name: str, place: Place) -> bool:
    """Tell whether this is the server's name; who goes to an address may name none."""
    return is_same_host(name, place.host) or not (name or isinstance(place.host, str))


def _reply(refusal: _Refusal) -> bytes:
    """Write an answer with its reason in the first line too: many programs show that one alone."""
    reason = one_line(refusal.reason, _LONGEST_REASON).encode("ascii", "replace").decode()
    body = f"amiral: {reason}\n"
    lines = [
        f"HTTP/1.1 {refusal.status} {reason}",
        *(['Proxy-Authenticate: Basic realm="amiral"'] if refusal.status == _NO_TOKEN else []),
        "Content-Type: text/plain",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode("ascii")
