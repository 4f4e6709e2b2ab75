"""Pure: in words, what a sandbox leaves out though the rules alone would allow it, and why.

`write`, `delete` and `read` are what was found for each capability; `read` is None when it is not
fenced.
"""

from collections.abc import Iterable

from amiral.permissions.folders import Path
from amiral.permissions.globs import may_match_below
from amiral.permissions.protected import NAMES
from amiral.permissions.reach import Reach
from amiral.permissions.scope import Denial, Obstacle, shown

# Each costs at every start of a program.
MAX_FILES = 2_000
MAX_SPLITS = 20
EXAMPLES = 3

_UNMADE = "no new file can be made"
_UNMOVED = "nothing can be removed or replaced"
_UNREADABLE = "new files cannot be read"


def nearest(files: tuple[Path, ...]) -> tuple[Path, ...]:
    """Choose the files that are granted one by one: those nearest to the root."""
    return tuple(sorted(files, key=len)[:MAX_FILES])


def shortfalls(write: Reach, delete: Reach, read: Reach | None, inert: frozenset[str]) -> list[str]:
    """Tell everything that is left out, what is likeliest to be missed first."""
    if write.split == delete.split:
        told = _splits(f"{_UNMADE} and {_UNMOVED}", write)
    else:
        told = _splits(_UNMADE, write) + _splits(_UNMOVED, delete)
    if read is not None:
        told += _splits(_UNREADABLE, read) + _beyond("read", read.files)
    return told + _beyond("write", write.files) + _unsaved(write, delete) + _unmade(write, inert)


def unheld(denials: Iterable[Denial], write: Reach) -> list[str]:
    """Tell which denies hold for what is there alone: what they mean could be made in a folder."""
    told = []
    for denial in denials:
        open_ones = [path for path in write.folders if may_match_below(denial.glob, path)]
        if open_ones:
            where = f"{_counted(open_ones, 'folder')} ({_some(open_ones)})"
            told.append(
                f"{denial.source}: what is not there yet could be made in {where}; "
                'sandbox.mode "strict" keeps that out too'
            )
    return told


def further_names(files: list[Path]) -> list[str]:
    """Tell which files may be changed though that shows elsewhere."""
    told = (
        f"{_counted(files, 'file')} may have names outside the project too, where a change shows: "
        f"{_some(files)}"
    )
    return [told] if files else []


def _splits(what: str, reach: Reach) -> list[str]:
    folders: dict[Obstacle, list[Path]] = {}
    for path, obstacle in reach.split:
        folders.setdefault(obstacle, []).append(path)
    told = [
        f"{obstacle.why}: {what} in {_counted(paths, 'folder')} ({_some(paths)}); "
        f"{obstacle.instead}"
        for obstacle, paths in folders.items()
    ]
    more = len(told) - MAX_SPLITS
    return told[:MAX_SPLITS] + ([f"and {more:,} more like these"] if more > 0 else [])


def _beyond(what: str, files: tuple[Path, ...]) -> list[str]:
    told = (
        f"{what}: {len(files) - MAX_FILES:,} files are left out beyond the {MAX_FILES:,} that are "
        "granted one by one; keep what is denied behind folders of its own"
    )
    return [told] if len(files) > MAX_FILES else []


def _unsaved(write: Reach, delete: Reach) -> list[str]:
    """Most programs save by making a new file and putting it in the place of the old one."""
    deletable = set(delete.folders)
    kept = [
        path
        for path in write.folders
        if deletable.isdisjoint(path[:depth] for depth in range(len(path) + 1))
    ]
    told = (
        "what may be written but not deleted cannot be saved by replacing it, as many programs do, "
        f"in {_counted(kept, 'folder')} ({_some(kept)})"
    )
    return [told] if kept else []


def _unmade(write: Reach, inert: frozenset[str]) -> list[str]:
    """Tell which protected names are not there, so that they could be made in a granted folder."""
    folders = set(write.folders)
    free = [
        shown(name)
        for name in (tuple(name.split("/")) for name in NAMES)
        if name[0] not in inert
        and not folders.isdisjoint(name[:depth] for depth in range(len(name)))
    ]
    told = (
        "names are protected by not granting what is there, so these could still be made: "
        f'{", ".join(free)}; deny them and set sandbox.mode to "strict" to prevent it'
    )
    return [told] if free else []


def _some(paths: list[Path]) -> str:
    return ", ".join(map(shown, paths[:EXAMPLES])) + (", …" if len(paths) > EXAMPLES else "")


def _counted(paths: list[Path], noun: str) -> str:
    return f"{len(paths):,} {noun}" + ("s" if len(paths) != 1 else "")
