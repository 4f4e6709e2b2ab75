"""A project served over HTTP, and clients that speak it byte by byte."""

import asyncio
import contextlib
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from amiral.base.clock import SystemClock
from amiral.base.errors import Broken, Conflict, Denied, Invalid, NotFound
from amiral.base.settings import Hub
from amiral.commands.page import PageCommands
from amiral.commands.registry import Caller, Commands, Reply, Role, command
from amiral.commands.table import TABLE
from amiral.store.journal import Journal
from amiral.web.server import Site, WebServer
from amiral.web.sessions import WEB_SESSIONS

PATIENCE_S = 20
HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J\u202egpj.exe"

FAULTS = {
    "nothing": NotFound("no message nothing", "see status"),
    "mine": Denied("not yours"),
    "late": Conflict("it has ended", "nothing to do"),
    "odd": Invalid("an odd id"),
    "disk": Broken("the disk is full", "free some"),
    "bug": RuntimeError("of ours"),
}


class Told:
    """Stands for the capabilities: answers some rows of the real table and keeps who asked what."""

    def __init__(self):
        self.calls: list[tuple[Caller, str, dict[str, Any]]] = []
        self.release = asyncio.Event()

    def note(self, caller, name, **arguments):
        self.calls.append((caller, name, arguments))

    @command("status")
    async def status(self, caller):
        self.note(caller, "status")
        return Reply("shop · pid 1", {"projects": [{"name": HOSTILE}]})

    @command("workers show")
    async def worker(self, caller, id):  # noqa: A002 the table's name
        self.note(caller, "workers show", id=id)
        return Reply(id, {"id": id})

    @command("say")
    async def say(self, caller, text, as_="", wait=3600.0, reply_to=""):
        self.note(caller, "say", text=text, wait=wait)
        if wait:
            async with asyncio.timeout(wait):
                await self.release.wait()
        return Reply(f"⏳ {text}", {"accepted": True})

    @command("cancel")
    async def cancel(self, caller, id):  # noqa: A002 as above
        self.note(caller, "cancel", id=id)
        raise FAULTS[id]

    @command("help")
    async def help(self, caller, command=""):
        return Reply("only text")

    @command("emergency-stop")
    async def stop(self, caller, scope="", level=3):
        self.note(caller, "emergency-stop", scope=scope, level=level)
        return Reply("stopped", {"stop_id": "7f"})

    @command("release")
    async def lift(self, caller, stop_id):
        self.note(caller, "release", stop_id=stop_id)
        return Reply("released", {"stop_id": stop_id})

    @command("events")
    async def events(self, caller, *, follow=False, since=0):
        return Reply(items=self.items(follow))

    async def items(self, follow):
        yield Reply("one", {"seq": 1})
        if follow:
            raise Broken("the journal is gone")


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self):
        return json.loads(self.body)


@dataclass
class Event:
    id: str
    type: str
    data: str

    @property
    def seq(self):
        return int(self.id.partition(":")[2])

    def json(self):
        return json.loads(self.data)


@dataclass
class Parser:
    """Reads server-sent events as the standard says; what a cut left half read is forgotten."""

    last_id: str = ""
    retry: str = ""
    pings: int = 0
    _lines: list[str] = field(default_factory=list)
    _rest: bytes = b""

    def feed(self, data: bytes):
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

    def _block(self, lines):
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
        return Event(self.last_id, kind, "\n".join(fields["data"]))

    def cut(self):
        self._lines, self._rest = [], b""


class Reader:
    """One connection to the stream; `events` gives what comes until the connection is cut."""

    def __init__(self, reader, writer, parser):
        self.reader, self.writer, self.parser = reader, writer, parser
        self.head = ""

    async def begin(self):
        self.head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        return self

    async def chunk(self):
        size = int(await self.reader.readline(), 16)
        data = await self.reader.readexactly(size)
        await self.reader.readline()
        return data

    async def events(self):
        while data := await self.chunk():
            for event in self.parser.feed(data):
                yield event

    async def take(self, count):
        """Give the next so many events."""
        found: list[Event] = []
        async with asyncio.timeout(PATIENCE_S):
            async for event in self.events():
                found.append(event)
                if len(found) == count:
                    return found
        return found

    async def rest(self):
        """Give everything up to the end of the stream."""
        return [event async for event in self.events()]

    def cut(self):
        self.parser.cut()
        self.writer.transport.abort()


