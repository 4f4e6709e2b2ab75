"""Composition root of the hub: supervisor, gateway and console of one home; no agent code."""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from amiral.base.clock import SystemClock
from amiral.base.errors import AmiralError
from amiral.base.event import Event
from amiral.base.ids import digest
from amiral.base.settings import Settings
from amiral.callers import role_of
from amiral.commands.registry import Commands, Role
from amiral.commands.safety import SafetyCommands
from amiral.commands.table import TABLE
from amiral.console import Console
from amiral.hub import gateway
from amiral.hub.asking import SOCKET
from amiral.hub.farewell import Farewell, Left
from amiral.hub.fleet import Fleet, Ways
from amiral.hub.guarding import Guarding
from amiral.hub.output import Output, keep_bounded
from amiral.hub.secrecy import Secrecy
from amiral.hub.supervisor import Supervisor
from amiral.logkeeping import log_keeper, log_of
from amiral.longtasks import LongTasks
from amiral.processes.spawn import Spawner
from amiral.projects.project import Project
from amiral.projects.served import served_by
from amiral.projects.store import Projects
from amiral.safety.reviving import lock_path, log_path, want_no_more
from amiral.safety.scope import Place
from amiral.store.brake import Brake
from amiral.store.claim import Claim
from amiral.store.files import ensure_private_folder, remove_leftovers
from amiral.store.journal import Journal
from amiral.web.server import Site
from amiral.web.sessions import WEB_SESSIONS


class Hub:
    """One a home. It may die at any moment: the projects' processes go on, and it finds them."""

    def __init__(self, home: Path, settings: Settings) -> None:
        self.home, self.settings = home, settings
        self.clock = SystemClock()
        self._tag = digest(str(home))
        self._secrecy = Secrecy(home, settings, os.environ)
        self.over = asyncio.Event()
        self._closing = contextlib.AsyncExitStack()
        self._registry = Projects(home, Path.home())
        self.supervisor: Supervisor

    async def start(self) -> None:
        """Find the processes that run, start those that do not, and listen."""
        folder = self.home / "hub"
        for one in (self.home, self.home / "run", folder):
            ensure_private_folder(one)
            remove_leftovers(one)
        lock = Claim(Path(lock_path(str(self.home))), "the hub")
        self._closing.callback(lock.release)
        brake = Brake(self.home / "brake")
        brake.prepare()
        journal = await Journal.open(
            folder / "journal.db", self.clock, (WEB_SESSIONS,), redact=self._secrecy.redact
        )
        self._closing.push_async_callback(journal.close)
        self._journal = journal
        spawner = Spawner(brake, "")
        self.guarding = Guarding(self.home, spawner, self.clock)
        self.supervisor = Supervisor(
            self.home,
            self.clock,
            spawner,
            self._registry.all,
            self._tell,
            self.settings.fleet.heartbeat_s,
            _argv,
            self._secrecy.last_words,
        )
        self._closing.push_async_callback(self.supervisor.close)
        commands = self._commands(brake)
        await self._serve_page(commands)
        await self._listen(commands)
        self._tend()

    def _commands(self, brake: Brake) -> Commands:
        ways = Ways(self._socket_of, self.guarding.is_guarded, self.new_url, self._go_down)
        place, grace_s = Place(str(self.home), self._tag), self.settings.safety.stop_grace_s
        fleet = Fleet(self.supervisor, brake, ways)
        # A stop needs no project's process: with all of them hung it works here.
        return Commands(TABLE, fleet, SafetyCommands(place, grace_s))

    def _tend(self) -> None:
        """Begin the tasks that run as long as the hub does."""
        tasks = LongTasks(self._journal, self.clock)
        self._closing.push_async_callback(tasks.close)
        logs, redact = self.settings.logs, self._secrecy.redact
        log = log_of(logs, self.home, "hub", "hub", self.clock, redact)
        tasks.run("log", log_keeper(self._journal, log, self._journal.last_seq))
        tasks.run("guard", self.guarding.run)
        tasks.run("supervisor", self.supervisor.run)
        tasks.run("outputs", partial(keep_bounded, self._outputs, self.clock))

    def _outputs(self) -> Iterator[Output]:
        yield Output(Path(log_path(str(self.home))))
        yield self.guarding.output
        yield from self.supervisor.outputs()

    async def close(self) -> None:
        """Let go of everything; the projects' processes go on."""
        await self._closing.aclose()

    def new_url(self) -> str:
        """Give the page's address with a new one-time code; raises Broken when there is none."""
        return self.gateway.new_url()

    def notices(self) -> tuple[str, ...]:
        """Tell what a person should know before the first message."""
        warning = self._registry.warning()
        return (*self.gateway.problems, *([warning] if warning else []))

    async def end_children(self, *, with_agents: bool = False) -> tuple[Left, ...]:
        """End every project's process, and its agents if asked; gives what could not be ended."""
        await self.supervisor.close()
        farewell = Farewell(self.home, self.clock, with_agents=with_agents)
        return await farewell.say(self.supervisor.states())

    async def _go_down(self, with_agents: bool) -> Sequence[Left]:  # noqa: FBT001 a command's own switch
        left = await self.end_children(with_agents=with_agents)
        self.guarding.end()
        want_no_more(str(self.home))
        self.over.set()
        return left

    async def _tell(self, event: Event) -> object:
        with contextlib.suppress(AmiralError):
            return await self._journal.append(event)
        return None

    async def _serve_page(self, commands: Commands) -> None:
        settings = self.settings
        site = Site(
            title="amiral",
            hub=settings.hub,
            is_exact="hub.port" in settings.sources,
            is_read_only=settings.web.control == "off",
            socket_path=self.home / "run" / "hub.http.sock",
        )
        self.gateway = gateway.Gateway(
            commands, self._journal, self.clock, self._role_of, site, self._served
        )
        self._closing.push_async_callback(self.gateway.close)
        await self.gateway.start()

    def _served(self) -> list[gateway.Served]:
        return [
            gateway.Served(
                state.project.id,
                state.project.name,
                self._socket_of(state.project).with_suffix(".http.sock"),
                state.state,
                state.reason,
            )
            for state in self.supervisor.states()
        ]

    def _socket_of(self, project: Project) -> Path:
        return served_by(self.home, project).socket

    async def _listen(self, commands: Commands) -> None:
        path = self.home / "run" / SOCKET
        server = await Console(commands, self._role_of).serve(path)
        self._closing.callback(path.unlink, missing_ok=True)
        self._closing.callback(server.close)

    def _role_of(self, connection: socket.socket) -> Role:
        return role_of(connection, self._tag)


def _argv(project: Project) -> list[str]:
    return [sys.executable, "-m", "amiral", "child", project.id]
