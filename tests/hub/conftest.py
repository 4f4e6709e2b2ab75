"""A hub's gateway, projects served behind it, and sockets that answer byte by byte."""

import asyncio
import contextlib
import tempfile
from pathlib import Path

import pytest

from amiral.base.clock import SystemClock
from amiral.base.settings import Hub
from amiral.commands.registry import Commands, Reply, Role, command
from amiral.commands.table import TABLE
from amiral.hub.gateway import Gateway, Served
from amiral.store.journal import Journal
from amiral.testbench.http_client import HttpClient
from amiral.web.project import WebServer
from amiral.web.server import Site
from amiral.web.sessions import WEB_SESSIONS

PATIENCE_S = 20
HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J\u202egpj.exe"


def owner(_connection):
    return Role.OWNER


class Told:
    """Stands for what a process can do: answers some rows of the table and keeps what was asked."""

    def __init__(self, name):
        self.name = name
        self.calls = []
        self.release = asyncio.Event()

    @command("status")
    async def status(self, caller):
        self.calls.append((caller.role, "status"))
        return Reply(f"{self.name} is well", {"name": self.name})

    @command("health")
    async def health(self, caller):
        return Reply("well", {"ok": True, "name": self.name})

    @command("say")
    async def say(self, caller, text, as_="", wait=3600.0, reply_to=""):
        self.calls.append((caller.role, "say", text))
        if wait:
            await self.release.wait()
        return Reply("said", {"said": text})

    @command("help")
    async def help(self, caller, command=""):
        return Reply("only text")

    @command("emergency-stop")
    async def emergency_stop(self, caller, scope="", level=3):
        self.calls.append((caller.role, "emergency-stop", scope, level))
        return Reply("stopped", {"stopped_by": self.name})

    @command("events")
    async def events(self, caller, *, follow=False, since=0):
        return Reply()


class Child:
    """A project's process, as far as it is served."""

    def __init__(self, web, journal, told, path):
        self.web, self.journal, self.told, self.path = web, journal, told, path

    @property
    def streams(self):
        return len(self.web._fanout._streams)

    def served(self, state="running", detail=""):
        name = self.told.name
        return Served(f"{name}-1a2b", name, self.path, state, detail)


@contextlib.asynccontextmanager
async def serve_child(folder, name="shop", role_of=owner):
    site = Site(name, None, True, False, folder / f"{name}.http.sock")
    journal = await Journal.open(folder / name / "journal.db", SystemClock(), [WEB_SESSIONS])
    told = Told(name)
    web = WebServer(Commands(TABLE, told), journal, SystemClock(), role_of, site)
    await web.start()
    try:
        yield Child(web, journal, told, site.socket_path)
    finally:
        await web.close()
        await journal.close()


class ServedHub(HttpClient):
    """A hub that is served, with what it was asked."""

    def __init__(self, gateway, journal, told, path):
        super().__init__(gateway.new_url, path)
        self.gateway, self.journal, self.told = gateway, journal, told
        self.projects = []

    @property
    def links_out(self):
        return len(self.gateway._relay._links)

    async def post_to(self, path, body, **headers):
        return await self.ask("POST", path, self.write_headers(**headers), body)


@contextlib.asynccontextmanager
async def serve_hub(folder, *projects, role_of=owner, is_read_only=False):
    site = Site("amiral", Hub(port=0), True, is_read_only, folder / "hub.http.sock")
    journal = await Journal.open(folder / "hub" / "journal.db", SystemClock(), [WEB_SESSIONS])
    told = Told("hub")
    commands = Commands(TABLE, told)
    gateway = Gateway(commands, journal, SystemClock(), role_of, site, lambda: one.projects)
    one = ServedHub(gateway, journal, told, site.socket_path)
    one.projects = list(projects)
    await gateway.start()
    try:
        yield await one.log_in()
    finally:
        await gateway.close()
        await journal.close()
        await one.hang_up()


@contextlib.asynccontextmanager
async def serve_raw(path, answer):
    """Answer every connection at a socket with what `answer(reader, writer)` does."""
    links: list[asyncio.StreamWriter] = []

    async def serve(reader, writer):
        links.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await answer(reader, writer)
        writer.close()

    server = await asyncio.start_unix_server(serve, path)
    try:
        yield
    finally:
        await asyncio.sleep(0.01)
        server.close()
        for link in links:
            link.transport.abort()
        await asyncio.sleep(0.01)


async def until(find, seconds=PATIENCE_S):
    """Wait for something that the loop brings about."""
    async with asyncio.timeout(seconds):
        while not (found := find()):
            await asyncio.sleep(0.01)
    return found


@pytest.fixture
def short_path():
    """A private folder whose sockets have names the kernel takes."""
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        yield Path(folder)


@pytest.fixture
async def child(short_path):
    async with serve_child(short_path) as one:
        yield one


@pytest.fixture
async def hub(short_path, child):
    async with serve_hub(short_path, child.served()) as one:
        yield one


@pytest.fixture
def serving_child():
    return serve_child


@pytest.fixture
def serving_hub():
    return serve_hub


@pytest.fixture
def serving_raw():
    return serve_raw


@pytest.fixture
def waiting_until():
    return until


@pytest.fixture
def hostile():
    return HOSTILE
