"""Reads a project's own files as data of a stranger: no links followed, nothing but plain files."""

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from amiral.projects.project import FOLDER

__all__ = ["FOLDER", "Found", "Unusable", "list_files", "read_file", "read_inside"]

_CONFIG = ("workers_registry.json", "project_roles.json", "permissions.json")
_WRITTEN = ("agents", "profiles", "skills")
_LARGEST = 256 * 1024
_MOST_FILES = 1000
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_REASONS = {
    errno.ELOOP: "it is a symbolic link, or lies behind one",
    errno.ENOTDIR: "it is a symbolic link, or lies behind one",
    errno.EISDIR: "it is no plain file",
    errno.ENXIO: "it is no plain file",
}


@dataclass(frozen=True)
class Found:
    """The bytes of one file as they were read, once. `file` is relative to `.amiral`."""

    file: str
    data: bytes

    @property
    def sha256(self) -> str:
        return sha256(self.data).hexdigest()

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Unusable:
    """Something lies there that is not read; `reason` completes the sentence `not used: …`."""

    file: str
    reason: str


def read_file(root: Path, file: str) -> Found | Unusable | None:
    """Read `.amiral/<file>` of a project; None when nothing is there."""
    try:
        data = _read(_open(root, (FOLDER, *file.split("/"))))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        number = error.errno if isinstance(error, OSError) else None
        return Unusable(file, _REASONS.get(number or 0, "it cannot be read"))
    if len(data) > _LARGEST:
        return Unusable(file, f"it is larger than {_LARGEST // 1024} KiB")
    return Found(file, data)


def read_inside(root: Path, file: str) -> bytes | None:
    """Read any plain file of a project, one byte further than 256 KiB; None when it cannot be."""
    try:
        return _read(_open(root, tuple(file.split("/"))))
    except (OSError, ValueError):
        return None


def list_files(root: Path) -> tuple[str, ...]:
    """Name the files of a project that need trust and are there, at most 1000, sorted."""
    config = [f"config/{name}" for name in _CONFIG]
    there = [file for file in config if os.path.lexists(root / FOLDER / file)]
    return tuple(there + sorted(_written(root / FOLDER))[:_MOST_FILES])


def _written(folder: Path) -> Iterator[str]:
    for name in _WRITTEN:
        for inner, _, files in os.walk(folder / name):
            for file in files:
                path = (Path(inner) / file).relative_to(folder).as_posix()
                if file.endswith(".md") and path.isprintable():
                    yield path


def _read(descriptor: int) -> bytes:
    """Read a plain file, one byte further than the cap, and close it."""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(errno.EISDIR, "no plain file")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(_LARGEST + 1)
    finally:
        os.close(descriptor)


def _open(root: Path, parts: tuple[str, ...]) -> int:
    """Open step by step from the root, so that no link on the way leads elsewhere."""
    if not all(parts) or {".", ".."} & set(parts):
        raise FileNotFoundError(errno.ENOENT, "no such file in the project")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in parts[:-1]:
        try:
            inner = os.open(part, _OPEN | os.O_DIRECTORY, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    try:
        return os.open(parts[-1], _OPEN | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
