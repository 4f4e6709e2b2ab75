"""The fence a worker's program is started behind, compiled of the project as it stands now."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from amiral.agents.covers import BWRAP, in_box
from amiral.agents.grants import Grants, Private, bits, on_path
from amiral.base.settings import Sandbox
from amiral.permissions.folders import Tree
from amiral.permissions.projection import Enforcement
from amiral.permissions.protected import IN_PLACE, IN_WORKTREE
from amiral.permissions.rules import Permissions, may_ask
from amiral.permissions.sandbox import Access, SandboxPlan, compile_plan, mode_for
from amiral.permissions.summary import summarise
from amiral.permissions.tree import read_tree, refresh
from amiral.processes import fence as kernel
from amiral.processes.fence import Fence, system_grants

_OWN = kernel.READ | kernel.LIST | kernel.WRITE | kernel.DELETE | kernel.EXECUTE
_UNASKED = "what permissions.json asks is refused here, where nobody can be asked"


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


class Fencing:
    """Compiles fences by `[sandbox]`; `home` is amiral's own: no agent's."""

    def __init__(self, sandbox: Sandbox, home: Path) -> None:
        self._sandbox, self._private = sandbox, Private(home)
        self._trees: dict[str, Tree] = {}

    def compile(self, right: Right, footing: Footing) -> Bounds:
        """Compile what a program is started behind; Denied for a project that holds logins."""
        permissions, network = right.permissions, self._sandbox.network
        if right.enforcement is Enforcement.NONE:
            return Bounds(summary=summarise(permissions, None, network, right.enforcement))
        plan = self._plan(permissions, footing)
        summary = summarise(permissions, plan, network, right.enforcement)
        if permissions is None or plan is None:
            return self._closing(footing, summary) if footing.ports is not None else Bounds()
        root = os.path.realpath(footing.root)
        self._private.check_root(root)
        programs = filter(self._private.is_apart, (*footing.programs, *on_path()))
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
        reads = ((os.path.realpath(path), whole) for path in self._private.around())
        grants = {
            "project": ((root, whole),),
            "elsewhere": (("/", kernel.LIST), *reads),
            **_own(footing, whole),
        }
        granted = tuple(chain.from_iterable(grants.values()))
        fence = Fence(granted, _OWN & ~kernel.EXECUTE, footing.ports, root=root)
        return Bounds(in_box(fence, self._sandbox.enforcer), None, grants, summary)

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

    def _readable(self, plan: SandboxPlan, root: str) -> Iterator[tuple[str, int]]:
        """Names may be listed everywhere, since they can be asked for one by one anyway."""
        yield "/", kernel.LIST
        if Access.READ not in plan.fenced:
            yield root, kernel.READ
            yield from ((path, kernel.READ) for path in self._private.around())


def _own(footing: Footing, granted: int) -> Mapping[str, Grants]:
    return {
        "own": tuple((os.path.realpath(folder), granted) for folder in footing.own),
        "login": footing.login,
        "git": tuple((folder, kernel.READ) for folder in footing.git),
    }
