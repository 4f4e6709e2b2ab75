"""One project as the hub tends it: its process, what was heard of it, what is to follow."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

from amiral.base.clock import MS_PER_S, Clock
from amiral.hub.memory import Remembered
from amiral.hub.output import Output
from amiral.hub.watchdog import START_MS, Record, is_silent
from amiral.processes.heartbeat import Heartbeat, Unusable, read
from amiral.processes.serving import Served
from amiral.processes.spawn import Child
from amiral.processes.tree import HAS_PIDFD, Identity, is_alive
from amiral.projects.project import Project

_DEATH_LOOK_S = 0.05
_NEW = Record()


class Running:
    """A process that runs: born of this hub (`child`), or adopted; `wake` is called at its end."""

    def __init__(
        self, identity: Identity, wake: Callable[[], None], child: Child | None = None
    ) -> None:
        self.identity = identity
        self._child, self._wake = child, wake
        self._handle = -1
        # Where there is no handle to be had, whoever looks every two seconds sees it too.
        if HAS_PIDFD:
            with contextlib.suppress(OSError):
                self._handle = os.pidfd_open(identity.pid)
                asyncio.get_running_loop().add_reader(self._handle, self._ended)

    @property
    def is_alive(self) -> bool:
        """Whether exactly this process still runs."""
        return is_alive(self.identity)

    async def code(self) -> int | None:
        """Give the exit code of one that has ended, None where its end was not ours to see."""
        return await self._child.exited() if self._child else None

    def let_go(self) -> None:
        """Watch it no longer; it goes on."""
        if self._handle >= 0:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = -1

    async def gone(self, clock: Clock, patience_s: float) -> bool:
        """Wait for its end; False when it takes too long."""
        return await gone(self.identity, clock, patience_s)

    def _ended(self) -> None:
        self.let_go()
        self._wake()


class Tended:
    """A project, its record and, while one runs, its process.

    `heard_ms` is when it last proved that it lives; `is_shown` that it has come up; `is_leaving`
    that it was asked to end because its row is gone.
    """

    def __init__(self, home: Path, project: Project, record: Record = _NEW) -> None:
        self.project, self.record = project, record
        self.served = Served(home, project.id, project.name, project.path)
        self.output = Output(home / "projects" / project.id / "logs" / "process.log")
        self.running: Running | None = None
        self.beat: Heartbeat | None = None
        self.heard_ms = self.asked_ms = 0
        self.is_shown = self.is_hung = self.is_leaving = self.is_unnamed = False

    def rename(self, project: Project) -> None:
        """Take over what its row says now; id and path stay."""
        self.project = project
        self.served = Served(self.served.home, project.id, project.name, project.path)

    def takes(self, running: Running, now_ms: int, *, is_shown: bool) -> None:
        """Begin to watch a process."""
        self.running, self.heard_ms, self.asked_ms = running, now_ms, now_ms
        self.is_shown, self.is_hung, self.is_unnamed = is_shown, False, False
        self.beat = None

    def drops(self) -> None:
        """Watch it no longer, dead or alive."""
        if self.running is not None:
            self.running.let_go()
        self.running = None
        self.is_hung = self.is_shown = False

    def listen(self, clock: Clock) -> None:
        """Read its last beat; one of another process says nothing of this one."""
        found = read(self.served.home, self.project.name, self.project.id, clock)
        if isinstance(found, Unusable) or self.running is None:
            return
        if found.identity != self.running.identity:
            return
        is_new = self.beat is None or found.seq != self.beat.seq
        self.beat, self.is_shown = found, True
        if is_new and found.mono_ms >= self.heard_ms:
            self.hears(found.mono_ms)

    def hears(self, at_ms: int) -> None:
        """Note a sign of life."""
        self.heard_ms, self.is_hung = max(self.heard_ms, at_ms), False

    def is_starting(self, now_ms: int) -> bool:
        """Whether it was started and has not come up yet, within reason."""
        since_ms = self.record.since_ms
        return (
            self.running is not None
            and not self.is_shown
            and since_ms is not None
            and now_ms - since_ms < START_MS
        )

    def is_to_ask(self, now_ms: int, beat_ms: int) -> bool:
        """Whether it has been silent too long, and was not asked within the last beat."""
        is_due = now_ms - self.asked_ms >= beat_ms
        return is_due and is_silent(self.heard_ms, now_ms, beat_ms)

    def silent_s(self, now_ms: int) -> int:
        """Give the seconds since it last proved that it lives."""
        return (now_ms - self.heard_ms) // MS_PER_S

    def remembered(self) -> Remembered:
        """What the next hub must know of it."""
        if self.running is None:
            return Remembered(self.project, self.record)
        process = self.running.identity
        return Remembered(self.project, self.record, process.pid, process.start)

    def has_left(self, process: Identity, clock: Clock) -> bool:
        """Whether a process is gone and its last beat says that it was asked to end."""
        found = read(self.served.home, self.project.name, self.project.id, clock)
        if isinstance(found, Unusable) or is_alive(process):
            return False
        return found.identity == process and found.state == "ended"


async def gone(process: Identity, clock: Clock, patience_s: float) -> bool:
    """Wait for the end of a process; False when it takes too long."""
    by_s = clock.monotonic_s() + patience_s
    while is_alive(process) and clock.monotonic_s() < by_s:
        await clock.sleep(_DEATH_LOOK_S)
    return not is_alive(process)


def signature_of(code: int | None, last_line: str) -> str:
    """Say how a process died, "" where nobody saw it: its code or signal, and its last words."""
    if code is None:
        return ""
    how = f"exit {code}" if code >= 0 else f"signal {_signal_name(-code)}"
    return f"{how}: {last_line}" if last_line else how


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
