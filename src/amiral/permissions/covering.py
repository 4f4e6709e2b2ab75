"""Pure: what must not be touched in folders that are granted whole, each path to get a cover.

Covers can lie over folders and plain files alone: for anything else a folder is split, as it is
without covers (`reach`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from amiral.permissions.folders import Folder, Path, Tree
from amiral.permissions.reach import Reach
from amiral.permissions.scope import Place, Scope, start
from amiral.permissions.second_names import links_of

# Each is a mount at every start of a program, and one more for each folder above it.
MAX_COVERS = 500


@dataclass(frozen=True)
class Covered:
    """A path below the root; a folder is covered with all that is in it."""

    path: Path
    is_folder: bool


def covered(scope: Scope, tree: Tree, reach: Reach) -> tuple[Covered, ...]:
    """Find what needs a cover in the folders of a reach: of what lies in each other, the outer."""
    if not scope.has_covers:
        return ()
    links = links_of(scope, tree).get((), ())
    others = frozenset(path for path, obstacle in links if obstacle is not None)
    search = _Search(scope, frozenset(reach.folders), others)
    return tuple(search.below(tree.top, start(scope), is_granted=False))


@dataclass(frozen=True)
class _Search:
    """`others` are names of files that must not be touched under another name."""

    scope: Scope
    granted: frozenset[Path]
    others: frozenset[Path]

    def below(self, folder: Folder, place: Place, *, is_granted: bool) -> Iterator[Covered]:
        is_granted = is_granted or folder.path in self.granted
        for child in folder.folders:
            if is_granted and self._is_refused(child.path, place):
                yield Covered(child.path, is_folder=True)
            else:
                inside = place.into(child.path[-1])
                yield from self.below(child, inside, is_granted=is_granted)
        for entry in folder.entries if is_granted else ():
            path = (*folder.path, entry.name)
            if path in self.others or self._is_refused(path, place):
                yield Covered(path, is_folder=False)

    def _is_refused(self, path: Path, place: Place) -> bool:
        is_denied = bool(place.deny) and place.into(path[-1]).denial is not None
        return is_denied or self.scope.protects(path)
