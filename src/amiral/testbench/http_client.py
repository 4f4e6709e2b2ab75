"""A client of the page and its API that speaks HTTP byte by byte, and reads events as a browser."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

PATIENCE_S = 20

Headers = Mapping[str, str | None]


@dataclass
class HttpAnswer:
    """One answer, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 whatever the document is
        """Read the body."""
        return json.loads(self.body)


@dataclass
class ServerEvent:
    """One server-sent event."""

    id: str
    type: str
    data: str

    @property
    def seq(self) -> int:
        """The number in its place."""
        return int(self.id.partition(":")[2])

    def json(self) -> Any:  # noqa: ANN401 as above
        """Read the data."""
        return json.loads(self.data)


@dataclass
class EventParser:
    """Reads server-sent events as the standard says; what a cut left half read is forgotten."""

    last_id: str = ""
    retry: str = ""
    pings: int = 0
    _lines: list[str] = field(default_factory=list)
    _rest: bytes = b""

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        """Give the events that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for raw in lines:
            line = raw.decode()
            if line:
                self._lines.append(line)
                continue
            event = self._block(self._lines)
            self._lines = []
            if event is not None:
                yield event

    def _block(self, lines: list[str]) -> ServerEvent | None:
        fields: dict[str, list[str]] = {}
        for line in lines:
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))
        self.pings += len(fields.get("", ()))
        self.last_id = fields.get("id", [self.last_id])[-1]
        self.retry = fields.get("retry", [self.retry])[-1]
        if "data" not in fields:
            return None
        kind = fields.get("event", ["message"])[-1]
        return ServerEvent(self.last_id, kind, "\n".join(fields["data"]))

    def cut(self) -> None:
        """Forget what is half read."""
        self._lines, self._rest = [], b""


class EventReader:
    """One connection to the stream; `events` gives what comes until the connection is cut."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, parser: EventParser
    ) -> None:
        self.reader, self.writer, self.parser = reader, writer, parser
        self.head = ""

    async def begin(self) -> Self:
        """Read the head of the answer."""
        self.head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        return self

    async def chunk(self) -> bytes:
        """Give the next chunk, empty at the end."""
        size = int(await self.reader.readline(), 16)
        data = await self.reader.readexactly(size)
        await self.reader.readline()
        return data

    async def events(self) -> AsyncIterator[ServerEvent]:
        """Give the events up to the end."""
        while data := await self.chunk():
            for event in self.parser.feed(data):
                yield event

    async def take(self, count: int) -> list[ServerEvent]:
        """Give the next so many events."""
        found: list[ServerEvent] = []
        async with asyncio.timeout(PATIENCE_S):
            async for event in self.events():
                found.append(event)
                if len(found) == count:
                    return found
        return found

    async def rest(self) -> list[ServerEvent]:
        """Give everything up to the end of the stream."""
        return [event async for event in self.events()]

    def cut(self) -> None:
        """End the connection without a word."""
        self.parser.cut()
        self.writer.transport.abort()


class HttpClient:
    """Speaks to one server: on loopback where its address says, and on its unix socket."""

    def __init__(self, new_url: Callable[[], str], path: Path) -> None:
        self._new_url, self.path = new_url, path
        self.cookie = ""
        self.links: list[asyncio.StreamWriter] = []

    @property
    def url(self) -> str:
        """A new address with a code."""
        return self._new_url()

    @property
    def host(self) -> str:
        """What a browser calls the server."""
        return self.url.removeprefix("http://").partition("/")[0]

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.host.rpartition(":")[2])

    @property
    def origin(self) -> str:
        """What its page calls itself."""
        return f"http://{self.host}"

    def write_headers(self, **more: str | None) -> dict[str, str | None]:
        """Give what a page of its own sends with a write; of `more`, None takes a header away."""
        return {
            "cookie": self.cookie,
            "origin": self.origin,
            "content-type": "application/json",
            **{name.replace("_", "-"): value for name, value in more.items()},
        }

    async def log_in(self) -> Self:
        """Exchange a code for a cookie."""
        answer = await self.ask("GET", self.url.partition(self.host)[2])
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    async def connect(
        self, *, unix: bool = False
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection."""
        if unix:
            reader, writer = await asyncio.open_unix_connection(self.path)
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.links.append(writer)
        return reader, writer

    async def hang_up(self) -> None:
        """End all connections, and let the loop forget them."""
        for link in self.links:
            link.transport.abort()
        for _ in range(5):
            await asyncio.sleep(0)

    async def send(
        self,
        method: str,
        path: str,
        headers: Headers | None = None,
        body: bytes = b"",
        *,
        unix: bool = False,
        close: bool = True,
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Send a request and read nothing."""
        lines: dict[str, str | None] = {"host": self.host, **(headers or {})}
        if close:
            lines["connection"] = "close"
        if body and "transfer-encoding" not in lines:
            lines["content-length"] = str(len(body))
        reader, writer = await self.connect(unix=unix)
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return reader, writer

    async def ask(
        self,
        method: str,
        path: str,
        headers: Headers | None = None,
        body: bytes = b"",
        *,
        unix: bool = False,
    ) -> HttpAnswer:
        """Send a request and read its answer to the end."""
        reader, writer = await self.send(method, path, headers, body, unix=unix)
        async with asyncio.timeout(PATIENCE_S):
            raw = await reader.read()
        writer.close()
        head, _, rest = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        found = {
            name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        return HttpAnswer(int(first.split()[1]), found, rest)

    async def get(self, path: str, **headers: str | None) -> HttpAnswer:
        """Ask as a browser that is in."""
        return await self.ask("GET", path, {"cookie": self.cookie, **headers})

    async def post(
        self, name: str, values: Mapping[str, object] | None = None, **headers: str | None
    ) -> HttpAnswer:
        """Carry a command out as a page that is in."""
        body = json.dumps({} if values is None else values).encode()
        return await self.ask("POST", f"/api/commands/{name}", self.write_headers(**headers), body)

    async def listen(
        self, parser: EventParser | None = None, path: str = "/api/stream", **headers: str | None
    ) -> EventReader:
        """Open the stream where a parser stands, as a browser does when it comes back."""
        parser = parser or EventParser()
        place = {"last-event-id": parser.last_id} if parser.last_id else {}
        reader, writer = await self.send(
            "GET", path, {"cookie": self.cookie, **place, **headers}, close=False
        )
        async with asyncio.timeout(PATIENCE_S):
            return await EventReader(reader, writer, parser).begin()
