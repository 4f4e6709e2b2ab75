"""Follows the registry of projects: read again when its file has changed."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from amiral.base.errors import AmiralError
from amiral.projects.project import Project

Stamp = tuple[int, int, int]


class Registry:
    """The rows of one home; `projects` reads them."""

    def __init__(self, home: Path, projects: Callable[[], Sequence[Project]]) -> None:
        self._file, self._projects = home / "config" / "bot_registry.json", projects
        self._seen: Stamp | None = None
        self._is_known = False

    def changed(self) -> Mapping[str, Project] | None:
        """Give the projects by id; None when nothing changed, or when they cannot be read.

        A registry that cannot be read says nothing against the processes that run.
        """
        stamp = _stamp_of(self._file)
        if self._is_known and stamp == self._seen:
            return None
        try:
            rows = {project.id: project for project in self._projects()}
        except AmiralError:
            return None
        self._seen, self._is_known = stamp, True
        return rows

    def forget(self) -> None:
        """Have the rows given again."""
        self._is_known = False


def _stamp_of(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
