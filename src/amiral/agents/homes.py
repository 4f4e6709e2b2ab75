"""Writes what a CLI is told in a worker's config home, and takes away what others were told.

The home is the agent's own: it may hold links to anywhere, pipes, folders in the place of files.
None of them is followed.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from amiral.agents.clearing import clear_away
from amiral.agents.driver import Driver, FileToWrite
from amiral.store.files import write_atomic

SHELL_FILES = (
    *(".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_aliases", ".bash_logout"),
    *(".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout", ".config/git"),
)
"""What shells and git would run at the next session, were it left by an agent in this one (F6)."""

_LONGEST = 1 << 20


def write_home(
    home: Path, driver: Driver[Any], files: Iterable[FileToWrite], owned: Iterable[str]
) -> None:
    """Write the files; what matches a pattern of `owned` and is none of them is removed first.

    So nothing stays in force of an earlier policy, of another CLI, or put there by an agent
    (S3.17-19, F6). A merged file keeps the CLI's own part.
    """
    told = {file.path: file for file in files}
    for pattern in owned:
        for path in list(_matching(home, tuple(pattern.split("/")))):
            if str(path.relative_to(home)) not in told:
                clear_away(path)
    for name, file in told.items():
        path = _place(home, name)
        write_atomic(path, _merged(driver, _found(path), file) if file.is_merged else file.text)


def _matching(folder: Path, pattern: tuple[str, ...]) -> Iterator[Path]:
    """Find what matches, a link in the way being what matches itself."""
    with os.scandir(folder) as listed:
        entries = list(listed)
    for entry in entries:
        if not fnmatchcase(entry.name, pattern[0]):
            continue
        if len(pattern) == 1 or entry.is_symlink():
            yield Path(entry.path)
        elif entry.is_dir(follow_symlinks=False):
            yield from _matching(Path(entry.path), pattern[1:])


def _place(home: Path, name: str) -> Path:
    """Make the folders of a file, with nothing but a plain file in its place."""
    path = home
    *folders, last = name.split("/")
    for part in folders:
        path = path / part
        if path.is_symlink() or not path.is_dir():
            clear_away(path)
            path.mkdir()
    path = path / last
    if path.is_symlink() or not path.is_file():
        clear_away(path)
    return path


def _merged(driver: Driver[Any], found: str, file: FileToWrite) -> str:
    """Put ours into what the CLI left; of what cannot be taken in, nothing is kept."""
    try:
        return driver.merged(found, file.text)
    except RecursionError:
        return driver.merged("", file.text)


def _found(path: Path) -> str:
    """Read what the CLI left in a file of its own; "" for what is none, or too long."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        seen = os.fstat(handle)
        is_ours = stat.S_ISREG(seen.st_mode) and seen.st_nlink == 1 and seen.st_size <= _LONGEST
        return file.read(_LONGEST).decode("utf-8", "replace") if is_ours else ""
