"""Composition root of one project: builds every object once and runs them until told to end."""

import asyncio
import contextlib
import os
from functools import partial
from pathlib import Path

from amiral.agents.answers import Answers
from amiral.agents.declared import load_declared
from amiral.agents.inbox import Inbox
from amiral.agents.judging import judging
from amiral.agents.questions import Asking
from amiral.agents.renewal import Renewals
from amiral.agents.rights import Rights
from amiral.agents.roster import ROLE, Roster
from amiral.agents.seats import Holds, Seats
from amiral.agents.sessions import SessionPlace, Sessions
from amiral.agents.tables import ENGINE
from amiral.agents.turn import TurnLimits, Turns
from amiral.agents.ways_out import WaysOut
from amiral.agents.words import Words
from amiral.base import events as ev
from amiral.base.clock import SystemClock
from amiral.base.errors import AmiralError
from amiral.base.ids import digest
from amiral.base.settings import ProjectSettings, Settings
from amiral.brakewatch import brake_watcher
from amiral.callers import role_of
from amiral.chats.tables import CHATS
from amiral.chats.taps import TAPS
from amiral.chatting import Chatting, Reach
from amiral.chatting import Ground as ChatGround
from amiral.commands.admin import AdminCommands
from amiral.commands.approvals import ApprovalCommands
from amiral.commands.chat import Chat
from amiral.commands.help import Help
from amiral.commands.limits import LimitCommands
from amiral.commands.looking import Elsewhere, Looking
from amiral.commands.page import PageCommands
from amiral.commands.permissions import PermissionCommands
from amiral.commands.registry import Caller, Commands, Parsed, Reply
from amiral.commands.safety import SafetyCommands
from amiral.commands.table import TABLE
from amiral.commands.terminal import TerminalCommands
from amiral.console import Console
from amiral.conversations.store import CONVERSATIONS
from amiral.heartbeats import Heartbeats
from amiral.installed import Installed
from amiral.limits.service import Limits
from amiral.logkeeping import log_keeper, log_of
from amiral.longtasks import LongTasks
from amiral.processes.cgroup import cgroups_under, remove_cgroup
from amiral.processes.pool import ShimPool
from amiral.processes.probe import probe
from amiral.processes.serving import claim_project
from amiral.processes.spawn import Spawner
from amiral.processes.tree import boot_id
from amiral.projects.project import Project
from amiral.projects.served import served_by
from amiral.projects.trust import Trust
from amiral.safety.approvals import Approvals
from amiral.safety.scope import Place
from amiral.specs.tables import SPECS
from amiral.specwork import Ground, SpecWork
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder, remove_leftovers
from amiral.store.journal import Journal, Rows
from amiral.web.sessions import WEB_SESSIONS

_READY_SHIMS = 1
_LONGEST_TURN_S = 4 * 3600.0
_TABLES = (ENGINE, CONVERSATIONS, ROLE, SPECS, WEB_SESSIONS, CHATS, TAPS)


