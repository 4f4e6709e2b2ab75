"""The sign of life a project's process leaves: `state/heartbeat_<name>.json` in the home (S1.24).

Who wrote it and when stand inside, never in the file's own times (S09). Nothing in it is proof of
more than that somebody wrote it: who serves a project is told by `serving`.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from amiral.base.clock import MS_PER_S, Clock
from amiral.processes.tree import Identity, boot_id, identify
from amiral.store.files import ensure_private_folder, write_atomic

State = Literal["running", "degraded", "ended"]
Why = Literal["absent", "torn", "foreign", "old boot", "future"]

_LONGEST = 1 << 16
_LONGEST_NAME = 180
_TOLERANCE_MS = 1000
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass(frozen=True)
class Heartbeat:
    """One beat. `start` counts clock ticks since boot, `mono_ms` is monotonic, `at_ms` wall time.

    `degraded` works but not well, `reason` says why (a full disk); `ended` is the last beat of a
    process that was asked to end.
    """

    name: str
    project: str
    seq: int
    boot_id: str
    pid: int
    start: int
    mono_ms: int
    at_ms: int
    state: State
    reason: str = ""

    @property
    def identity(self) -> Identity:
        """The process it says it is of."""
        return Identity(self.boot_id, self.pid, self.start)


@dataclass(frozen=True)
class Unusable:
    """No beat to go by.

    `torn` cannot be read as one, `foreign` is another project's, `old boot` of another run of the
    machine or of another machine, `future` of a clock that is not ours.
    """

    why: Why


def own_beat(
    name: str, project: str, seq: int, clock: Clock, state: State = "running", reason: str = ""
) -> Heartbeat:
    """Make a beat of this process; `seq` counts its beats."""
    me = identify(os.getpid()) or Identity(boot_id(), os.getpid(), 0)
    mono_ms = round(clock.monotonic_s() * MS_PER_S)
    now_ms = clock.now_ms()
    return Heartbeat(
        name, project, seq, me.boot_id, me.pid, me.start, mono_ms, now_ms, state, reason
    )


def heartbeat_path(home: Path, name: str, project: str) -> Path:
    """Name the file; a name too long for one gives way to the project's id."""
    is_short = len(name.encode("utf-8", "replace")) <= _LONGEST_NAME
    return home / "state" / f"heartbeat_{name if is_short else project}.json"


def write(home: Path, beat: Heartbeat) -> None:
    """Replace the last beat; Broken when the disk refuses, which then still stands whole."""
    path = heartbeat_path(home, beat.name, beat.project)
    ensure_private_folder(path.parent)
    write_atomic(path, msgspec.json.encode(beat))


def read(home: Path, name: str, project: str, clock: Clock) -> Heartbeat | Unusable:
    """Read the last beat of a project; never raises for what stands there, or does not."""
    try:
        beat = msgspec.json.decode(_bytes(heartbeat_path(home, name, project)), type=Heartbeat)
    except FileNotFoundError:
        return Unusable("absent")
    except (OSError, ValueError, RecursionError):
        return Unusable("torn")
    if (beat.name, beat.project) != (name, project):
        return Unusable("foreign")
    if beat.boot_id != boot_id():
        return Unusable("old boot")
    if beat.mono_ms > clock.monotonic_s() * MS_PER_S + _TOLERANCE_MS:
        return Unusable("future")
    return beat


def age_s(beat: Heartbeat, clock: Clock) -> int:
    """Give the monotonic age of a beat that `read` gave, in whole seconds (R35)."""
    return max(0, int(clock.monotonic_s() - beat.mono_ms / MS_PER_S))


def _bytes(path: Path) -> bytes:
    descriptor = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("no plain file")
        return os.read(descriptor, _LONGEST)
    finally:
        os.close(descriptor)
