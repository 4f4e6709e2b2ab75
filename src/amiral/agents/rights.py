"""What a worker may do, and how much of it the kernel holds: decided anew before each launch."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from amiral.agents.covers import BWRAP, in_box
from amiral.agents.declared import Rules
from amiral.agents.needs import program_folders
from amiral.agents.worker import Worker
from amiral.base.errors import Denied
from amiral.base.settings import Sandbox
from amiral.permissions.folders import Tree
from amiral.permissions.policy import parse_own
from amiral.permissions.projection import Enforcement
from amiral.permissions.rules import Permissions, Posture, Resolved, may_ask, resolve
from amiral.permissions.sandbox import Access, SandboxPlan, compile_plan, mode_for
from amiral.permissions.summary import summarise
from amiral.permissions.tree import read_tree, refresh
from amiral.processes import fence as kernel
from amiral.processes.fence import Fence, system_grants
from amiral.processes.probe import Probed
from amiral.processes.reads import private_folders, reads_around

IN_PLACE = frozenset({".amiral"})
"""What lies there has no effect until its content is trusted (docs/concepts/trust.md)."""

IN_WORKTREE = IN_PLACE | {".git", ".claude", ".mcp.json", ".codex", ".envrc", ".vscode"}
"""Of a worktree nothing has an effect before it is merged, and the diff shows it until then."""

_BITS = {
    Access.READ: kernel.READ,
    Access.WRITE: kernel.WRITE,
    Access.DELETE: kernel.DELETE,
    Access.EXECUTE: kernel.EXECUTE,
    Access.DEVICE: kernel.DEVICE,
    Access.LIST: kernel.LIST,
}
_OWN = kernel.READ | kernel.LIST | kernel.WRITE | kernel.DELETE | kernel.EXECUTE
_UNASKED = "what permissions.json asks is refused here, where nobody can be asked"

Grants = tuple[tuple[str, int], ...]
"""Absolute paths without links, each with the bits that are granted at and below it."""


@dataclass(frozen=True)
class Right:
    """`permissions` None: nothing is configured, so nothing is fenced."""

    permissions: Permissions | None = None
    enforcement: Enforcement = Enforcement.NONE


@dataclass(frozen=True)
class Footing:
    """Where a program stands: in the worker's folder `root`, `own` folders being its alone.

    `programs` are folders to run programs from, `login` what it may do where its login lies, `git`
    what it reads for a linked worktree; `is_worktree` tells that git and the project's
    configuration in `root` are copies. With `can_ask` a person answers before what a rule asks is
    done; else it is denied. `ports`: the only ones it may connect to, None = the network is open.
    """

    root: Path
    own: tuple[Path, ...]
    programs: tuple[str, ...] = ()
    login: Grants = ()
    git: tuple[str, ...] = ()
    is_worktree: bool = False
    can_ask: bool = False
    ports: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Bounds:
    """What a program is started behind: `fence` None when nothing is to be held, or no way.

    `plan` is what was compiled of the project, None without permissions, and `grants` all that the
    fence grants, by what it is for. `summary` is what a worker reads about it; `unasked` says that
    what a rule asks is denied, "" when no rule does or somebody can be asked.
    """

    fence: Fence | None = None
    plan: SandboxPlan | None = None
    grants: Mapping[str, Grants] = field(default_factory=dict)
    summary: str = ""
    unasked: str = ""


class Rights:
    """`rules` gives what is in force now; `probe` tries once what this machine holds.

    `home` is amiral's own: no agent's. `warn` tells the owner.
    """

    def __init__(
        self,
        rules: Callable[[], Rules],
        sandbox: Sandbox,
        probe: Callable[[], Awaitable[Probed]],
        home: Path,
        warn: Callable[[str], Awaitable[None]],
    ) -> None:
        self._rules, self._sandbox, self._probe = rules, sandbox, probe
        self._warn, self._warned = warn, ""
        self._private = private_folders(home)
        self._probed: Probed | None = None
        self._trees: dict[str, Tree] = {}

    def permissions(self, worker: Worker) -> Permissions | None:
        """Give a worker's permissions; Denied while the file in force is wrong."""
        return self._resolved(worker).permissions

    async def of(self, worker: Worker) -> Right:
        """Decide for a worker; Denied when what must be denied cannot be held here."""
        resolved = self._resolved(worker)
        permissions, is_closed = resolved.permissions, self._sandbox.network != "open"
        if permissions is None and not is_closed:
            return Right()
        held, why = await self._held()
        if held is Enforcement.NONE:
            self._refuse(worker, resolved, why)
            await self._tell(why)
        if permissions is None:
            return Right(enforcement=held)
        return Right(permissions, held)

    def compile(self, right: Right, footing: Footing) -> Bounds:
        """Compile what a program is started behind, of the project as it stands now."""
        permissions, network = right.permissions, self._sandbox.network
        if right.enforcement is Enforcement.NONE:
            return Bounds(summary=summarise(permissions, None, network, right.enforcement))
        plan = self._plan(permissions, footing)
        summary = summarise(permissions, plan, network, right.enforcement)
        if permissions is None or plan is None:
            return self._closing(footing, summary) if footing.ports is not None else Bounds()
        root = os.path.realpath(footing.root)
        self._check_root(root)
        programs = filter(self._apart, (*footing.programs, *self._on_path()))
        grants = {
            "project": tuple((grant.path, bits(grant.access)) for grant in plan.grants),
            "elsewhere": tuple(self._readable(plan, root)),
            **_own(footing, _OWN),
            "system": system_grants(str(Path.home()), programs),
        }
        fenced = bits(plan.fenced) | kernel.READ | kernel.LIST | kernel.DEVICE
        fence = Fence(tuple(chain.from_iterable(grants.values())), fenced, footing.ports, root=root)
        unasked = "" if footing.can_ask or not may_ask(permissions) else _UNASKED
        return Bounds(in_box(fence, self._sandbox.enforcer, plan), plan, grants, summary, unasked)

    def _closing(self, footing: Footing, summary: str) -> Bounds:
        """Close the network for who has no permissions: only what could open it again is kept."""
        whole, root = _OWN | kernel.DEVICE, os.path.realpath(footing.root)
        reads = ((os.path.realpath(path), whole) for path in reads_around(self._private))
        grants = {
            "project": ((root, whole),),
            "elsewhere": (("/", kernel.LIST), *reads),
            **_own(footing, whole),
        }
        granted = tuple(chain.from_iterable(grants.values()))
        fence = Fence(granted, _OWN & ~kernel.EXECUTE, footing.ports, root=root)
        return Bounds(in_box(fence, self._sandbox.enforcer), None, grants, summary)

    async def around(self, worker: Worker, root: Path, tmp: Path, program: str) -> Bounds:
        """Compile what a program of the project is started behind in a worker's worktree.

        Nobody can be asked while it runs.
        """
        right = await self.of(worker)
        programs = places_of(program) if program else ()
        ports = None if self._sandbox.network == "open" else ()
        footing = Footing(root, (tmp,), programs, is_worktree=True, ports=ports)
        return await asyncio.to_thread(self.compile, right, footing)

    def _plan(self, permissions: Permissions | None, footing: Footing) -> SandboxPlan | None:
        if permissions is None:
            return None
        inert = IN_WORKTREE if footing.is_worktree else IN_PLACE
        mode = mode_for(self._sandbox.mode, permissions.default)
        return compile_plan(
            permissions,
            self._tree(footing.root),
            mode=mode,
            asks_first=footing.can_ask,
            inert=inert,
            has_covers=self._sandbox.enforcer == BWRAP,
        )

    def _tree(self, root: Path) -> Tree:
        """Read a folder, or again what changed in it; folders that are gone are forgotten."""
        for other in [known for known in list(self._trees) if not Path(known).is_dir()]:
            self._trees.pop(other, None)
        known = self._trees.get(str(root))
        tree = self._trees[str(root)] = refresh(known) if known else read_tree(root)
        return tree

    def _resolved(self, worker: Worker) -> Resolved:
        rules = self._rules()
        if rules.errors:
            raise Denied(f"nobody may start: {rules.errors[0]}", rules.mend)
        text = worker.permissions
        own = parse_own(text, f"permissions of {worker.id}") if text else None
        return resolve(rules.policy, worker.id, worker.tools, own)

    async def _tell(self, why: str) -> None:
        """Tell once that permissions are in the hands of the CLIs alone (R49)."""
        if why != self._warned:
            self._warned = why
            await self._warn(f"only the CLIs themselves hold permissions here: {why}")

    def _refuse(self, worker: Worker, resolved: Resolved, why: str) -> None:
        """Start nobody whose limits only the kernel could hold, where it does not."""
        default = resolved.permissions.default if resolved.permissions else None
        if self._sandbox.network != "open":
            limit = f"{worker.id} has no open network"
        elif default is not None and self._sandbox.enforcer == BWRAP:
            limit = f'{worker.id} has permissions, and [sandbox] enforcer is "{BWRAP}"'
        elif default is Posture.DENY and resolved.is_configured:
            limit = f"{worker.id} is denied by default"
        else:
            return
        raise Denied(f"{limit}, which nothing can hold here: {why}", "amiral permissions probe")

    async def _held(self) -> tuple[Enforcement, str]:
        if self._sandbox.enforcer == "none":
            return Enforcement.NONE, '[sandbox] enforcer is "none"'
        found = self._probed or await self._probe()
        if found.status != "none" or found.abi < kernel.LEAST_ABI:
            # A trial that could not be made proves nothing: it is made again.
            self._probed = found
        return Enforcement(found.status), "; ".join(found.reasons)

    def _on_path(self) -> Iterator[str]:
        """Name the folders on PATH, a virtual environment whole: the first program found is run."""
        for folder in map(Path, os.environ.get("PATH", "").split(os.pathsep)):
            if folder.is_absolute():
                yield _environment(folder)

    def _check_root(self, root: str) -> None:
        """See that a project, which is granted as a whole, holds nothing private (K4)."""
        for path in self._private:
            if path.exists() and _holds(root, os.path.realpath(path)):
                raise Denied(
                    f"{path} lies in the project {root}, where its workers would reach it",
                    "serve a folder that holds no logins, with AMIRAL_HOME outside of it",
                )

    def _apart(self, path: str) -> bool:
        """Tell whether programs may be read there: a file, or a folder apart from the private."""
        real = os.path.realpath(path)
        return Path(real).is_file() or not any(
            _holds(real, hidden) or _holds(hidden, real) for hidden in self._hidden()
        )

    def _hidden(self) -> list[str]:
        return [os.path.realpath(path) for path in self._private if path.exists()]

    def _readable(self, plan: SandboxPlan, root: str) -> Iterator[tuple[str, int]]:
        """Names may be listed everywhere, since they can be asked for one by one anyway."""
        yield "/", kernel.LIST
        if Access.READ not in plan.fenced:
            yield root, kernel.READ
            yield from ((path, kernel.READ) for path in reads_around(self._private))


def _holds(folder: str, path: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def _own(footing: Footing, granted: int) -> Mapping[str, Grants]:
    return {
        "own": tuple((os.path.realpath(folder), granted) for folder in footing.own),
        "login": footing.login,
        "git": tuple((folder, kernel.READ) for folder in footing.git),
    }


def places_of(program: str) -> tuple[str, ...]:
    """Name what is read and run for an installed program: where it is found, and where it lies."""
    found = _environment(Path(program).parent)
    return (found, *program_folders(os.path.realpath(program)))


def _environment(folder: Path) -> str:
    """Give a folder of programs, the whole virtual environment when it is one's."""
    is_venv = (folder.parent / "pyvenv.cfg").is_file()
    return str(folder.parent if is_venv else folder)


def bits(access: Iterable[Access]) -> int:
    """Give the bits of a grant."""
    return sum(_BITS[one] for one in access)


def words(granted: int) -> tuple[str, ...]:
    """Say what bits of a grant allow."""
    return tuple(str(access) for access, bit in _BITS.items() if granted & bit)
