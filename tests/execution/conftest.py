"""A project in git with a spec queue, carried out by a worker that a test plays by hand."""

import asyncio
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from amiral.agents.tables import ENGINE
from amiral.agents.worker import Worker
from amiral.base import events as ev
from amiral.base.clock import SystemClock
from amiral.base.ids import new_id
from amiral.execution.own_tests import OwnTests
from amiral.execution.service import Execution
from amiral.processes import tree
from amiral.processes.spawn import Spawner
from amiral.projects.git import Git
from amiral.projects.worktrees import Worktrees
from amiral.specs import rows
from amiral.specs.store import Specs
from amiral.specs.tables import SPECS
from amiral.store.brake import Brake
from amiral.store.journal import Journal

PATIENCE_S = 20.0
DONE = "All done.\n\n```done\n1: by cart.py\n```\n"


def file_name(key: str) -> str:
    """Make `test_x.py` of `test_x_py`."""
    return ".".join(key.rsplit("_", 1))


def make_worker(name, tools: tuple[str, ...] | str = "all") -> Worker:
    fields = ("x", "chat", "m", 0, tools, "", "gsd", "text", (), name)
    return Worker(name, name, *fields, driver="scripted")


class Crew:
    """The workers, in place of the roster."""

    def __init__(self):
        self.hired = [make_worker("consultant", ("Read",)), make_worker("developer")]

    def workers(self):
        return self.hired


class Project:
    """One project; `open` begins what a new process does, `crash` ends it in the middle."""

    def __init__(self, home: Path, *, is_git=True):
        self.home, self.root = home, home / "shop"
        self.root.mkdir()
        self.brake = Brake(home / "brake")
        self.brake.prepare()
        self.crew: Any = Crew()
        self.woken: list[str] = []
        self.command, self.longest_s = "", 60.0
        self.tag = f"{new_id(6)}:p"
        if is_git:
            self.git("init", "--quiet", "--initial-branch=main")
            self.commit(cart_py="total = 0\n")

    def git(self, *words, at=None):
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@shop.invalid")
        ran = subprocess.run(
            ("git", *who, *words), cwd=at or self.root, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, (words, ran.stderr)
        return ran.stdout.rstrip("\n")

    def commit(self, at=None, **files):
        for name, text in files.items():
            ((at or self.root) / file_name(name)).write_text(text)
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "-m", "more", at=at)
        return self.git("rev-parse", "HEAD", at=at)

    async def open(self) -> "Project":
        self.journal = await Journal.open(
            self.home / "journal" / "journal.db", SystemClock(), [ENGINE, SPECS]
        )
        self.specs = Specs(self.journal, SystemClock())
        self.spawner = Spawner(self.brake, self.tag)
        self.worktrees = Worktrees(Git(self.spawner), self.root, self.home / "worktrees")
        tests = OwnTests(self.spawner, self.command, longest_s=self.longest_s)
        execution = Execution(
            self.journal, SystemClock(), self.brake, self.worktrees, tests, self.crew
        )
        self.task = asyncio.create_task(execution.follow(self.woken.append))
        return self

    async def crash(self):
        self.task.cancel()
        await asyncio.wait([self.task])
        await self.journal.close()

    async def write(self, spec="s1", criteria=("It works",), *, is_approved=True):
        """Have the consultant write a spec, and the owner approve it."""
        who = ("consultant", "c-o", f"m-{spec}")
        what = (f"Title of {spec}", "A problem", "An approach", criteria, ("cart.py",), "low")
        await self.journal.append(ev.SpecCreated(spec, *what, *who), by="consultant")
        if is_approved:
            await self.specs.approve(spec, "owner")

    async def given(self, spec="s1", attempt=1):
        """Wait until a worker was given the spec."""
        await self.until(lambda: len(self.events(ev.SpecExecuting, spec)) >= attempt, "a start")
        task = self.events(ev.SpecExecuting, spec)[attempt - 1].message
        return next(one for one in self.events(ev.MessageQueued) if one.message == task)

    async def end(self, message: ev.MessageQueued, outcome="done", text=DONE, reason=""):
        """Have the turn of a message end."""
        who = (new_id(), message.message, message.worker, "session")
        await self.journal.append(
            ev.TurnStarted(*who, message.message),
            ev.TurnEnded(*who, (1, 0), outcome, text, reason),
        )

    async def carry_out(self, spec="s1", attempt=1, text=DONE, **files):
        """Play the worker: write files where it was told, and say that all is done."""
        message = await self.given(spec, attempt)
        for name, content in files.items():
            (self.place(spec) / file_name(name)).write_text(content)
        await self.end(message, text=text)

    def place(self, spec="s1"):
        return self.home / "worktrees" / spec

    async def state(self, wanted, spec="s1"):
        """Wait until a spec is in a state; gives it."""

        def holds():
            found = self.spec(spec)
            return found if (found.status, found.is_failed) == wanted else None

        return await self.until(holds, f"{spec} being {wanted}")

    async def done(self, spec="s1"):
        return await self.state(("done", False), spec)

    async def failed(self, spec="s1"):
        return await self.state(("approved", True), spec)

    def spec(self, spec="s1"):
        return rows.named(self.journal.rows, spec)

    def events(self, kind: Any = ev.Event, spec="") -> list[Any]:
        found = [one.event for one in self.journal.read(0, 100_000)]
        return [one for one in found if isinstance(one, kind) and (not spec or one.spec == spec)]

    async def until(self, holds, what="it") -> Any:
        by = time.monotonic() + PATIENCE_S
        while not (found := holds()):
            assert time.monotonic() < by, f"no {what}: {self.events()[-6:]}"
            assert not self.task.done(), self.task.exception()
            await asyncio.sleep(0.005)
        return found


@pytest.fixture(autouse=True)
def user(tmp_path, monkeypatch):
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))


@pytest.fixture
async def make_project(tmp_path):
    made = []

    async def make(*, is_git=True, is_open=True) -> Project:
        project = Project(tmp_path, is_git=is_git)
        made.append(project)
        return await project.open() if is_open else project

    yield make
    for project in made:
        if not project.task.done():
            await project.crash()
        await asyncio.to_thread(tree.kill_tree, (), project.tag, None, PATIENCE_S)


@pytest.fixture
async def project(make_project):
    return await make_project()


@pytest.fixture
def hire():
    return make_worker


@pytest.fixture
def done():
    return DONE
