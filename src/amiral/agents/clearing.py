"""Takes away what an agent may have put in the place of a file of ours, whatever it is."""

import shutil
from pathlib import Path

from amiral.base.ids import new_id


def clear_away(path: Path) -> None:
    """Remove a file, link, pipe or folder, however deep, following nothing.

    A folder is moved out of the worker's home first, so that the name is free whatever follows.
    """
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    aside = path.with_name(f".amiral-gone-{new_id()}")
    path.rename(aside)
    try:
        shutil.rmtree(aside, ignore_errors=True)
    except RecursionError:
        # Deeper than we go: it stays aside, where nothing reads it.
        return
