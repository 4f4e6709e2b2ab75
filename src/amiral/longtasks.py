"""The long tasks of a project process: taken up again after a fault, which is told once."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.store.journal import Journal

Work = Callable[[], Coroutine[Any, Any, None]]

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0


class LongTasks:
    """Tasks that end only with the process; each begins anew from what is on disk."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock
        self._tasks: list[asyncio.Task[None]] = []

    def run(self, name: str, work: Work) -> None:
        """Run one task until `close`; a return of its work is its end."""
        self._tasks.append(asyncio.create_task(self._keep(name, work), name=name))

    async def close(self) -> None:
        """End them all."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _keep(self, name: str, work: Work) -> None:
        pause_s, told = _FIRST_PAUSE_S, ""
        while True:
            try:
                await work()
                return
            except Exception as fault:  # noqa: BLE001 whatever it was, a person must know
                text = f"{name} met a fault and begins anew: {fault!r}"
            # What cannot be told on a full disk is told at the next fault.
            with contextlib.suppress(AmiralError):
                if text != told:
                    await self._journal.append(ev.WarningRaised(name, text))
                    told = text
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
