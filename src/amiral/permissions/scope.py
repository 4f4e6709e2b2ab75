"""Pure: what one capability may touch, carried down a tree a name at a time."""

from dataclasses import dataclass

from amiral.base.plain import one_line
from amiral.permissions.folders import Path
from amiral.permissions.globs import (
    Glob,
    Spots,
    begin,
    deny_step,
    is_matched,
    is_open_below,
    step,
)
from amiral.permissions.protected import is_protected, lies_protected


@dataclass(frozen=True)
class Denial:
    """A glob of a deny and where it is written."""

    glob: Glob
    source: str


@dataclass(frozen=True)
class Scope:
    """What one capability may touch.

    With `is_strict` a deny also means what does not exist yet. `is_change` is true of writing and
    deleting. `inert` are names at the top whose protection is waived. With `has_covers` what must
    not be touched in a granted folder gets a cover of its own (`covering`).
    """

    allow: tuple[Glob, ...]
    deny: tuple[Denial, ...]
    is_strict: bool
    is_change: bool
    inert: frozenset[str]
    has_covers: bool = False

    def allows(self, path: Path, place: "Place") -> bool:
        """Tell whether a name may be touched by itself; `place` is that of the folder it is in."""
        here = place.into(path[-1])
        return here.denial is None and here.is_allowed and not self.protects(path)

    def protects(self, path: Path) -> bool:
        """Tell whether a path is kept from change by its own name."""
        return self._minds(path) and is_protected(path)

    def shields(self, path: Path) -> bool:
        """Tell whether a path is kept from change by its name or that of a folder around it."""
        return self._minds(path) and lies_protected(path)

    def _minds(self, path: Path) -> bool:
        return self.is_change and self.inert.isdisjoint(path[:1])

    def denied(self, denial: Denial) -> "Obstacle":
        """Say that a deny stands in the way."""
        instead = "keep what it means behind a folder of its own"
        if self.is_strict:
            instead += ', or set sandbox.mode to "snapshot", which keeps out only what is there'
        return Obstacle(denial.source, instead)


@dataclass(frozen=True)
class Obstacle:
    """Why a folder is not granted as a whole, and what the owner can do about it.

    `named` are the paths that `why` names.
    """

    why: str
    instead: str
    named: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Place:
    """How far every glob got at a path; those that mean nothing from here on are left out."""

    allow: tuple[tuple[Glob, Spots], ...]
    deny: tuple[tuple[Denial, Spots], ...]

    def into(self, name: str) -> "Place":
        """Go down one name."""
        allow = ((glob, step(glob, spots, name)) for glob, spots in self.allow)
        deny = ((denial, deny_step(denial.glob, spots, name)) for denial, spots in self.deny)
        return Place(
            tuple(pair for pair in allow if pair[1]), tuple(pair for pair in deny if pair[1])
        )

    @property
    def is_allowed(self) -> bool:
        """Whether an allow means exactly this path."""
        return any(is_matched(glob, spots) for glob, spots in self.allow)

    @property
    def is_open(self) -> bool:
        """Whether an allow means everything below."""
        return any(is_open_below(glob, spots) for glob, spots in self.allow)

    @property
    def denial(self) -> Denial | None:
        """The first deny that means this path."""
        found = (denial for denial, spots in self.deny if is_matched(denial.glob, spots))
        return next(found, None)


def start(scope: Scope) -> Place:
    """Stand at the root."""
    return Place(
        tuple((glob, begin(glob)) for glob in scope.allow),
        tuple((denial, begin(denial.glob)) for denial in scope.deny),
    )


def shown(path: Path) -> str:
    """Write a path for people."""
    return one_line("/".join(path)) or "the root"