class App:
    """One project's process; everything is wired in `start`."""

    def __init__(
        self, home: Path, project: Project, settings: Settings, warnings: tuple[str, ...] = ()
    ) -> None:
        """`warnings` were met on the way here and are told with the first notices."""
        self.home, self.project, self.settings = home, project, settings
        self.clock = SystemClock()
        self.over = asyncio.Event()
        self.tag = digest(str(home))
        self._role_of = partial(role_of, tag=self.tag)
        self._served = served_by(home, project)
        self._folder = home / "projects" / project.id
        self.installed = Installed(settings, os.environ, home)
        self._closing = contextlib.AsyncExitStack()
        self._beats = Heartbeats(home, project, self.clock, settings.fleet.heartbeat_s)
        self._ends_agents = False
        self._began_at = 0
        self._warnings = warnings
        self.has_page = True

    async def start(self) -> None:
        """Take the project over from whoever served it last, and listen."""
        await self._claim()
        path = self._folder / "journal.db"
        self.journal = await Journal.open(path, self.clock, _TABLES, redact=self.installed.redact)
        self._closing.push_async_callback(self.journal.close)
        self._began_at = self.journal.last_seq
        token = await self.journal.decide(_take_over)
        self.spawner = Spawner(self.brake, f"{self.tag}:{self.project.id}")
        for group in cgroups_under(self.spawner.tag):
            # What a killed shim left empty; one with processes in it stays.
            remove_cgroup(group)
        self.shims = ShimPool(self.spawner, self.home / "run", token, _READY_SHIMS)
        self._closing.push_async_callback(self.shims.close)
        trust = Trust(self.home)
        self.roster = Roster(
            self.journal, lambda: load_declared(trust, self.project), self.installed.default()
        )
        await self.roster.refresh()
        self.specwork = SpecWork(self._ground())
        await self.specwork.repair()
        self.inbox = await self._engine(token)
        self._closing.push_async_callback(self._end_sessions)
        self._closing.push_async_callback(self.inbox.stop)
        installed = self.installed
        renewals = Renewals(
            self.journal,
            self.clock,
            self.spawner,
            installed.found.values(),
            with_secrets=lambda cli: installed.cli(cli.driver),
        )
        await renewals.renew()
        commands = self._commands(trust)
        await self._serve_page(commands)
        await self._listen(commands)
        self.inbox.start()
        self._tend(renewals)

    async def _claim(self) -> None:
        """Become the one process of this project, in folders of its own."""
        for folder in (self.home, self.home / "run", self._folder / "sessions"):
            ensure_private_folder(folder)
            remove_leftovers(folder)
        self.brake = Brake(self.home / "brake", self.project.id)
        self.brake.prepare()
        self._closing.callback((await claim_project(self._served, self.clock)).release)
        self._closing.push_async_callback(self._say_farewell)

    def _tend(self, renewals: Renewals) -> None:
        """Begin the tasks that run as long as the process does."""
        tasks = LongTasks(self.journal, self.clock)
        self._closing.push_async_callback(tasks.close)
        name, logs, redact = self.project.name, self.settings.logs, self.installed.redact
        log = log_of(logs, self.home, name, self.project.id, self.clock, redact)
        tasks.run("log", log_keeper(self.journal, log, self._began_at))
        tasks.run("upkeep", partial(self.roster.keep_up, self.clock))
        tasks.run("heartbeats", self._beats.run)
        tasks.run("brake", brake_watcher(self.brake, self.journal, self.clock))
        tasks.run("logins", renewals.run)
        settings = self.settings.projects.get(self.project.name, ProjectSettings())
        if self.chatting.is_wanted:
            tasks.run("chat", self.chatting.run)
        for name, work in self.specwork.tasks(self.inbox, settings, self.rights):
            tasks.run(name, work)

    async def close(self) -> None:
        """Let go of everything, last things first; agents in mid turn go on under their shims."""
        await self._closing.aclose()

    async def _say_farewell(self) -> None:
        """Leave word that this end was asked for; of a start that failed nothing is said."""
        if self.over.is_set():
            await self._beats.end()

    def _go_down(self, with_agents: bool) -> None:  # noqa: FBT001 a command's own switch
        self._ends_agents = with_agents
        self.over.set()

    async def _end_sessions(self) -> None:
        await self.sessions.close(with_busy=self._ends_agents)

    async def _listen(self, commands: Commands) -> None:
        server = await Console(commands, self._role_of).serve(self.socket_path)
        self._closing.callback(self.socket_path.unlink, missing_ok=True)
        self._closing.callback(server.close)

    async def _serve_page(self, commands: Commands) -> None:
        # It costs 100 ms and 5 MB, which only a process that serves need pay.
        from amiral.web.project import WebServer  # noqa: PLC0415
        from amiral.web.server import Site  # noqa: PLC0415

        settings = self.settings
        site = Site(
            title=self.project.name,
            hub=settings.hub if self.has_page else None,
            is_exact="hub.port" in settings.sources,
            is_read_only=settings.web.control == "off",
            socket_path=self.socket_path.with_suffix(".http.sock"),
        )
        self.web = WebServer(commands, self.journal, self.clock, self._role_of, site)
        self._closing.push_async_callback(self.web.close)
        await self.web.start()

    def new_url(self) -> str:
        """Give the page's address with a new one-time code; raises Broken when there is none."""
        return self.web.new_url()

    @property
    def socket_path(self) -> Path:
        """Where the project's process listens."""
        return self._served.socket

    def notices(self) -> tuple[str, ...]:
        """Tell what a person should know before the first message."""
        return (
            *self.installed.notices(),
            *self._warnings,
            *self.web.problems,
            *self.roster.notices(),
        )

    def _ground(self) -> Ground:
        return Ground(
            self.journal,
            self.clock,
            self.brake,
            self.spawner,
            self.roster,
            Path(self.project.path),
            self.home,
            self._folder,
        )

    async def _engine(self, token: int) -> Inbox:
        grace_s = self.settings.safety.stop_grace_s
        places, workers = self.specwork.places, self._folder / "workers"
        sandbox, warn = self.settings.sandbox, partial(self._warn, "sandbox")
        tried = partial(probe, self.spawner, self.home / "run", sandbox.enforcer)
        self.rights = Rights(self.roster.rules, sandbox, tried, self.home, warn)
        ways_out = WaysOut(sandbox.network, workers, partial(self._warn, "network"))
        self._closing.push_async_callback(ways_out.close)
        await ways_out.restore()
        found, told = self.installed.cli, self.roster.identity
        seats = Seats(self.spawner, found, told, places, Holds(self.rights, ways_out), workers)
        place = SessionPlace(self._folder / "sessions", self.spawner.tag, token, grace_s)
        self.sessions = Sessions(
            self.journal, self.clock, self.shims, seats, self.installed.drivers, place
        )
        judge = judging(self.rights.permissions, self.specwork.worktrees.holds)
        asking = Asking(judge, self.settings.safety.approval_ttl_s)
        turns = Turns(
            self.journal,
            self.clock,
            self.brake,
            self.sessions,
            Words(self.journal, self.project.name),
            TurnLimits(_LONGEST_TURN_S, grace_s, asking),
        )
        return Inbox(self.journal, self.clock, self.brake, turns, self.sessions, self.roster.find)

    async def _warn(self, subject: str, text: str) -> None:
        with contextlib.suppress(AmiralError):
            await self.journal.append(ev.WarningRaised(subject, text))

    def _commands(self, trust: Trust) -> Commands:
        async def dispatch(caller: Caller, parsed: Parsed) -> Reply:
            return await commands.dispatch(caller, parsed)

        place, places = Place(str(self.home), self.tag), self.specwork.places
        journal, clock, project, roster = self.journal, self.clock, self.project, self.roster
        chat = Chat(self.inbox, roster, Answers(journal), journal, dispatch, places.branch)
        approvals = Approvals(journal, clock, self.brake, self.inbox.wake)
        secret = self.installed.secret
        ground = ChatGround(self.home, project, self.settings, secret, journal, clock)
        self.chatting = Chatting(ground)
        has_terminal, notices = self.inbox.has_terminal, self.chatting.notices
        elsewhere = Elsewhere(self._beats.age_s, has_terminal, notices)
        commands = Commands(
            TABLE,
            chat,
            self.chatting.pairing(),
            Looking(project, journal, self.brake, roster, elsewhere),
            TerminalCommands(self.inbox, roster),
            Help(TABLE),
            *self.specwork.commands(self.inbox, self.sessions.vacate),
            LimitCommands(Limits(self.inbox, journal, clock)),
            ApprovalCommands(approvals),
            SafetyCommands(place, self.settings.safety.stop_grace_s),
            AdminCommands(project, trust, roster, journal, clock, self._go_down),
            PermissionCommands(project, trust, roster, journal, clock),
            PageCommands(self.new_url),
        )
        self.chatting.reach = Reach(commands, chat, roster, self.inbox, approvals)
        return commands


def _take_over(read: Rows) -> tuple[list[ev.Event], int]:
    """Take the next fencing token: larger than any earlier process's."""
    name = ev.ProjectProcessStarted.__name__
    token = int(read("select count(*) from event where name = ?", name)[0][0]) + 1
    return [ev.ProjectProcessStarted(token, os.getpid(), boot_id())], token
