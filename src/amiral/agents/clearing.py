"""Folders an agent may change meanwhile: open once, and freed of what it put in our way.

Once a folder is open, what is swapped for a link leads nowhere.
"""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator

from amiral.base.ids import new_id

_DEEPEST = 100
_MOST = 10_000


@contextlib.contextmanager
def opened(name: str, above: int | None = None) -> Iterator[int]:
    """Open a folder, by its path or inside the open one `above`; OSError when it is none or a link.

    Gives its descriptor, which is closed at the end.
    """
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        yield folder
    finally:
        os.close(folder)


def clear_away(name: str, folder: int) -> None:
    """Free a name in an open folder of a file, link, pipe or folder, following nothing.

    A folder that is deeper or larger than any CLI makes is not removed, only renamed: nothing reads
    it under its new name.
    """
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(name, dir_fd=folder)
            return
        aside = f".amiral-gone-{new_id()}"
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError:
        return
    if _is_small(aside, folder):
        shutil.rmtree(aside, ignore_errors=True, dir_fd=folder)


def _is_small(name: str, folder: int) -> bool:
    seen = 0
    for inner, folders, files, _ in os.fwalk(name, dir_fd=folder):
        seen += len(folders) + len(files)
        if inner.count("/") > _DEEPEST or seen > _MOST:
            return False
    return True
