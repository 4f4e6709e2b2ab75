"""Pure: files that are known by several names, and what that takes from what may be granted.

A right on a file is a right on all its names. What is granted under one name must therefore be
allowed under every other; strict, a name outside the project counts as one that is not allowed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from amiral.permissions.folders import FileId, Folder, Path, Tree
from amiral.permissions.scope import Obstacle, Place, Scope, shown, start

_INSTEAD = "copy the file, so that it has one name"

# By path of a folder, the names at and below it that matter for more than their own entry says:
# with what is wrong, or None where it has become a second name since it was read.
Links = Mapping[Path, tuple[tuple[Path, Obstacle | None], ...]]


@dataclass(frozen=True)
class _Names:
    """The names a file has in a tree, how many in all, and those read when it had one alone."""

    paths: tuple[Path, ...]
    count: int
    stale: tuple[Path, ...]


_names: WeakKeyDictionary[Folder, Mapping[FileId, _Names]] = WeakKeyDictionary()
_refused: WeakKeyDictionary[Folder, dict[tuple[Scope, Place], frozenset[FileId]]] = (
    WeakKeyDictionary()
)
MEMORY = 16


def links_of(scope: Scope, tree: Tree) -> Links:
    """Find every name that must not be granted, or not by itself, because of another."""
    if not tree.top.shared:
        return {}
    names = _names_of(tree)
    wrong = dict(_wrong(scope, tree, names))
    below: dict[Path, list[tuple[Path, Obstacle | None]]] = {}
    for file_id, found in names.items():
        obstacle = wrong.get(file_id)
        for path in found.stale if obstacle is None else found.paths:
            for depth in range(len(path)):
                below.setdefault(path[:depth], []).append((path, obstacle))
    return {path: tuple(told) for path, told in below.items()}


def names_outside(tree: Tree) -> list[Path]:
    """List the files that have more names than the tree shows, each by its first name."""
    found = _names_of(tree).values() if tree.top.shared else ()
    return [names.paths[0] for names in found if names.count > len(names.paths)]


def _names_of(tree: Tree) -> Mapping[FileId, _Names]:
    known = _names.get(tree.top)
    if known is None:
        known = _names[tree.top] = _collected(tree.top)
    return known


def _collected(top: Folder) -> dict[FileId, _Names]:
    found: dict[FileId, list[tuple[Path, int]]] = {}
    for folder in top.walk():
        if top.shared.isdisjoint(folder.file_ids):
            continue
        for entry in folder.entries:
            if entry.file_id in top.shared:
                pair = ((*folder.path, entry.name), entry.names)
                found.setdefault(entry.file_id, []).append(pair)
    return {
        file_id: _Names(
            tuple(path for path, _ in pairs),
            max(count for _, count in pairs),
            tuple(path for path, count in pairs if count == 1),
        )
        for file_id, pairs in found.items()
    }


def _wrong(
    scope: Scope, tree: Tree, names: Mapping[FileId, _Names]
) -> Iterator[tuple[FileId, Obstacle]]:
    if scope.is_strict and scope.is_change:
        for file_id, found in names.items():
            if found.count > len(found.paths):
                why = f"{shown(found.paths[0])} has names outside the project"
                yield file_id, Obstacle(why, _INSTEAD, found.paths[:1])
    for folder, place in _placed(tree.top, start(scope)):
        for file_id in tree.top.shared & _refused_in(scope, folder, place):
            refused = {(*folder.path, e.name) for e in folder.entries if e.file_id == file_id}
            others = [path for path in names[file_id].paths if path not in refused]
            named = min(others or refused), min(refused)
            why = f"{shown(named[0])} is the same file as {shown(named[1])}"
            yield file_id, Obstacle(why, _INSTEAD, named)


def _placed(folder: Folder, place: Place) -> Iterator[tuple[Folder, Place]]:
    yield folder, place
    for inner in folder.folders:
        yield from _placed(inner, place.into(inner.path[-1]))


def _refused_in(scope: Scope, folder: Folder, place: Place) -> frozenset[FileId]:
    """Give the files right here that may not be touched under the name they have here."""
    known = _refused.setdefault(folder, {})
    found = known.get((scope, place))
    if found is None:
        if len(known) >= MEMORY:
            known.clear()
        is_shielded = scope.shields(folder.path)
        found = known[scope, place] = frozenset(
            entry.file_id
            for entry in folder.entries
            if is_shielded or not scope.allows((*folder.path, entry.name), place)
        )
    return found
