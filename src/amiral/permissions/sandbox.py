"""Pure: what the kernel is to grant of a project's folder, compiled from a worker's permissions.

Nothing is granted that the permissions deny; what cannot be granted without granting more is left
out, and told. Links are never granted, nor what `protected` names.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from amiral.permissions.covering import MAX_COVERS, covered
from amiral.permissions.folders import Path, Tree
from amiral.permissions.globs import ANY_DEPTH, Glob, parse_glob
from amiral.permissions.reach import Reach, reach_of
from amiral.permissions.rules import Capability, Permissions, Posture, rules_for, sound
from amiral.permissions.scope import Denial, Obstacle, Scope
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
class Closed:
    """Folders that take no new file though the rules allow some there; `why` names `named`."""

    folders: tuple[Path, ...]
    why: str
    named: tuple[Path, ...]


@dataclass(frozen=True)
class Cover:
    """`path` is absolute and canonical; what is not hidden can be read, but never changed."""

    path: str
    is_folder: bool
    is_hidden: bool

    def __str__(self) -> str:
        return f"  {self.path}  {'hidden' if self.is_hidden else 'kept'}"


@dataclass(frozen=True)
class SandboxPlan:
    """What is granted below `root`; `fenced` is refused wherever no grant says otherwise.

    `diagnostics` tell the owner what the rules allow and the kernel is not given. The grants are
    for a program that finds `covers` over what it must not touch in them.
    """

    root: str
    grants: tuple[Grant, ...]
    fenced: frozenset[Access]
    posture: Posture
    closed: tuple[Closed, ...]
    diagnostics: tuple[str, ...]
    covers: tuple[Cover, ...] = ()


class Mode(StrEnum):
    """Whether a deny also keeps out what does not exist yet, or only what does."""

    STRICT = "strict"
    SNAPSHOT = "snapshot"


_EVERYTHING = Glob((ANY_DEPTH,))
_TOO_MANY = (
    f"more than {MAX_COVERS} files and folders are denied in what is allowed: nothing is covered"
)
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
    has_covers: bool = False,
) -> SandboxPlan | None:
    """Compile the grants below the project's root; None where nothing is configured.

    An ask counts as allow with `asks_first` (someone answers before it is done), else as deny.
    Reading is fenced only when a rule or the default keeps something from being read (S3.79).
    `inert` names what lies protected at the root yet holds nothing here, as a worktree's `.git`.
    With `has_covers`, programs can be given covers.
    """
    if permissions is None:
        return None
    rules, unread = sound(permissions.rules)
    permissions = Permissions(permissions.default, rules)
    scopes = _scopes(permissions, _How(mode, asks_first, inert), has_covers=has_covers)
    found = {scope: reach_of(scope, tree) for scope in set(scopes.values())}
    reaches = {access: found[scope] for access, scope in scopes.items()}
    covers = _covers(scopes, reaches, tree)
    if len(covers) > MAX_COVERS:
        plan = compile_plan(permissions, tree, mode=mode, asks_first=asks_first, inert=inert)
        return plan and replace(plan, diagnostics=(*unread, _TOO_MANY, *plan.diagnostics))
    told = [*unread, *_of_single_names(permissions, scopes[Access.WRITE])]
    write, delete = reaches[Access.WRITE], reaches[Access.DELETE]
    told += shortfalls(write, delete, reaches.get(Access.READ), inert)
    if mode is Mode.SNAPSHOT:
        told += unheld(scopes[Access.WRITE].deny, write)
        told += further_names(names_outside(tree))
    grants, closed = _grants(reaches, tree.root, covers), _closed(write)
    default = permissions.default
    return SandboxPlan(
        tree.root, grants, frozenset(scopes), default, closed, tuple(told), tuple(covers.values())
    )


@dataclass(frozen=True)
class _How:
    mode: Mode
    asks_first: bool
    inert: frozenset[str]

    def is_allow(self, posture: Posture) -> bool:
        return posture is Posture.ALLOW or (posture is Posture.ASK and self.asks_first)


def _scopes(permissions: Permissions, how: _How, *, has_covers: bool) -> Mapping[Access, Scope]:
    scopes = {access: _scope(permissions, access, how) for access in _CAPABILITIES}
    # A cover keeps from being written and deleted alike.
    is_same = scopes[Access.WRITE] == scopes[Access.DELETE]
    for access in _CAPABILITIES if has_covers else ():
        is_coverable = is_same or access is Access.READ
        scopes[access] = replace(scopes[access], has_covers=is_coverable)
    if how.is_allow(permissions.default) and not scopes[Access.READ].deny:
        del scopes[Access.READ]
    return scopes


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


def _covers(
    scopes: Mapping[Access, Scope], reaches: Mapping[Access, Reach], tree: Tree
) -> Mapping[Path, Cover]:
    """Lay covers over what is granted; what lies in a hidden folder is hidden with it."""
    found: dict[Path, Cover] = {}
    for access in (Access.READ, Access.WRITE):
        if access in scopes:
            for one in covered(scopes[access], tree, reaches[access]):
                if not _is_in(one.path, found):
                    path = "/".join((tree.root, *one.path))
                    found[one.path] = Cover(path, one.is_folder, is_hidden=access is Access.READ)
    return found


def _is_in(path: Path, folders: Collection[Path]) -> bool:
    return any(path[:end] in folders for end in range(len(path) + 1))


def _closed(write: Reach) -> tuple[Closed, ...]:
    folders: dict[Obstacle, list[Path]] = {}
    for path, obstacle in write.split:
        folders.setdefault(obstacle, []).append(path)
    return tuple(Closed(tuple(paths), one.why, one.named) for one, paths in folders.items())


def _grants(
    reaches: Mapping[Access, Reach], root: str, covers: Mapping[Path, Cover]
) -> tuple[Grant, ...]:
    hidden = {path for path, cover in covers.items() if cover.is_hidden}
    found: dict[Path, set[Access]] = {(): {Access.LIST}} if Access.READ in reaches else {}
    for access, reach in reaches.items():
        # Deleting is a right on the folder a file lies in.
        files = () if access is Access.DELETE else nearest(reach.files)
        for path in (*reach.folders, *files):
            if not _is_in(path, hidden):
                found.setdefault(path, set()).add(access)
    return tuple(Grant("/".join((root, *path)), frozenset(found[path])) for path in sorted(found))
