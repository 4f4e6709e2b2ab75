"""The engine of one project over a real journal, real shims and real CLIs, in a home of its own."""

import asyncio
import functools
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from amiral.agents import rows
from amiral.agents.clis import Cli
from amiral.agents.declared import Rules
from amiral.agents.driver import Driver, Input
from amiral.agents.drivers import scripted
from amiral.agents.inbox import Inbox
from amiral.agents.places import Places
from amiral.agents.questions import Asking
from amiral.agents.rights import Rights
from amiral.agents.seats import Holds, Seats
from amiral.agents.sessions import SessionPlace, Sessions
from amiral.agents.tables import ENGINE
from amiral.agents.turn import TurnLimits, Turns
from amiral.agents.ways_out import WaysOut
from amiral.agents.words import Words
from amiral.agents.worker import Worker
from amiral.base import events as ev
from amiral.base.clock import SystemClock
from amiral.base.errors import NotFound
from amiral.base.ids import new_id
from amiral.base.settings import Sandbox
from amiral.conversations.store import CONVERSATIONS
from amiral.conversations.thread import OWNER, pair
from amiral.processes import cgroup, proc, tree
from amiral.processes.pool import ShimPool
from amiral.processes.probe import probe
from amiral.processes.session_files import Meta, read_inputs, read_meta
from amiral.processes.spawn import Spawner
from amiral.projects.git import Git
from amiral.projects.worktrees import Worktrees
from amiral.safety.approvals import Approvals
from amiral.store.brake import Brake
from amiral.store.journal import Journal

T = TypeVar("T", bound=ev.Event)

PATIENCE_S = 20.0
STUB = Path(__file__).with_name("scripts") / "stub_cli.py"
SCRIPTED = (sys.executable, "-m", "amiral.testbench.scripted_cli")


def make_worker(name="dev", *, tools: tuple[str, ...] | str = "all", **fields) -> Worker:
    worker = Worker(
        id=name,
        label=name,
        icon="x",
        type="chat",
        model="",
        max_turns=0,
        tools=tools,
        system_prompt_skill="",
        prompt_style="history",
        output_format="text",
        focus_dirs=(),
        log_category=name,
        driver="scripted",
    )
    return replace(worker, **fields)


@dataclass
class Plan:
    """What an engine is built with; a test changes it between two processes."""

    clock: Any = field(default_factory=SystemClock)
    command: tuple[str, ...] = SCRIPTED
    env: dict[str, str] = field(default_factory=dict)
    workers: dict[str, Worker] = field(default_factory=lambda: {"dev": make_worker()})
    drivers: dict[str, Driver[Any]] = field(default_factory=lambda: {"scripted": scripted.DRIVER})
    longest_s: float = 600.0
    grace_s: float = 1.0
    asking: Asking = field(default_factory=Asking)
    rules: Rules = field(default_factory=Rules)
    sandbox: Sandbox = field(default_factory=Sandbox)
    wrap: Callable[[Journal], Any] = lambda journal: journal
    find_cli: Callable[[str], Cli] | None = None

    def cli(self, driver: str) -> Cli:
        if self.find_cli is not None:
            return self.find_cli(driver)
        return Cli(driver, self.command, self.env, is_logged_in=True)

    def worker(self, name: str) -> Worker:
        if name not in self.workers:
            raise NotFound(f"no worker {name!r}", f"known: {', '.join(self.workers)}")
        return self.workers[name]