@dataclass
class Served:
    journal: Journal
    web: WebServer
    told: Told
    path: Path
    cookie: str = ""
    links: list[asyncio.StreamWriter] = field(default_factory=list)

    @property
    def streams(self):
        return len(self.web._fanout._streams)

    @property
    def url(self):
        return self.web.new_url()

    @property
    def host(self):
        return self.url.removeprefix("http://").partition("/")[0]

    @property
    def port(self):
        return int(self.host.rpartition(":")[2])

    @property
    def origin(self):
        return f"http://{self.host}"

    def write_headers(self, **more):
        return {
            "cookie": self.cookie,
            "origin": self.origin,
            "content-type": "application/json",
            **{name.replace("_", "-"): value for name, value in more.items()},
        }

    async def log_in(self):
        answer = await self.ask("GET", self.url.partition(self.host)[2])
        assert answer.status == 303
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    async def connect(self, *, unix=False):
        opening = asyncio.open_unix_connection(self.path)
        if not unix:
            opening.close()
            opening = asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = await opening
        self.links.append(writer)
        return reader, writer

    async def hang_up(self):
        """End all connections of clients, and let the loop forget them."""
        for link in self.links:
            link.transport.abort()
        for _ in range(5):
            await asyncio.sleep(0)

    async def send(self, method, path, headers=None, body=b"", *, unix=False, close=True):
        lines = {"host": self.host, **(headers or {})}
        if close:
            lines["connection"] = "close"
        if body and "transfer-encoding" not in lines:
            lines["content-length"] = str(len(body))
        reader, writer = await self.connect(unix=unix)
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return reader, writer

    async def ask(self, method, path, headers=None, body=b"", *, unix=False):
        reader, writer = await self.send(method, path, headers, body, unix=unix)
        async with asyncio.timeout(PATIENCE_S):
            raw = await reader.read()
        writer.close()
        head, _, rest = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        found = {
            name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        return Answer(int(first.split()[1]), found, rest)

    async def get(self, path, **headers):
        return await self.ask("GET", path, {"cookie": self.cookie, **headers})

    async def post(self, name, values=None, **headers):
        body = json.dumps(values if values is not None else {}).encode()
        return await self.ask("POST", f"/api/commands/{name}", self.write_headers(**headers), body)

    async def listen(self, parser=None, path="/api/stream", **headers):
        """Open the stream where a parser stands, as a browser does when it comes back."""
        parser = parser or Parser()
        place = {"last-event-id": parser.last_id} if parser.last_id else {}
        reader, writer = await self.send(
            "GET", path, {"cookie": self.cookie, **place, **headers}, close=False
        )
        async with asyncio.timeout(PATIENCE_S):
            return await Reader(reader, writer, parser).begin()


@pytest.fixture
def short_path():
    """A folder whose sockets have names the kernel takes."""
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        yield Path(folder)


@contextlib.asynccontextmanager
async def serve(folder, clock=None, **options):
    """Serve the journal in `folder`; a second time it is the same journal after a restart."""
    clock = clock or SystemClock()
    role_of = options.pop("role_of", lambda _: Role.OWNER)
    defaults = {"title": "shop", "hub": Hub(port=0), "is_exact": True, "is_read_only": False}
    site = Site(**{**defaults, "socket_path": folder / "s.http.sock", **options})
    journal = await Journal.open(folder / "journal.db", clock, [WEB_SESSIONS])
    told = Told()

    def new_url():
        return one.web.new_url()

    commands = Commands(TABLE, told, PageCommands(new_url))
    web = WebServer(commands, journal, clock, role_of, site)
    one = Served(journal, web, told, site.socket_path)
    await web.start()
    try:
        yield one
    finally:
        await web.close()
        await journal.close()
        await one.hang_up()


@pytest.fixture
def serving():
    return serve


@pytest.fixture
async def served(short_path):
    async with serve(short_path) as one:
        yield await one.log_in()


@pytest.fixture(scope="session")
def parser():
    return Parser


@pytest.fixture
def hostile():
    return HOSTILE
