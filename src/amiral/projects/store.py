"""The registry of projects: `config/bot_registry.json` in the home (S1.10)."""

import re
from pathlib import Path

import msgspec

from amiral.base.errors import Conflict, Invalid, NotFound
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line
from amiral.projects.project import Project, free_name, project_at, why_not_name, why_not_root
from amiral.store.claim import exclusive
from amiral.store.files import Absent, Salvaged, ensure_private_folder, read_json, write_json

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    path: str
    id: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    children: list[_Row]


class Projects:
    """The projects of one home; every change is read, made and written under a lock (R37)."""

    def __init__(self, home: Path, user_home: Path) -> None:
        """`user_home` can never be a project, whatever its path is today."""
        self._home, self._user_home = home, user_home
        self._file = home / "config" / "bot_registry.json"

    def all(self) -> tuple[Project, ...]:
        """Give every project, in the order they were registered; Broken when that is lost."""
        return self._read()[0]

    def warning(self) -> str:
        """Tell what a person should know about the registry file, "" when it is well."""
        return self._read()[1]

    def find(self, folder: Path) -> Project | None:
        """Find the project a folder lies in, the innermost one first."""
        roots = {project.path: project for project in self.all()}
        real = folder.resolve()
        return next((roots[str(up)] for up in (real, *real.parents) if str(up) in roots), None)

    def named(self, name: str) -> Project:
        """Find a project by its name or id; NotFound names the nearest."""
        known = self.all()
        for project in known:
            if name in (project.name, project.id):
                return project
        hint = did_you_mean(name, [project.name for project in known])
        raise NotFound(f"no project {one_line(name)!r}{hint}", "`amiral projects` lists them")

    def register(self, folder: Path, name: str = "") -> Project:
        """Register a folder, or give the project it is already.

        Without `name` the folder's own name is made fit. Invalid for a folder or a name that cannot
        be, Conflict for a name that is taken.
        """
        real = self._checked(folder)
        ensure_private_folder(self._file.parent)
        with exclusive(self._file):
            projects = self.all()
            for project in projects:
                if project.path == str(real):
                    return project
            taken = [project.name for project in projects]
            _check_name(name, taken)
            added = project_at(str(real), name or free_name(real.name, taken))
            self._write((*projects, added))
        return added

    def remove(self, name: str) -> Project:
        """Take a project out of the registry; its files and state stay. NotFound when unknown."""
        ensure_private_folder(self._file.parent)
        with exclusive(self._file):
            gone = self.named(name)
            self._write(tuple(project for project in self.all() if project != gone))
        return gone

    def _checked(self, folder: Path) -> Path:
        real = folder.resolve()
        if not real.is_dir():
            raise Invalid(f"{one_line(str(real), 200)} is no folder", "give the path of a project")
        homes = str(self._user_home.resolve()), str(self._home.resolve())
        why = why_not_root(str(real), *homes)
        if why or not _is_utf8(str(real)):
            why = why or "its path is no UTF-8"
            raise Invalid(
                f"{one_line(str(real), 200)} can be no project: {why}", "use a folder of its own"
            )
        return real

    def _read(self) -> tuple[tuple[Project, ...], str]:
        match read_json(self._file, _check):
            case Absent():
                return (), ""
            case Salvaged(value=projects, warning=warning):
                return projects, warning
            case intact:
                return intact.value, ""

    def _write(self, projects: tuple[Project, ...]) -> None:
        rows = [_Row(project.name, project.path, project.id) for project in projects]
        write_json(self._file, _File(1, rows))


def _check_name(name: str, taken: list[str]) -> None:
    why = why_not_name(name) if name else ""
    if why:
        message = f"a project cannot be called {one_line(name)!r}: {why}"
        raise Invalid(message, "choose another name")
    if name.casefold() in {other.casefold() for other in taken}:
        raise Conflict(f"there is a project {name!r} already", "choose another name")


def _check(document: object) -> tuple[Project, ...]:
    """Make the projects of a decoded file; ValueError when it is not ours."""
    file = msgspec.convert(document, _File)
    projects = tuple(Project(row.id, row.name, row.path) for row in file.children)
    if file.version != 1:
        raise ValueError("its version is not 1")
    if not all(_ID.fullmatch(project.id) for project in projects):
        raise ValueError("an id is none of ours")
    if len({project.id for project in projects}) < len(projects):
        raise ValueError("an id stands twice")
    return projects


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
