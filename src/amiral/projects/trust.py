"""Which files of a project are in force: those whose content the owner trusted (spec: trust)."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

import msgspec

from amiral.base.errors import Conflict, NotFound
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line
from amiral.projects.project import Project
from amiral.projects.project_files import FOLDER, Found, Unusable, list_files, read_file
from amiral.store.claim import exclusive
from amiral.store.files import (
    Absent,
    Salvaged,
    ensure_private_folder,
    read_json,
    write_atomic,
    write_json,
)

_LONGEST_DIFF = 3000


class State(StrEnum):
    """How a file stands to what the owner trusted."""

    TRUSTED = "trusted"
    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    ABSENT = "absent"


@dataclass(frozen=True)
class InForce:
    """`text` is what counts, None when nothing does; `found` what lies in the project now.

    `notice` tells a person what is not in force and what to do, "" when there is nothing to tell.
    """

    file: str
    state: State
    text: str | None
    found: str | None
    notice: str = ""


@dataclass(frozen=True)
class Shown:
    """A file as the owner sees it before trusting it: `sha256` says which content (`text`) was."""

    file: str
    state: State
    sha256: str
    text: str
    diff: str


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: str
    trusted_ms: int


class _File(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    projects: dict[str, dict[str, _Entry]]


class Trust:
    """What the owner trusted, in the home: hashes in `trust.json`, contents beside the state."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file = home / "trust.json"

    def in_force(self, project: Project, file: str) -> InForce:
        """Give the content of `.amiral/<file>` that counts now; a notice when it is another one.

        Deletion is a change like any other: it cannot lift what was trusted.
        """
        found = read_file(Path(project.path), file)
        entry = self._entries(project).get(file)
        text = found.text if isinstance(found, Found) else None
        if entry is None:
            if found is None:
                return InForce(file, State.ABSENT, None, None)
            return InForce(file, State.NEW, None, text, _untrusted(file, found))
        if isinstance(found, Found) and found.sha256 == entry.sha256:
            return InForce(file, State.TRUSTED, text, text)
        state = State.GONE if found is None else State.CHANGED
        kept = self._copy(project, entry)
        return InForce(file, state, kept, text, _replaced(file, found, kept))

    def files(self, project: Project) -> tuple[str, ...]:
        """Name every file that is trusted or waits for trust."""
        known = dict.fromkeys(list_files(Path(project.path)))
        return tuple({**known, **dict.fromkeys(self._entries(project))})

    def waiting(self, project: Project) -> tuple[InForce, ...]:
        """Give every file of a project that is not in force as it lies there."""
        states = (self.in_force(project, file) for file in self.files(project))
        return tuple(state for state in states if state.state is not State.TRUSTED)

    def show(self, project: Project, typed: str) -> Shown:
        """Show one file as it would change what is in force; NotFound when no such file waits."""
        file = self._named(project, typed)
        now = self.in_force(project, file)
        found = read_file(Path(project.path), file)
        if not isinstance(found, Found):
            raise NotFound(f"{file} cannot be trusted: {_why(found)}", "put a plain file there")
        return Shown(
            file, now.state, found.sha256, found.text, _diff(file, now.text or "", found.text)
        )

    def trust(self, project: Project, file: str, content: str, now_ms: int) -> None:
        """Trust a file in exactly the content whose sha256 was shown.

        Conflict when it has changed since. The copy is on disk before the hash counts.
        """
        found = read_file(Path(project.path), file)
        if not isinstance(found, Found) or found.sha256 != content:
            raise Conflict(f"{file} has changed since it was shown", f"amiral trust {file}")
        copy = self._place(project, content)
        ensure_private_folder(copy.parent)
        write_atomic(copy, found.data)
        self._change(project, file, _Entry(content, now_ms))

    def forget(self, project: Project, typed: str) -> str:
        """Trust a file no longer, whatever its content; gives its name."""
        file = self._named(project, typed)
        self._change(project, file, None)
        return file

    def forget_project(self, project: Project) -> None:
        """Trust nothing of a project any more, as if it had never been one."""
        if project.id not in self._read()[0]:
            return
        with exclusive(self._file):
            projects = {name: dict(rows) for name, rows in self._read()[0].items()}
            projects.pop(project.id, None)
            write_json(self._file, _File(1, projects))

    def warning(self) -> str:
        """Tell what a person should know about `trust.json` itself, "" when it is well."""
        return self._read()[1]

    def _change(self, project: Project, file: str, entry: _Entry | None) -> None:
        ensure_private_folder(self._home)
        with exclusive(self._file):
            projects = {name: dict(rows) for name, rows in self._read()[0].items()}
            rows = projects.setdefault(project.id, {})
            rows.pop(file, None)
            if entry is not None:
                rows[file] = entry
            write_json(self._file, _File(1, projects))

    def _entries(self, project: Project) -> Mapping[str, _Entry]:
        return self._read()[0].get(project.id, {})

    def _read(self) -> tuple[Mapping[str, Mapping[str, _Entry]], str]:
        match read_json(self._file, _check):
            case Absent():
                return {}, ""
            case Salvaged(value=projects, warning=warning):
                return projects, warning
            case intact:
                return intact.value, ""

    def _place(self, project: Project, content: str) -> Path:
        return self._home / "projects" / project.id / "trusted" / content

    def _copy(self, project: Project, entry: _Entry) -> str | None:
        """Read a trusted content back; None when the copy is gone or not what was trusted."""
        try:
            data = self._place(project, entry.sha256).read_bytes()
        except OSError:
            return None
        whole = sha256(data).hexdigest() == entry.sha256
        return data.decode("utf-8", "replace") if whole else None

    def _named(self, project: Project, typed: str) -> str:
        """Find a file by any clear way of writing it: its name, or its path."""
        files = self.files(project)
        end = typed.removeprefix(f"{project.path}/").removeprefix("./").removeprefix(f"{FOLDER}/")
        like = [file for file in files if file == end] or [
            file for file in files if file.endswith(f"/{end}")
        ]
        if len(like) == 1:
            return like[0]
        hint = did_you_mean(end, files)
        raise NotFound(f"no file {one_line(typed)!r} waits{hint}", "`amiral trust` lists them")


def _check(document: object) -> Mapping[str, Mapping[str, _Entry]]:
    file = msgspec.convert(document, _File)
    if file.version != 1:
        raise ValueError("its version is not 1")
    return file.projects


def _untrusted(file: str, found: Found | Unusable) -> str:
    if isinstance(found, Unusable):
        return f"{file} has no effect: {found.reason}"
    return f"{file} has no effect until you trust it: `amiral trust {file}`"


def _replaced(file: str, found: Found | Unusable | None, kept: str | None) -> str:
    if kept is None:
        return f"{file} has no effect: its trusted copy is lost; `amiral trust {file}`"
    what = _why(found) if not isinstance(found, Found) else "it has changed"
    return f"{file}: the version you trusted stays in force ({what}); `amiral trust {file}`"


def _why(found: Found | Unusable | None) -> str:
    return found.reason if isinstance(found, Unusable) else "it is gone"


def _diff(file: str, before: str, after: str) -> str:
    """Compare two texts; long ones are shown whole, since comparing may take minutes."""
    old, new = before.split("\n"), after.split("\n")
    names = f"{file} (in force)", f"{file} (now)"
    if len(old) + len(new) > _LONGEST_DIFF:
        return f"--- {names[0]}: {len(old)} lines\n+++ {names[1]}:\n{after}"
    return "\n".join(difflib.unified_diff(old, new, *names, lineterm=""))
