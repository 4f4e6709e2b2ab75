"""What of the machine is granted to a worker's programs, and what is private to its owner."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from amiral.agents.needs import program_folders
from amiral.base.errors import Denied
from amiral.permissions.sandbox import Access
from amiral.processes import fence as kernel
from amiral.processes.reads import private_folders, reads_around

Grants = tuple[tuple[str, int], ...]
"""Absolute paths without links, each with the bits that are granted at and below it."""

_BITS = {
    Access.READ: kernel.READ,
    Access.WRITE: kernel.WRITE,
    Access.DELETE: kernel.DELETE,
    Access.EXECUTE: kernel.EXECUTE,
    Access.DEVICE: kernel.DEVICE,
    Access.LIST: kernel.LIST,
}


class Private:
    """The folders that no agent reads or changes: `home` is amiral's own, beside it all logins."""

    def __init__(self, home: Path) -> None:
        self._paths = private_folders(home)

    def check_root(self, root: str) -> None:
        """Raise Denied for a project, granted as a whole, that holds anything private (K4)."""
        for path in self._paths:
            if path.exists() and _holds(root, os.path.realpath(path)):
                raise Denied(
                    f"{path} lies in the project {root}, where its workers would reach it",
                    "serve a folder that holds no logins, with AMIRAL_HOME outside of it",
                )

    def is_apart(self, path: str) -> bool:
        """Tell whether programs may be read there: a file, or a folder apart from the private."""
        real = os.path.realpath(path)
        return Path(real).is_file() or not any(
            _holds(real, hidden) or _holds(hidden, real) for hidden in self._hidden()
        )

    def around(self) -> tuple[str, ...]:
        """Give the fewest paths below which all may be read but what is private."""
        return reads_around(self._paths)

    def _hidden(self) -> list[str]:
        return [os.path.realpath(path) for path in self._paths if path.exists()]


def on_path() -> Iterator[str]:
    """Name the folders on PATH, a virtual environment whole: the first program found is run."""
    for folder in map(Path, os.environ.get("PATH", "").split(os.pathsep)):
        if folder.is_absolute():
            yield _environment(folder)


def places_of(program: str) -> tuple[str, ...]:
    """Name what is read and run for an installed program: where it is found, and where it lies."""
    found = _environment(Path(program).parent)
    return (found, *program_folders(os.path.realpath(program)))


def bits(access: Iterable[Access]) -> int:
    """Give the bits of a grant."""
    return sum(_BITS[one] for one in access)


def words(granted: int) -> tuple[str, ...]:
    """Say what bits of a grant allow."""
    return tuple(str(access) for access, bit in _BITS.items() if granted & bit)


def _environment(folder: Path) -> str:
    """Give a folder of programs, the whole virtual environment when it is one's."""
    is_venv = (folder.parent / "pyvenv.cfg").is_file()
    return str(folder.parent if is_venv else folder)


def _holds(folder: str, path: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")
