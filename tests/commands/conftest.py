"""A desk with the real command table and journal, and an inbox that answers as a test wishes."""

import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from amiral.agents.answers import Answers
from amiral.agents.declared import load_declared
from amiral.agents.roster import ROLE, Roster
from amiral.agents.tables import ENGINE
from amiral.base import events as ev
from amiral.base.clock import SystemClock
from amiral.base.errors import Conflict, NotFound
from amiral.commands.admin import AdminCommands
from amiral.commands.approvals import ApprovalCommands
from amiral.commands.arguments import parse_argv
from amiral.commands.chat import Chat
from amiral.commands.limits import LimitCommands
from amiral.commands.looking import Elsewhere, Looking
from amiral.commands.permissions import PermissionCommands
from amiral.commands.registry import Caller, Commands, Role
from amiral.commands.safety import SafetyCommands
from amiral.commands.table import TABLE
from amiral.commands.terminal import TerminalCommands
from amiral.conversations.store import CONVERSATIONS
from amiral.limits.service import Limits
from amiral.projects.store import Projects
from amiral.projects.trust import Trust
from amiral.safety.approvals import Approvals
from amiral.safety.scope import Place
from amiral.specs.rows import READER
from amiral.specs.tables import SPECS
from amiral.store.brake import Brake
from amiral.store.journal import Journal


class Tray:
    """In place of the inbox: keeps what is posted; `outcome` is what becomes of it at once."""

    def __init__(self, journal):
        self._journal = journal
        self.outcome = "done"
        self.text, self.reason = "an answer", ""
        self.interrupted: list = []
        self.taken_back: list = []
        self.terminals: list[str] = []

    async def post(self, message):
        await self._journal.append(message, by=message.sender)
        who = (f"t-{message.message}", message.message, message.worker)
        if not self.outcome:
            return
        await self._journal.append(ev.TurnStarted(*who, "s1", message.message))
        if self.outcome == "asking":
            what = ("Bash", "git push", "git push", "d" * 64, "a rule")
            asked = ("a1b2c3d4", message.message, who[0], message.worker, "s1", "7")
            await self._journal.append(ev.ApprovalAsked(*asked, *what, 4102444800000))
            return
        if self.outcome == "limited":
            parked = ev.TurnParked(*who, "s1", (1, 0), "five_hour", 4102444800000, "cli")
            await self._journal.append(parked)
            return
        ended = ev.TurnEnded(*who, "s1", (1, 0), self.outcome, self.text, self.reason)
        seq = await self._journal.append(ended)
        await self._journal.append(ev.AnswerRead(READER, seq))

    async def interrupt(self, worker, wish, _by):
        if self.outcome:
            raise Conflict(f"worker {worker} is not working")
        self.interrupted.append((worker, wish.outcome))

    async def open_terminal(self, worker):
        self.terminals.append(worker.id)
        return SimpleNamespace(attach=f"tmux attach -t '={worker.id}'")

    async def close_terminal(self, worker):
        if worker not in self.terminals:
            raise Conflict(f"{worker} has no open terminal")
        self.terminals.remove(worker)

    def has_terminal(self, worker):
        return worker in self.terminals

    async def cancel(self, message, by, reason):
        if message == "gone":
            raise NotFound("no message gone")
        self.taken_back.append((message, by))
        return "seen" if message == "running" else "queued"

    async def resume(self, worker, by):
        self.taken_back.append(("resume", worker, by))

    async def cancel_parked(self, worker, by, reason):
        self.taken_back.append(("cancel", worker, by))


class Desk:
    """Asks as anybody: `role` says who, `surface` from where."""

    def __init__(self, home: Path, journal: Journal):
        self.home, self.journal = home, journal
        self.tray = Tray(journal)
        self.brake = Brake(home / "brake")
        self.brake.prepare()
        folder = home.with_name("shop")
        folder.mkdir()
        self.project = Projects(home, home.with_name("user")).register(folder)
        self.trust = Trust(home)
        self.roster = Roster(journal, lambda: load_declared(self.trust, self.project), "scripted")
        self.went_down: list[bool] = []
        self.branches: dict[str, str] = {}
        self.woken: list[str] = []
        inbox, clock = self.tray, SystemClock()
        self.commands = Commands(
            TABLE,
            Chat(
                inbox,  # type: ignore[arg-type]
                self.roster,
                Answers(journal),
                journal,
                self._dispatch,
                self._branch_of,
            ),
            Looking(
                *(self.project, journal, self.brake, self.roster),
                Elsewhere(lambda: 0, inbox.has_terminal),
            ),
            TerminalCommands(inbox, self.roster),  # type: ignore[arg-type]
            LimitCommands(Limits(inbox, journal, clock)),  # type: ignore[arg-type]
            ApprovalCommands(Approvals(journal, clock, self.brake, self.woken.append)),
            SafetyCommands(Place(str(home), "no-such-tag")),
            AdminCommands(
                *(self.project, self.trust, self.roster, journal, clock), self.went_down.append
            ),
            PermissionCommands(self.project, self.trust, self.roster, journal, clock),
        )

    async def ask(self, *argv, role=Role.OWNER, surface="console", caller="owner"):
        who = Caller(caller, role, surface)
        return await self.commands.dispatch(who, parse_argv(list(argv), TABLE))

    def told(self, kind):
        return [one.event for one in self.journal.read(0) if isinstance(one.event, kind)]

    async def _dispatch(self, caller, parsed):
        return await self.commands.dispatch(caller, parsed)

    async def _branch_of(self, worker):
        return self.branches.get(worker.id, "")


@pytest.fixture
async def desk():
    folder = Path(tempfile.mkdtemp(prefix="amiral-"))
    home = folder / "home"
    home.mkdir(mode=0o700)
    tables = (ENGINE, CONVERSATIONS, ROLE, SPECS)
    journal = await Journal.open(home / "state" / "journal.db", SystemClock(), tables)
    desk = Desk(home, journal)
    await desk.roster.refresh()
    yield desk
    await journal.close()
    shutil.rmtree(folder)
