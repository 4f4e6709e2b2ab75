"""One HTTP exchange with a project's process over its unix socket, streamed both ways.

What is not read here waits in the process that sends it: between the two lies no more than the
buffers of one connection.
"""

import asyncio
import contextlib
import os
import socket
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import h11

from amiral.base.errors import AmiralError

IsOurs = Callable[[socket.socket], bool]
Headers = Sequence[tuple[bytes, bytes]]

_PIECE_BYTES = 64 << 10
_LONGEST_HEAD = 64 << 10
_STATUSES = frozenset(map(int, HTTPStatus))


class Unreachable(AmiralError):
    """The process of a project does not answer, or no longer."""

    kind = "unreachable"
    exit_code = 3


@dataclass(frozen=True)
class Way:
    """A socket of ours: its path, the folder it must lie in, and who may listen at it."""

    path: Path
    folder: Path
    is_ours: IsOurs


@dataclass(frozen=True)
class Head:
    """How an answer begins; the names of headers are in lower case."""

    status: int
    headers: Headers


class Upstream:
    """One request and its answer; whoever connects hangs up. All raise Unreachable."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Use `connect`."""
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT, _LONGEST_HEAD)
        self._is_over = False

    @classmethod
    async def connect(cls, way: Way) -> "Upstream":
        """Connect where our own user listens, nothing below a worker, and nowhere else."""
        with _telling():
            _check(way)
            reader, writer = await asyncio.open_unix_connection(way.path, limit=_PIECE_BYTES)
        link = cls(reader, writer)
        if not way.is_ours(writer.get_extra_info("socket")):
            link.hang_up()
            raise Unreachable(f"{way.path.name} is served by somebody else", "amiral doctor")
        return link

    async def ask(self, method: str, target: bytes, headers: Headers) -> None:
        """Send the head of a request; `headers` say how its body comes, if there is one."""
        sent = [(b"host", b"amiral"), (b"connection", b"close"), *headers]
        with _telling():
            await self._send(h11.Request(method=method, target=target, headers=sent))

    async def write(self, data: bytes) -> None:
        """Send a part of the body, at the pace at which it is read."""
        if data:
            with _telling():
                await self._send(h11.Data(data))

    async def end(self) -> None:
        """Say that the body is complete."""
        if not self._is_over:
            self._is_over = True
            with _telling():
                await self._send(h11.EndOfMessage())

    async def head(self) -> Head:
        """Wait for the head of the answer; may be called again when it was cancelled."""
        event = await self._next()
        while isinstance(event, h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, h11.Response) or event.status_code not in _STATUSES:
            raise Unreachable("that is no answer of ours")
        return Head(event.status_code, [(bytes(name), value) for name, value in event.headers])

    async def piece(self) -> bytes:
        """Wait for the next part of the answer, empty at its end; may be cancelled as `head`."""
        event = await self._next()
        return bytes(event.data) if isinstance(event, h11.Data) else b""

    def hang_up(self) -> None:
        """Break the connection: what the other side still does for it can end."""
        self._writer.transport.abort()

    async def _send(self, event: h11.Event) -> None:
        self._writer.write(self._http.send(event) or b"")
        await self._writer.drain()

    async def _next(self) -> h11.Event:
        with _telling():
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_PIECE_BYTES))
            if not isinstance(event, h11.Event):
                raise Unreachable("that is no answer of ours")
            return event


def _check(way: Way) -> None:
    """Raise OSError or Unreachable unless a socket of our user lies right in the folder."""
    found = way.path.lstat()
    is_ours = stat.S_ISSOCK(found.st_mode) and found.st_uid == os.getuid()
    if not is_ours or way.path.parent.resolve() != way.folder.resolve():
        raise Unreachable(f"{way.path.name} is no socket of ours", "amiral doctor")


@contextlib.contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unreachable(error.strerror or "it hung up") from error
    except h11.ProtocolError as error:
        raise Unreachable(f"it hung up, or speaks no HTTP: {error}") from error
