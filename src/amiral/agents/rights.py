"""What a worker may do, and how much of it the kernel holds: decided anew before each launch."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from amiral.agents.declared import Rules
from amiral.agents.needs import program_folder
from amiral.agents.worker import Worker
from amiral.base.errors import Denied
from amiral.base.settings import Sandbox
from amiral.permissions.folders import Tree
from amiral.permissions.policy import parse_own
from amiral.permissions.projection import Enforcement
from amiral.permissions.rules import Permissions, Posture, Resolved, resolve
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
    Access.LIST: kernel.LIST,
    Access.READ: kernel.READ,
    Access.WRITE: kernel.WRITE,
    Access.DELETE: kernel.DELETE,
    Access.EXECUTE: kernel.EXECUTE,
    Access.DEVICE: kernel.DEVICE,
}
_OWN = kernel.READ | kernel.LIST | kernel.WRITE | kernel.DELETE | kernel.EXECUTE
_MEND = "mend it, then `amiral trust config/permissions.json`"


@dataclass(frozen=True)
class Right:
    """`permissions` None: nothing is configured, so nothing is fenced.

    `summary` is what the worker reads about it.
    """

    permissions: Permissions | None = None
    enforcement: Enforcement = Enforcement.NONE
    summary: str = ""


@dataclass(frozen=True)
class Footing:
    """Where a program stands: in the worker's folder `root`, `own` folders being its alone.

    `programs` are folders to run programs from, `more` single grants; `is_worktree` tells that git
    and the project's configuration there are copies. `ports` are the only ones it may connect to,
    None = the network is open.
    """

    root: Path
    own: tuple[Path, ...]
    programs: tuple[str, ...] = ()
    more: tuple[tuple[str, int], ...] = ()
    is_worktree: bool = False
    has_terminals: bool = False
    ports: tuple[int, ...] | None = None


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
        return Right(permissions, held, summarise(permissions, None, held))

    def plan(self, right: Right, root: Path, *, is_worktree: bool = False) -> SandboxPlan | None:
        """Compile what is granted of the project as it stands now; None without permissions."""
        if right.permissions is None:
            return None
        known = self._trees.get(str(root))
        tree = self._trees[str(root)] = refresh(known) if known else read_tree(root)
        mode = mode_for(self._sandbox.mode, right.permissions.default)
        inert = IN_WORKTREE if is_worktree else IN_PLACE
        return compile_plan(right.permissions, tree, mode=mode, asks_first=True, inert=inert)

    def fence(self, right: Right, footing: Footing) -> Fence | None:
        """Give what a program is started behind; None when there is nothing to hold, or no way."""
        if right.enforcement is Enforcement.NONE:
            return None
        plan = self.plan(right, footing.root, is_worktree=footing.is_worktree)
        if plan is None:
            return None if footing.ports is None else self._around_private(footing)
        root = os.path.realpath(footing.root)
        self._check_root(root)
        grants = [(grant.path, bits(grant.access)) for grant in plan.grants]
        grants += self._readable(plan, root)
        grants += [(os.path.realpath(folder), _OWN) for folder in footing.own]
        grants += footing.more
        programs = filter(self._apart, (*footing.programs, *self._on_path()))
        grants += system_grants(str(Path.home()), programs, has_terminals=footing.has_terminals)
        fenced = bits(plan.fenced) | kernel.READ | kernel.LIST | kernel.DEVICE
        return Fence(tuple(grants), fenced, footing.ports)

    def _around_private(self, footing: Footing) -> Fence:
        """Close the network for who has no permissions: only what could open it again is kept."""
        whole = _OWN | kernel.DEVICE
        paths = (*reads_around(self._private), *map(str, (footing.root, *footing.own)))
        grants = [("/", kernel.LIST), *((os.path.realpath(path), whole) for path in paths)]
        return Fence((*grants, *footing.more), _OWN & ~kernel.EXECUTE, footing.ports)

    async def around(self, worker: Worker, root: Path, tmp: Path, program: str) -> Fence | None:
        """Compile what a program of the project is started behind in a worker's worktree."""
        right = await self.of(worker)
        programs = (program_folder(os.path.realpath(program)),) if program else ()
        ports = None if self._sandbox.network == "open" else ()
        footing = Footing(root, (tmp,), programs, is_worktree=True, ports=ports)
        return await asyncio.to_thread(self.fence, right, footing)

    def system(self) -> tuple[tuple[str, int], ...]:
        """Give what any program is granted of this system, to be shown."""
        return system_grants(str(Path.home()), filter(self._apart, self._on_path()))

    def _resolved(self, worker: Worker) -> Resolved:
        rules = self._rules()
        if rules.errors:
            raise Denied(f"permissions.json is in force and wrong: {rules.errors[0]}", _MEND)
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
        if self._sandbox.network != "open":
            limit = f"{worker.id} has no open network"
        elif (
            resolved.is_configured
            and resolved.permissions is not None
            and resolved.permissions.default is Posture.DENY
        ):
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
                is_venv = (folder.parent / "pyvenv.cfg").is_file()
                yield str(folder.parent if is_venv else folder)

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


def bits(access: Iterable[Access]) -> int:
    """Give the bits of a grant."""
    return sum(_BITS[one] for one in access)
