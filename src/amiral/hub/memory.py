"""What the hub remembers of the projects' processes when it is killed: `hub/watchdog.json`."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from amiral.base.clock import MS_PER_S, Clock
from amiral.base.errors import AmiralError
from amiral.hub.watchdog import Record, carried_over
from amiral.processes.tree import Identity, boot_id
from amiral.projects.project import Project
from amiral.store.files import Absent, ensure_private_folder, read_json, write_json

_VERSION = 1


@dataclass(frozen=True)
class Remembered:
    """One project; `pid` and `start` name its process (0: none runs)."""

    project: Project
    record: Record
    pid: int = 0
    start: int = 0

    @property
    def identity(self) -> Identity:
        """The process it had, in this run of the machine."""
        return Identity(boot_id(), self.pid, self.start)


@dataclass(frozen=True)
class _File:
    version: int
    boot_id: str
    mono_ms: int
    children: tuple[Remembered, ...]


class Memory:
    """Written when something changed; what cannot be written is still known to this hub."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self._file, self._clock = home / "hub" / "watchdog.json", clock
        self._written: tuple[Remembered, ...] | None = None

    def load(self) -> tuple[Remembered, ...]:
        """Give what the last hub knew; after a reboot only what still means something.

        Nothing when it cannot be read: who runs is seen anyway.
        """
        try:
            found = read_json(self._file, _check)
        except AmiralError:
            return ()
        if isinstance(found, Absent):
            return ()
        file = found.value
        if file.boot_id == boot_id() and file.mono_ms <= self._now_ms():
            return file.children
        return tuple(Remembered(one.project, carried_over(one.record)) for one in file.children)

    def save(self, children: Iterable[Remembered]) -> None:
        """Write it down; raises Broken when the disk refuses."""
        kept = tuple(children)
        if kept == self._written:
            return
        ensure_private_folder(self._file.parent)
        write_json(self._file, _File(_VERSION, boot_id(), self._now_ms(), kept))
        self._written = kept

    def _now_ms(self) -> int:
        return round(self._clock.monotonic_s() * MS_PER_S)


def _check(document: object) -> _File:
    file = msgspec.convert(document, _File)
    if file.version != _VERSION:
        raise ValueError(f"its version is not {_VERSION}")
    return file
