"""Pure: what the kernel is to grant of a project's folder, compiled from a worker's permissions.

Nothing is granted that the permissions deny; what cannot be granted without granting more is left
out, and told. Links are never granted, nor what `protected` names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from amiral.permissions.folders import Path, Tree
from amiral.permissions.globs import ANY_DEPTH, Glob, parse_glob
from amiral.permissions.reach import Reach, reach_of
from amiral.permissions.rules import Capability, Permissions, Posture, rules_for, sound
from amiral.permissions.scope import Denial, Scope
from amiral.permissions.second_names import names_outside
from amiral.permissions.shortfalls import further_names, nearest, shortfalls, unheld


class Access(StrEnum):
    """What the kernel can grant; a folder's grant holds for all below it, now and later.

    READ has LIST in it: seeing the names in folders, which nothing else hides either.
    """

    READ = "read"
    LIST = "list"
    WRITE = "write"
    DELETE = "delete"
    EXECUTE = "execute"
    DEVICE = "device"


@dataclass(frozen=True)
class Grant:
    """`path` is absolute and canonical, and led to by no link."""

    path: str
    access: frozenset[Access]


@dataclass(frozen=True)
class SandboxPlan:
    """What is granted of the project; `fenced` is refused wherever no grant says otherwise."""

    grants: tuple[Grant, ...]
    fenced: frozenset[Access]
    posture: Posture
    diagnostics: tuple[str, ...]


class Mode(StrEnum):
    """Whether a deny also keeps out what does not exist yet, or only what does."""

    STRICT = "strict"
    SNAPSHOT = "snapshot"


_EVERYTHING = Glob((ANY_DEPTH,))
_UNANSWERED = " (a deny, as nobody can be asked)"
_CAPABILITIES = {
    Access.READ: Capability.READ,
    Access.WRITE: Capability.WRITE,
    Access.DELETE: Capability.DELETE,
}


def mode_for(setting: str, posture: Posture) -> Mode:
    """Choose by `sandbox.mode`; `auto` is strict where the default posture is deny."""
    if setting == "auto":
        return Mode.STRICT if posture is Posture.DENY else Mode.SNAPSHOT
    return Mode(setting)


def compile_plan(
    permissions: Permissions | None,
    tree: Tree,
    *,
    mode: Mode,
    asks_first: bool,
    inert: frozenset[str] = frozenset(),
) -> SandboxPlan | None:
    """Compile the grants below the project's root; None where nothing is configured.

    An ask counts as allow with `asks_first` (someone answers before it is done), else as deny.
    Reading is fenced only when a rule or the default keeps something from being read (S3.79).
    `inert` names what lies protected at the root yet holds nothing here, as a worktree's `.git`.
    """
    if permissions is None:
        return None
    rules, unread = sound(permissions.rules)
    permissions = Permissions(permissions.default, rules)
    how = _How(mode, asks_first, inert)
    scopes = {access: _scope(permissions, access, how) for access in _CAPABILITIES}
    if how.is_allow(permissions.default) and not scopes[Access.READ].deny:
        del scopes[Access.READ]
    found = {scope: reach_of(scope, tree) for scope in set(scopes.values())}
    reaches = {access: found[scope] for access, scope in scopes.items()}
    told = [*unread, *_of_single_names(permissions, scopes[Access.WRITE])]
    write, delete = reaches[Access.WRITE], reaches[Access.DELETE]
    told += shortfalls(write, delete, reaches.get(Access.READ), inert)
    if mode is Mode.SNAPSHOT:
        told += unheld(scopes[Access.WRITE].deny, write)
        told += further_names(names_outside(tree))
    grants = _grants(reaches, tree.root)
    return SandboxPlan(grants, frozenset(scopes), permissions.default, tuple(told))


@dataclass(frozen=True)
class _How:
    mode: Mode
    asks_first: bool
    inert: frozenset[str]

    def is_allow(self, posture: Posture) -> bool:
        return posture is Posture.ALLOW or (posture is Posture.ASK and self.asks_first)


def _scope(permissions: Permissions, access: Access, how: _How) -> Scope:
    allow, deny = list[Glob](), list[Denial]()
    for rule in rules_for(permissions, _CAPABILITIES[access]):
        glob = parse_glob(rule.match)
        is_asked = rule.posture is Posture.ASK
        if not how.is_allow(rule.posture):
            deny.append(Denial(glob, f"{rule}{_UNANSWERED if is_asked else ''}"))
        else:
            # What is asked for is all below too, as for a deny.
            allow += [glob, parse_glob(f"{glob}/{ANY_DEPTH}")] if is_asked else [glob]
    if how.is_allow(permissions.default):
        allow.append(_EVERYTHING)
    is_change = access is not Access.READ
    return Scope(tuple(allow), tuple(deny), how.mode is Mode.STRICT, is_change, how.inert)


def _of_single_names(permissions: Permissions, scope: Scope) -> list[str]:
    if _EVERYTHING in (*scope.allow, *(denial.glob for denial in scope.deny)):
        return []
    return [
        f"{rule}: it means no whole folder, so only files that are there can be changed; end it "
        "with /** to let new ones be made"
        for rule in rules_for(permissions, Capability.WRITE)
        if rule.posture is Posture.ALLOW and not rule.match.endswith(ANY_DEPTH)
    ]


def _grants(reaches: Mapping[Access, Reach], root: str) -> tuple[Grant, ...]:
    found: dict[Path, set[Access]] = {(): {Access.LIST}} if Access.READ in reaches else {}
    for access, reach in reaches.items():
        # Deleting is a right on the folder a file lies in.
        files = () if access is Access.DELETE else nearest(reach.files)
        for path in (*reach.folders, *files):
            found.setdefault(path, set()).add(access)
    return tuple(Grant("/".join((root, *path)), frozenset(found[path])) for path in sorted(found))
