"""Puts into words what the hub saw of the projects' processes."""

import contextlib
from collections.abc import Awaitable, Callable

from amiral.base import fleet_events as ev
from amiral.base.errors import AmiralError
from amiral.base.event import Event
from amiral.hub.tended import Tended
from amiral.hub.watchdog import advice, pause_s

Tell = Callable[[Event], Awaitable[object]]


class Telling:
    """Tells of one project's process at a time; a full disk keeps nobody from tending it."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    async def started(self, one: Tended, pid: int) -> None:
        """It was started."""
        await self._say(ev.ChildStarted(one.project.id, one.project.name, pid))

    async def adopted(self, one: Tended, pid: int) -> None:
        """It ran already."""
        await self._say(ev.ChildAdopted(one.project.id, one.project.name, pid))

    async def died(self, one: Tended, pid: int, signature: str, now_ms: int) -> None:
        """It died unasked, and is parked perhaps."""
        project, pause = one.project, pause_s(one.record, now_ms)
        await self._say(ev.ChildDied(project.id, project.name, pid, signature, pause))
        if one.record.parked:
            await self._say(ev.ChildParked(project.id, project.name, one.record.parked))

    async def hung(self, one: Tended, pid: int, silent_s: int) -> None:
        """It neither beats nor answers."""
        project = one.project
        told = advice(project.name, silent_s)
        await self._say(ev.ChildHung(project.id, project.name, pid, silent_s, told))

    async def ended(self, one: Tended, pid: int, reason: str) -> None:
        """It ended as it was asked to."""
        await self._say(ev.ChildEnded(one.project.id, one.project.name, pid, reason))

    async def _say(self, event: Event) -> None:
        with contextlib.suppress(AmiralError):
            await self._tell(event)
