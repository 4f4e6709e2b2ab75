"""Wires what specs need in one project: their reader, mirrors, worktrees and execution."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from amiral.agents.inbox import Inbox
from amiral.agents.places import Places
from amiral.agents.rights import Rights
from amiral.agents.roster import Roster
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.settings import ProjectSettings
from amiral.commands.specs import SpecCommands
from amiral.commands.work import WorkCommands
from amiral.conversations.thread import OWNER, pair
from amiral.execution.own_tests import Confines, OwnTests
from amiral.execution.service import Execution
from amiral.longtasks import Work
from amiral.processes.reads import private_folders
from amiral.processes.spawn import Spawner
from amiral.projects.git import Git
from amiral.projects.worktrees import Worktrees
from amiral.specs.mirrored import Names
from amiral.specs.mirrors import Mirrors
from amiral.specs.reader import SpecReader
from amiral.specs.spec import Rules
from amiral.specs.store import Specs
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder
from amiral.store.journal import Journal


@dataclass(frozen=True)
class Ground:
    """What all of it stands on.

    `home` is amiral's, `folder` in it the project's state; `root` is the project's checkout.
    """

    journal: Journal
    clock: Clock
    brake: Brake
    spawner: Spawner
    roster: Roster
    root: Path
    home: Path
    folder: Path


class SpecWork:
    """Built before the engine, which needs to know the `places` of workers."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        git = Git(ground.spawner, private_folders(ground.home))
        self.worktrees = Worktrees(git, ground.root, ground.folder / "worktrees")
        self.places = Places(self.worktrees)
        self._specs = Specs(ground.journal, ground.clock)

    async def repair(self) -> None:
        """Finish what an earlier process left half done in worktrees; what cannot be is told."""
        for trouble in await self.worktrees.repair():
            await self._ground.journal.append(ev.WarningRaised("worktrees", trouble))

    def commands(
        self, inbox: Inbox, vacate: Callable[[str], Awaitable[None]]
    ) -> tuple[object, ...]:
        """Give the topics of the command table; `vacate` ends the idle sessions in a folder."""
        ground = self._ground
        return (
            SpecCommands(self._specs, ground.journal, inbox, ground.roster),
            WorkCommands(self.worktrees, self._specs, ground.journal, vacate),
        )

    def tasks(
        self, inbox: Inbox, settings: ProjectSettings, rights: Rights
    ) -> Iterator[tuple[str, Work]]:
        """Give the long tasks by name."""
        ground = self._ground
        journal, clock, roster = ground.journal, ground.clock, ground.roster

        def is_chat(worker: str) -> bool:
            return worker in roster.ids() and roster.find(worker).type == "chat"

        def rules() -> Rules:
            roles = roster.roles()
            return Rules(roles.spec_auto_approve, roles.max_draft_specs)

        def log_of(worker: str) -> str:
            return roster.find(worker).log_category if worker in roster.ids() else worker

        names = Names(log_of, lambda worker: pair(OWNER, worker), roster.active)
        tests = OwnTests(ground.spawner, settings.test, partial(_confine, ground, rights))
        execution = Execution(journal, clock, ground.brake, self.worktrees, tests, roster)
        mirrors = Mirrors(journal, clock, ground.root, ground.folder / "mirrors.json", names)
        yield "specs", SpecReader(journal, clock, is_chat, rules, inbox.wake).run
        yield "mirrors", mirrors.run
        yield "execution", partial(execution.follow, inbox.wake)


async def _confine(
    ground: Ground, rights: Rights, worker: str, folder: Path, program: str
) -> Confines:
    """Have tests run with the rights of the worker whose tree they are, and in its own TMPDIR."""
    tmp = ground.folder / "workers" / worker / "tmp"
    bounds = await rights.around(ground.roster.find(worker), folder, tmp, program)
    if bounds.fence is None:
        return Confines()
    ensure_private_folder(tmp)
    return Confines(bounds.fence, {"TMPDIR": str(tmp)}, bounds.unasked)
