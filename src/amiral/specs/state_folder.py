"""Writes `.amiral/state/` of a project, where an agent may have planted anything: no link followed.

Every folder on the way is opened from the one before it, so that nothing leads out of the project.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from amiral.base.errors import Broken

PATH = ".amiral/state"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LINKS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


class StateFolder:
    """The folder `state/` and its `logs/`, held open."""

    def __init__(self, state: int, logs: int) -> None:
        """Use `open_state`."""
        self._state, self._logs = state, logs

    def size(self, log: str) -> int:
        """Give the size of a log in bytes, 0 when there is none yet."""
        try:
            return os.stat(log, dir_fd=self._logs, follow_symlinks=False).st_size
        except FileNotFoundError:
            return 0

    def append(self, log: str, offset: int, data: bytes) -> None:
        """See that `data` stands in a log from `offset` on, whole and once, and is on disk.

        What a killed writer left of it is completed. Whatever else stands there stays, and `data`
        follows it.
        """
        descriptor = os.open(log, _APPEND, 0o600, dir_fd=self._logs)
        try:
            _check_plain(descriptor)
            there = os.pread(descriptor, len(data), offset)
            _write(descriptor, data.removeprefix(there))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def replace(self, name: str, data: bytes) -> None:
        """Put a whole new file in the place of an old one, or of a link (R37)."""
        _put(self._state, name, data, 0o600)


@contextlib.contextmanager
def open_state(root: Path) -> Iterator[StateFolder]:
    """Open the state folder of a project, making what is missing; Broken when it cannot be used."""
    try:
        with ExitStack() as opened:
            project = _held(opened, os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            amiral = _held(opened, _enter(project, ".amiral", 0o755))
            _ignore(amiral)
            state = _held(opened, _enter(amiral, "state", 0o700))
            yield StateFolder(state, _held(opened, _enter(state, "logs", 0o700)))
    except OSError as error:
        is_link = error.errno in _LINKS
        why = "a link or no folder is in the way" if is_link else os.strerror(error.errno or 0)
        raise Broken(
            f"{root / PATH} is not kept up to date: {why}",
            "make room for it and it is caught up with; nothing else is affected",
        ) from error


def _held(opened: ExitStack, descriptor: int) -> int:
    opened.callback(os.close, descriptor)
    return descriptor


def _enter(folder: int, name: str, mode: int) -> int:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, mode, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _ignore(folder: int) -> None:
    """Keep the mirrors out of git; a file that is there already is the project's own."""
    try:
        os.stat(".gitignore", dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        _put(folder, ".gitignore", b"state/\n", 0o644)


def _put(folder: int, name: str, data: bytes, mode: int) -> None:
    temp = f".{name}.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temp, dir_fd=folder)
    descriptor = os.open(temp, _NEW, mode, dir_fd=folder)
    try:
        _write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def _check_plain(descriptor: int) -> None:
    """A second name of the file would lead out of the project as a link does."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise OSError(errno.EMLINK, "no plain file")


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
