"""Writes what a CLI is told in a worker's config home, and takes away what others were told.

The home is the agent's own: it may hold links to anywhere, pipes, folders in the place of files.
None of them is followed.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Container, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from amiral.agents.clearing import clear_away, opened
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
    with opened(str(home)) as folder:
        for pattern in owned:
            _clear(folder, "", pattern.split("/"), told)
        for name, file in told.items():
            _write(folder, name.split("/"), driver, file)


def _clear(folder: int, where: str, pattern: list[str], kept: Container[str]) -> None:
    """Remove what matches, a link in the way being what matches itself."""
    with os.scandir(folder) as listed:
        names = [entry.name for entry in listed if fnmatchcase(entry.name, pattern[0])]
    for name in names:
        if len(pattern) == 1 or _is(stat.S_ISLNK, folder, name):
            if where + name not in kept:
                clear_away(name, folder)
            continue
        with contextlib.suppress(OSError), opened(name, folder) as inner:
            _clear(inner, f"{where}{name}/", pattern[1:], kept)


def _write(folder: int, place: list[str], driver: Driver[Any], file: FileToWrite) -> None:
    """Make the folders of a file, and write it with nothing but a plain file in its place."""
    name, *below = place
    is_wanted = stat.S_ISDIR if below else stat.S_ISREG
    if not _is(is_wanted, folder, name):
        clear_away(name, folder)
        if below:
            os.mkdir(name, dir_fd=folder)
    if below:
        with opened(name, folder) as inner:
            _write(inner, below, driver, file)
        return
    text = _merged(driver, _found(folder, name), file) if file.is_merged else file.text
    # The one path that leads into an open folder, wherever it lies by now.
    write_atomic(Path(f"/proc/self/fd/{folder}") / name, text)


def _is(is_wanted: Callable[[int], bool], folder: int, name: str) -> bool:
    try:
        return is_wanted(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _merged(driver: Driver[Any], found: str, file: FileToWrite) -> str:
    """Put ours into what the CLI left; of what cannot be taken in, nothing is kept."""
    try:
        return driver.merged(found, file.text)
    except RecursionError:
        return driver.merged("", file.text)


def _found(folder: int, name: str) -> str:
    """Read what the CLI left in a file of its own; "" for what is none, or too long."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        seen = os.fstat(handle)
        is_ours = stat.S_ISREG(seen.st_mode) and seen.st_nlink == 1 and seen.st_size <= _LONGEST
        return file.read(_LONGEST).decode("utf-8", "replace") if is_ours else ""
