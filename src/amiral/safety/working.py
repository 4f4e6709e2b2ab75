"""Who works, and at what: told by what sessions left on disk, whatever hangs.

Standard library only. A session's folder names its worker, its two processes and its socket;
`turn.json` in it, which is there as long as a turn runs, names the last act and the lines that
interrupt it.
"""

import json
import os

from amiral.processes import tree
from amiral.processes.tree import Identity
from amiral.safety.scope import Place, Scope, names_in, project_names

TURN_FILE = "turn.json"

_LONGEST_ACT = 80
_DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError)


class Turn:
    """A running turn: its last act in a few words, and the inputs (id, line) that interrupt it."""

    __slots__ = ("act", "interrupt")

    def __init__(self, act: str, interrupt: list[tuple[str, str]]) -> None:
        self.act = act
        self.interrupt = interrupt


class Working:
    """A session that has not ended. What a damaged folder does not tell is None or ""."""

    __slots__ = ("cgroup", "cli", "folder", "shim", "shown", "socket", "tag", "worker")

    def __init__(self, folder: str, tag: str, worker: str, shown: str) -> None:
        self.folder = folder
        self.tag = tag
        self.worker = worker
        self.shown = shown
        self.socket = ""
        self.shim: Identity | None = None
        self.cli: Identity | None = None
        self.cgroup: str | None = None
        self._read_meta()

    @property
    def is_running(self) -> bool:
        """Whether its CLI lives."""
        return self.cli is not None and tree.is_alive(self.cli)

    @property
    def is_over(self) -> bool:
        """Whether its end is on record, or neither its CLI nor its shim lives."""
        if os.path.exists(os.path.join(self.folder, "exit.json")):
            return True
        return not self.is_running and not (self.shim and tree.is_alive(self.shim))

    @property
    def is_busy(self) -> bool:
        """Whether a turn of it runs, as far as its project's process knows."""
        return os.path.exists(os.path.join(self.folder, TURN_FILE))

    def turn(self) -> Turn | None:
        """Read what it does now, None when nothing is known."""
        try:
            with open(os.path.join(self.folder, TURN_FILE), encoding="utf-8") as file:
                told = json.load(file)
            lines = [(str(one["id"]), str(one["data"])) for one in told["interrupt"]]
            return Turn(plain(str(told["act"])), lines)
        except _DAMAGED:
            return None

    def _read_meta(self) -> None:
        try:
            with open(os.path.join(self.folder, "meta.json"), encoding="utf-8") as file:
                meta = json.load(file)
            boot = str(meta["boot_id"])
            self.cli = Identity(boot, int(meta["cli"]["pid"]), int(meta["cli"]["start"]))
            self.shim = Identity(boot, int(meta["shim"]["pid"]), int(meta["shim"]["start"]))
            self.socket = str(meta["socket"])
            self.cgroup = meta["cgroup"] and str(meta["cgroup"])
        except _DAMAGED:
            return


def working(place: Place, scope: Scope) -> list[Working]:
    """Find the sessions of a scope that have no record of their end."""
    names = project_names(place)
    projects = [scope.project] if scope.project else names_in(os.path.join(place.home, "projects"))
    found = []
    for project in projects:
        sessions = os.path.join(place.home, "projects", project, "sessions")
        for session in names_in(sessions):
            folder = os.path.join(sessions, session)
            if os.path.exists(os.path.join(folder, "exit.json")):
                continue
            worker = _worker(folder)
            if scope.worker in ("", worker):
                tag, shown = f"{place.tag}:{project}:{session}", names.get(project, project)
                found.append(Working(folder, tag, worker, plain(f"{shown}/{worker or session}")))
    return found


def plain(text: str) -> str:
    """Make one short line of a text that was not ours."""
    seen = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(seen.split())[:_LONGEST_ACT]


def _worker(folder: str) -> str:
    try:
        with open(os.path.join(folder, "worker"), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return ""
