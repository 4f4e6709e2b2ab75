"""Whose rights a `permissions` or `sandbox` command asks for: project, worker, policy, folder."""

import asyncio
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from amiral.agents.declared import POLICY, Declared, Rules, load_declared, shipped
from amiral.agents.fencing import Right
from amiral.agents.rights import Rights
from amiral.agents.worker import Worker
from amiral.base.errors import Broken, Invalid, NotFound
from amiral.base.settings import Sandbox, Settings
from amiral.commands.parameter import Value
from amiral.config import find_home, load_settings
from amiral.local.narrowing import narrowed_by
from amiral.permissions.policy import parse_policy
from amiral.permissions.rules import Permissions
from amiral.permissions.tools import ALL_TOOLS, may_write
from amiral.processes.probe import Probed, probe
from amiral.processes.spawn import Spawner
from amiral.projects.git import Git
from amiral.projects.git_tree import read_by_git
from amiral.projects.project import Project
from amiral.projects.project_files import FOLDER
from amiral.projects.store import Projects
from amiral.projects.trust import Trust
from amiral.projects.worktrees import Worktrees
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder

ANYONE = Worker(
    *("anyone", "anyone", "·", "terminal", "", 0, ALL_TOOLS, "", "history", "text", (), "anyone")
)
_LONGEST = 1 << 20


@dataclass(frozen=True)
class Standing:
    """Where a worker would work now; `git` is what git reads for a worktree that is there."""

    folder: Path
    is_worktree: bool = False
    git: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inquiry:
    """Whose rights are asked for, in which project's folder, under which policy.

    `project` None: the folder is not served; `notices` are told with every answer.
    """

    home: Path
    root: Path
    worker: Worker
    rights: Rights
    settings: Settings
    project: Project | None
    notices: tuple[str, ...] = ()

    def right(self) -> Right:
        """Decide, which tries out what this machine holds; Denied when it holds too little."""
        return asyncio.run(self.rights.of(self.worker))

    def permissions(self) -> Permissions | None:
        """Give the permissions alone."""
        return self.rights.permissions(self.worker)

    @property
    def state(self) -> Path | None:
        """The folder of the project's state, None where none is served."""
        return self.home / "projects" / self.project.id if self.project else None

    def standing(self, *, here: bool) -> Standing:
        """Find where the worker would work: who writes in a repository has a worktree.

        `here` means the folder itself, whoever works there.
        """
        if here or not may_write(self.worker.tools):
            return Standing(self.root)
        return asyncio.run(self._standing())

    async def _standing(self) -> Standing:
        git = Git(Spawner(Brake(self.home / "brake"), ""))
        worktrees = Worktrees(git, self.root, (self.state or self.home) / "worktrees")
        if not await worktrees.is_git():
            return Standing(self.root)
        found = await worktrees.find(self.worker.id)
        if found is None:
            told = (
                f"{self.worker.id} has no worktree yet: this is the folder as if it were one; "
                "what git does not know is not in a worktree"
            )
            return Standing(self.root, is_worktree=True, notices=(told,))
        return Standing(found.folder, True, tuple(map(str, read_by_git(found.tree))))  # noqa: FBT003


def inquire(arguments: Mapping[str, Value], project: str) -> Inquiry:
    """Find the project, the worker (else anyone: with every tool) and the policy that are meant."""
    home = find_home(os.environ)
    found = _project_of(home, project)
    declared = load_declared(Trust(home), found) if found else shipped()
    root = Path(found.path) if found else Path.cwd()
    if folder := arguments.get("project_root"):
        root = Path(str(folder)).resolve()
    worker = _worker(declared, str(arguments.get("worker") or ""))
    file = arguments.get("policy")
    rules = declared.rules if file is None else _read(Path(str(file)))
    settings = _settings(home, found)
    sandbox = settings.sandbox
    rights = Rights(lambda: rules, sandbox, lambda: probed(home, sandbox), home, _untold)
    notices = (*rules.notices, *_not_served(found, root))
    return Inquiry(home, root, worker, rights, settings, found, notices)


async def probed(home: Path, sandbox: Sandbox) -> Probed:
    """Try out what this machine holds with the enforcer that is set."""
    folder = home / "run"
    for one in (home, folder):
        ensure_private_folder(one)
    return await probe(Spawner(Brake(home / "brake"), ""), folder, sandbox.enforcer)


def _settings(home: Path, project: Project | None) -> Settings:
    """Give the owner's settings, made stricter by the project's own."""
    settings = load_settings(home, os.environ)
    return narrowed_by(project, settings).settings if project else settings


def _not_served(found: Project | None, root: Path) -> tuple[str, ...]:
    """Tell of a policy that lies where nobody has served a project yet."""
    if found is not None or not (root / FOLDER / POLICY).is_file():
        return ()
    return (
        f"{FOLDER}/{POLICY} is not in force: `amiral up`, then `amiral trust permissions.json`",
    )


def _project_of(home: Path, name: str) -> Project | None:
    projects = Projects(home, Path.home())
    return projects.named(name) if name else projects.find(Path.cwd())


def _worker(declared: Declared, name: str) -> Worker:
    return declared.worker(name) if name else ANYONE


def _read(file: Path) -> Rules:
    """Read a policy that is named; Invalid with every mistake in it."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}") from None
    except OSError as error:
        raise Broken(f"cannot read {file}: {os.strerror(error.errno or 0)}") from None
    with os.fdopen(handle, "rb") as opened:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > _LONGEST:
            raise Invalid(f"{file} is no file of at most 1 MiB", "name a permissions.json")
        text = opened.read(_LONGEST).decode("utf-8", "replace")
    policy, notices = parse_policy(text, str(file))
    return Rules(policy, notices=notices)


async def _untold(_: str) -> None:
    """What holds is shown with every answer."""
