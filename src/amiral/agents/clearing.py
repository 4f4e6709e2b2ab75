"""Takes away what an agent may have put in the place of a file of ours, whatever it is."""

import os
import shutil
from pathlib import Path

from amiral.base.ids import new_id

_DEEPEST = 100
_MOST = 10_000


def clear_away(path: Path) -> None:
    """Free a name of a file, link, pipe or folder, following nothing.

    A folder that is deeper or larger than any CLI makes is not removed, only renamed: nothing reads
    it under its new name.
    """
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    aside = path.with_name(f".amiral-gone-{new_id()}")
    path.rename(aside)
    if _is_small(aside):
        shutil.rmtree(aside, ignore_errors=True)


def _is_small(folder: Path) -> bool:
    left = [(folder, 0)]
    seen = 0
    while left:
        here, depth = left.pop()
        try:
            with os.scandir(here) as listed:
                entries = list(listed)
        except OSError:
            continue
        seen += len(entries)
        if depth > _DEEPEST or seen > _MOST:
            return False
        inner = (entry for entry in entries if entry.is_dir(follow_symlinks=False))
        left += [(Path(entry.path), depth + 1) for entry in inner]
    return True
