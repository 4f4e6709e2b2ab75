"""A project served over HTTP, and clients that speak it byte by byte."""

import asyncio
import contextlib
import tempfile
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
from amiral.testbench.http_client import EventParser, HttpClient
from amiral.web.project import WebServer
from amiral.web.server import Site
from amiral.web.sessions import WEB_SESSIONS

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


class Served(HttpClient):
    """A project that is served, with what it was asked."""

    def __init__(self, journal, web, told, path):
        super().__init__(web.new_url, path)
        self.journal, self.web, self.told = journal, web, told

    @property
    def streams(self):
        return len(self.web._fanout._streams)


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
    return EventParser


@pytest.fixture
def hostile():
    return HOSTILE
