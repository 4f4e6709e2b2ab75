"""Puts new files into a project, where anything may lie: nothing is replaced, no link followed."""

import contextlib
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from amiral.projects.project_files import read_inside

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def holds(root: Path, file: str, text: str) -> bool:
    """Tell whether a plain file with exactly this text lies there."""
    return read_inside(root, file) == text.encode()


def is_free(root: Path, file: str) -> bool:
    """Tell whether a name is free, and no link or file stands where a folder has to be."""
    names = file.split("/")
    inner = [root.joinpath(*names[:depth]) for depth in range(1, len(names))]
    is_open = all(not os.path.lexists(one) or _is_folder(one) for one in inner)
    return is_open and not os.path.lexists(root / file)


def plant(root: Path, file: str, text: str) -> None:
    """Write a new file, on disk when this returns; FileExistsError when the name is taken."""
    with _folder_of(root, file) as folder:
        descriptor = os.open(file.rpartition("/")[2], _NEW, 0o644, dir_fd=folder)
        try:
            view = memoryview(text.encode())
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.fsync(folder)


def uproot(root: Path, file: str, text: str) -> bool:
    """Remove a file that holds this text, or its beginning as a killed writer left it.

    False when it holds anything else, and then it stays.
    """
    found = read_inside(root, file)
    if found is None:
        return not os.path.lexists(root / file)
    if not text.encode().startswith(found):
        return False
    with _folder_of(root, file) as folder:
        os.unlink(file.rpartition("/")[2], dir_fd=folder)
        os.fsync(folder)
    return True


def remove_empty(folder: Path) -> None:
    """Remove a folder with nothing in it; one with anything in it stays."""
    with contextlib.suppress(OSError):
        folder.rmdir()


@contextlib.contextmanager
def _folder_of(root: Path, file: str) -> Iterator[int]:
    """Open the folder of a file step by step from the root, each from the one before it."""
    with ExitStack() as opened:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, folder)
        for name in file.split("/")[:-1]:
            folder = os.open(name, _FOLDER, dir_fd=folder)
            opened.callback(os.close, folder)
        yield folder


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