class Works:
    """Opens, crashes and closes the engine of one project, and looks at what it did."""

    make_worker = staticmethod(make_worker)

    def __init__(self, home: Path, plan: Plan):
        self.home, self.plan = home, plan
        self.project, self.run = home / "shop", home / "run"
        self.sessions_folder, self.workers_folder = home / "sessions", home / "workers"
        for folder in (self.project, self.run, self.sessions_folder):
            folder.mkdir(mode=0o700)
        self.tag = f"{secrets.token_hex(6)}:p1"
        self.brake = Brake(home / "brake")
        self.brake.prepare()
        self.is_open = False
        self.tries: list[str] = []
        self._token = 0

    async def open(self, token=0) -> "Works":
        """Start as a new project process does, by default with the next fencing token."""
        plan = self.plan
        self._token += 1
        token = token or self._token
        self.journal = await Journal.open(
            self.home / "journal" / "journal.db", plan.clock, (ENGINE, CONVERSATIONS)
        )
        spawner = Spawner(self.brake, self.tag)
        self.shims = ShimPool(spawner, self.run, token, size=0)
        worktrees = Worktrees(Git(spawner), self.project, self.home / "worktrees")
        places = Places(worktrees)
        tried = functools.partial(probe, spawner, self.run)
        rules, home = lambda: plan.rules, self.home / "amiral"
        self.rights = Rights(rules, plan.sandbox, tried, home, self.warned)
        ways_out = WaysOut(plan.sandbox.network, self.workers_folder, self.warned)
        holds = Holds(self.rights, ways_out)
        seats = Seats(spawner, plan.cli, lambda _: "", places, holds, self.workers_folder)
        place = SessionPlace(self.sessions_folder, self.tag, token, plan.grace_s)
        journal, clock = plan.wrap(self.journal), plan.clock
        self.sessions = Sessions(journal, clock, self.shims, seats, plan.drivers, place)
        words = Words(journal, "shop")
        limits = TurnLimits(plan.longest_s, plan.grace_s, plan.asking)
        turns = Turns(journal, clock, self.brake, self.sessions, words, limits)
        self.inbox = Inbox(journal, clock, self.brake, turns, self.sessions, plan.worker)
        self.approvals = Approvals(self.journal, clock, self.brake, self.inbox.wake)
        self.inbox.start()
        self.is_open = True
        return self

    async def warned(self, text: str) -> None:
        await self.journal.append(ev.WarningRaised("network", text))

    async def crash(self) -> None:
        """Let go of everything, finishing nothing: shims and CLIs go on."""
        self.is_open = False
        await self.inbox.stop()
        for row in rows.open_sessions(self.journal.rows):
            self.sessions.forget(row.session)
        await self.shims.close()
        await self.journal.close()

    async def close(self, *, with_busy=False) -> None:
        """End as `amiral down` does."""
        self.is_open = False
        await self.inbox.stop()
        await self.sessions.close(with_busy=with_busy)
        await self.shims.close()
        await self.journal.close()

    async def post(self, text: str = "do it", worker: str = "dev", message: str = "") -> str:
        message = message or new_id()
        conversation = pair(OWNER, worker)
        await self.inbox.post(ev.MessageQueued(message, worker, conversation, text, OWNER))
        return message

    async def ended(self, message: str) -> ev.TurnEnded:
        """Wait for the end of a message's turn."""
        await self.until(lambda: self.events(ev.TurnEnded, message), f"the end of {message}")
        return self.last(ev.TurnEnded, message)

    async def ended_in_time(self, message: str) -> ev.TurnEnded:
        """Let the held clock run until a message's turn has ended."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.events(ev.TurnEnded, message):
            assert time.monotonic() < deadline, f"no end of {message}; {self._story()}"
            await self.plan.clock.advance(0.5)
            await asyncio.sleep(0.003)
        return self.last(ev.TurnEnded, message)

    async def answer(self, text="do it", worker="dev") -> ev.TurnEnded:
        return await self.ended(await self.post(text, worker))

    async def parked(self, message: str) -> ev.TurnParked:
        await self.until(lambda: self.events(ev.TurnParked, message))
        return self.last(ev.TurnParked, message)

    async def state(self, message: str, wanted: str) -> None:
        await self.until(lambda: self.state_of(message) == wanted, f"{message} being {wanted}")

    def state_of(self, message: str) -> str:
        return rows.state_of(self.journal.rows, message)

    def last(self, kind: type[T], message="") -> T:
        found: T = self.events(kind, message)[-1]
        return found

    def events(self, kind=ev.Event, message="") -> list[Any]:
        """All events of a kind, of one message where they name one."""
        found = [one.event for one in self.journal.read(0, 1_000_000)]
        return [
            event
            for event in found
            if isinstance(event, kind) and (not message or event.message == message)
        ]

    def names(self, *left_out: str) -> list[str]:
        names = [one.name for one in self.journal.read(0, 1_000_000)]
        return [name for name in names if name not in left_out]

    async def until(self, holds, what="it") -> Any:
        """Wait until `holds()` is true, and give what it gave."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := holds()):
            assert time.monotonic() < deadline, f"{what} did not happen; {self._story()}"
            await asyncio.sleep(0.003)
        return found

    def kill(self, process: tree.Identity) -> None:
        assert tree.send(process, signal.SIGKILL)

    def is_alive(self, process: tree.Identity) -> bool:
        return tree.is_alive(process)

    def inputs(self, session="") -> dict[str, str]:
        """What the shim has recorded of each input."""
        return read_inputs(self.sessions_folder / (session or self.session()))

    def input(self, kind: str) -> Input:
        """A line a stub waits for."""
        return Input(f"{kind}-x", json.dumps({"type": kind}) + "\n")

    def row(self, session="") -> rows.SessionRow:
        found = rows.find_session(self.journal.rows, session or self.session())
        assert found is not None
        return found

    def _story(self) -> str:
        if not self.is_open:
            return "nothing is open"
        last = self.journal.read(0, 1_000_000)[-15:]
        return "\n".join(f"{one.name} {one.payload.decode()[:300]}" for one in last)

    def session(self, number=-1) -> str:
        opened: ev.SessionOpened = self.events(ev.SessionOpened)[number]
        return opened.session

    def meta(self, session="") -> Meta:
        found = read_meta(self.sessions_folder / (session or self.session()))
        assert found is not None
        return found

    async def launched(self, number=-1) -> Meta:
        await self.until(lambda: self.events(ev.SessionLaunched), "a launch")
        return self.meta(self.session(number))

    def scenario(self, text: str) -> None:
        """Have the scripted CLI play a scenario."""
        path = self.home / "scenario.yaml"
        path.write_text(text, encoding="utf-8")
        self.plan.command = (*SCRIPTED, "--scenario", str(path))

    def stub(self, *steps: Any) -> None:
        """Have a CLI that takes exactly these steps; a step of one word may be given as a text."""
        listed = [[step] if isinstance(step, str) else step for step in steps]
        self.plan.command = (sys.executable, "-I", "-S", str(STUB), json.dumps(listed))

    def records(self, name="effects", worker="dev") -> list[dict]:
        """Read what a CLI has kept: `effects` of the scripted one, `read` of the stub."""
        path = self.workers_folder / worker / "home" / "scripted" / f"{name}.jsonl"
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.split("\n") if line]

    def executed(self, worker="dev") -> list[str]:
        return [one["id"] for one in self.records(worker=worker) if one["type"] == "executed"]

    def given(self, worker="dev") -> list[dict]:
        """The messages a stub has read, in order."""
        return [one for one in self.records("read", worker) if one["type"] == "message"]

    async def clear(self) -> None:
        if self.is_open:
            await self.crash()
        home = self.tag.partition(":")[0]
        await asyncio.to_thread(tree.kill_tree, (), home, None, PATIENCE_S)
        for folder in cgroup.cgroups_under(home):
            await asyncio.to_thread(tree.kill_tree, (), "", folder, PATIENCE_S)
            cgroup.remove_cgroup(folder)
        deadline = time.monotonic() + PATIENCE_S
        while any(one.parent == os.getpid() for one in proc.processes_now().values()):
            assert time.monotonic() < deadline, "a child is left"
            await asyncio.sleep(0.003)


@pytest.fixture
async def works():
    """The engine of a project, not opened yet."""
    home = Path(tempfile.mkdtemp(prefix="amiral-"))
    works = Works(home, Plan())
    yield works
    await works.clear()
    shutil.rmtree(home)
