"""Leaves the sign of life of a project's process, at its start, in its rounds and at its end."""

import asyncio
import contextlib
import os
from pathlib import Path

from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.processes.heartbeat import State, own_beat, write
from amiral.projects.project import Project

_LEAST_FREE_MB = 16


class Heartbeats:
    """The beats of this process; a disk that refuses one is no death: whoever asks is answered."""

    def __init__(self, home: Path, project: Project, clock: Clock, every_s: float) -> None:
        self._home, self._project = home, project
        self._clock, self._every_s = clock, every_s
        self._seq, self._last_s = 0, clock.monotonic_s()

    def age_s(self) -> int:
        """Tell how many seconds ago the last one was."""
        return int(self._clock.monotonic_s() - self._last_s)

    async def run(self) -> None:
        """Beat for ever; it tells that the loop runs, so it is written from the loop's rounds."""
        while True:
            free_mb = _free_mb(self._home)
            if free_mb < _LEAST_FREE_MB:
                await self._beat("degraded", f"{free_mb} MB left on the disk")
            else:
                await self._beat("running", "")
            await self._clock.sleep(self._every_s)

    async def end(self) -> None:
        """Leave the last one: this process ends because it was asked to."""
        await self._beat("ended", "")

    async def _beat(self, state: State, reason: str) -> None:
        self._seq, self._last_s = self._seq + 1, self._clock.monotonic_s()
        beat = own_beat(self._project.name, self._project.id, self._seq, self._clock, state, reason)
        with contextlib.suppress(AmiralError):
            await asyncio.to_thread(write, self._home, beat)


def _free_mb(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize >> 20
