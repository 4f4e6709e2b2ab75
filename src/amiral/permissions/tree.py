"""Reads what stands in a project, following no link; reads again only folders that changed."""

import os
import stat
from dataclasses import replace
from pathlib import Path

from amiral.base.clock import MS_PER_S, Clock, SystemClock
from amiral.base.errors import NotFound
from amiral.permissions.folders import Entry, Folder, Kind, Tree
from amiral.permissions.folders import Path as Names

# Deeper folders are not granted; without an end an agent could nest until nothing could read them.
MAX_DEPTH = 200
# A folder's ctime moves in ticks of the kernel: two changes may share one when it is that young.
TICK_MS = 100
_NS_PER_MS = 1_000_000_000 // MS_PER_S


def read_tree(root: str | Path, clock: Clock | None = None) -> Tree:
    """Read the whole project at `root`, which may be reached by links; NotFound without one."""
    canonical = str(Path(root).resolve())
    top = _Reader(canonical, clock or SystemClock()).folder((), None)
    return Tree(canonical, _present(top, canonical))


def refresh(tree: Tree, clock: Clock | None = None) -> Tree:
    """Read again what changed; a tree that did not is the same object, and so is each subtree.

    A folder is known to have changed by its ctime. A further name that is made outside the tree for
    a file inside is seen by `read_tree` alone: no fenced program can make one.
    """
    top = _Reader(tree.root, clock or SystemClock()).folder((), tree.top)
    return tree if top is tree.top else Tree(tree.root, _present(top, tree.root))


def _present(top: Folder | None, root: str) -> Folder:
    if top is None:
        raise NotFound(f"{root} is no folder", "name a project's folder that is there")
    return top


class _Reader:
    """One reading of a tree; ctimes from `settled_ns` on may still be those of a later change."""

    def __init__(self, root: str, clock: Clock) -> None:
        self._root = root
        self._settled_ns = (clock.now_ms() - TICK_MS) * _NS_PER_MS

    def folder(self, path: Names, known: Folder | None) -> Folder | None:
        """Read one folder and all below; None when there is none (any more)."""
        where = "/".join((self._root, *path))
        try:
            # Looked at before it is listed: what changes in between is seen next time.
            seen = os.lstat(where)
            if not stat.S_ISDIR(seen.st_mode):
                return None
            if known is not None and known.is_settled and _is_same(known, seen):
                return self._with_folders(known)
            if _is_closed(where, seen):
                return _unread(path, is_whole=True)
            return self._listed(path, where, seen, known)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return _unread(path, is_whole=False)

    def _with_folders(self, known: Folder) -> Folder:
        read = [(old, self.folder(old.path, old)) for old in known.folders]
        if all(new is old for old, new in read):
            return known
        return replace(known, folders=tuple(new for _, new in read if new is not None))

    def _listed(
        self, path: Names, where: str, seen: os.stat_result, known: Folder | None
    ) -> Folder:
        if len(path) >= MAX_DEPTH:
            return _unread(path, is_whole=False)
        before = {folder.path[-1]: folder for folder in known.folders} if known else {}
        entries: list[Entry] = []
        folders: list[Folder | None] = []
        with os.scandir(where) as listed:
            for item in sorted(listed, key=lambda item: item.name):
                if item.is_dir(follow_symlinks=False):
                    folders.append(self.folder((*path, item.name), before.get(item.name)))
                else:
                    entries += _entries(item)
        return Folder(
            path=path,
            file_id=(seen.st_dev, seen.st_ino),
            changed_ns=seen.st_ctime_ns,
            is_settled=seen.st_ctime_ns < self._settled_ns,
            is_whole=True,
            entries=tuple(entries),
            folders=tuple(folder for folder in folders if folder is not None),
        )


def _is_same(known: Folder, seen: os.stat_result) -> bool:
    identity = (seen.st_dev, seen.st_ino)
    return known.file_id == identity and known.changed_ns == seen.st_ctime_ns


def _is_closed(where: str, seen: os.stat_result) -> bool:
    """Tell whether no program of this user can get in, nor open it for itself."""
    if seen.st_uid == os.geteuid():
        return False
    is_effective = os.access in os.supports_effective_ids
    return not os.access(where, os.X_OK, effective_ids=is_effective)


def _unread(path: Names, *, is_whole: bool) -> Folder:
    return Folder(path, (0, 0), 0, is_settled=False, is_whole=is_whole, entries=(), folders=())


def _entries(item: "os.DirEntry[str]") -> list[Entry]:
    """Give the entry of a name, none when it went meanwhile."""
    try:
        seen = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return []
    kind = Kind.OTHER
    if stat.S_ISREG(seen.st_mode):
        kind = Kind.FILE
    elif stat.S_ISLNK(seen.st_mode):
        kind = Kind.LINK
    return [Entry(item.name, kind, (seen.st_dev, seen.st_ino), seen.st_nlink)]
