"""Pure: which folders and files of a tree one capability reaches, and what keeps it from more.

A folder is granted with all below it, now and later, when one allow provably means all of it and
nothing stands in the way: a deny that could mean something there (strict: ever; snapshot: of what
exists), a protected name, a file that is also known by a name that is not allowed. Otherwise its
folders are looked at one by one, and its files are granted singly; links never. Where there are
covers, an existing file or folder that is denied is no obstacle (`covering`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from amiral.permissions.folders import Folder, Kind, Path, Tree
from amiral.permissions.protected import is_workspace
from amiral.permissions.scope import Obstacle, Place, Scope, shown, start
from amiral.permissions.second_names import Links, links_of

# Plans that are remembered of a folder: those of some workers.
MEMORY = 16


@dataclass(frozen=True)
class Reach:
    """What is granted at and below a folder, and which folders would be but for an obstacle."""

    folders: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()
    split: tuple[tuple[Path, Obstacle], ...] = ()
    obstacle: Obstacle | None = None


_Key = tuple[Scope, Place, tuple[tuple[Path, Obstacle | None], ...]]
_remembered: WeakKeyDictionary[Folder, dict[_Key, Reach]] = WeakKeyDictionary()


def reach_of(scope: Scope, tree: Tree) -> Reach:
    """Find what a capability reaches; what did not change since an earlier tree is remembered."""
    place = start(scope)
    if place.denial is not None:
        return Reach(obstacle=scope.denied(place.denial))
    return _Survey(scope, links_of(scope, tree)).reach(tree.top, place)


class _Survey:
    """One walk over a tree for one scope."""

    def __init__(self, scope: Scope, links: Links) -> None:
        self._scope = scope
        self._links = links

    def reach(self, folder: Folder, place: Place) -> Reach:
        known = _remembered.setdefault(folder, {})
        key = (self._scope, place, self._links.get(folder.path, ()))
        found = known.get(key)
        if found is None:
            if len(known) >= MEMORY:
                known.clear()
            known[key] = found = self._looked_at(folder, place)
        return found

    def _looked_at(self, folder: Folder, place: Place) -> Reach:
        inner = [self._into(child, place) for child in folder.folders]
        obstacle = next(self._obstacles(folder, place, inner), None)
        if place.is_open and obstacle is None:
            return Reach(folders=(folder.path,))
        split = ((folder.path, obstacle),) if place.is_open and obstacle is not None else ()
        own = Reach((), self._files(folder, place), split)
        return _joined([own, *inner], obstacle)

    def _into(self, folder: Folder, place: Place) -> Reach:
        inside = place.into(folder.path[-1])
        if inside.denial is not None:
            has_covers = self._scope.has_covers
            return Reach(obstacle=None if has_covers else self._scope.denied(inside.denial))
        if not self._scope.protects(folder.path):
            return self.reach(folder, inside)
        open_ones = [self._into(one, inside) for one in folder.folders if is_workspace(one.path)]
        is_covered = self._scope.has_covers and not open_ones
        return _joined(open_ones, None if is_covered else _protected(folder.path))

    def _obstacles(self, folder: Folder, place: Place, inner: list[Reach]) -> Iterator[Obstacle]:
        if not folder.is_whole:
            why = f"{shown(folder.path)} cannot be read whole"
            yield Obstacle(why, "make it readable", (folder.path,))
        if self._scope.is_strict and place.deny:
            yield self._scope.denied(place.deny[0][0])
        if not self._scope.has_covers:
            yield from (found for _, found in self._links.get(folder.path, ()) if found is not None)
        for entry in folder.entries:
            if self._scope.has_covers and entry.kind is Kind.FILE:
                continue
            path = (*folder.path, entry.name)
            if self._scope.protects(path):
                yield _protected(path)
            denial = place.into(entry.name).denial if place.deny else None
            if denial is not None:
                yield self._scope.denied(denial)
        yield from (reach.obstacle for reach in inner if reach.obstacle is not None)

    def _files(self, folder: Folder, place: Place) -> tuple[Path, ...]:
        """Choose what may be granted by itself: that is, under each name it has."""
        if not place.allow:
            return ()
        links = dict(self._links.get(folder.path, ()))
        files = (entry for entry in folder.entries if entry.kind is Kind.FILE)
        pairs = (((*folder.path, entry.name), entry.names > 1) for entry in files)
        return tuple(
            path
            for path, is_shared in pairs
            if links.get(path) is None
            and not (self._scope.is_change and (is_shared or path in links))
            and self._scope.allows(path, place)
        )


def _joined(parts: list[Reach], obstacle: Obstacle | None) -> Reach:
    return Reach(
        tuple(path for part in parts for path in part.folders),
        tuple(path for part in parts for path in part.files),
        tuple(pair for part in parts for pair in part.split),
        obstacle,
    )


def _protected(path: Path) -> Obstacle:
    instead = "what is there can be changed only by the owner"
    return Obstacle(f"{path[-1]} is protected by name", instead, (path[-1:],))
