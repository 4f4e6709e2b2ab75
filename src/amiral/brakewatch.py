"""Tells of every stop and freeze that comes or goes, within a second, whoever made it."""

import contextlib

from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.longtasks import Work
from amiral.store.brake import Brake
from amiral.store.journal import Journal
from amiral.store.latch import Stop

_LOOK_S = 1.0


def brake_watcher(brake: Brake, journal: Journal, clock: Clock) -> Work:
    """Make the task that enters what is in force for a project into its journal."""

    async def watch() -> None:
        seen: dict[str, Stop] = {}
        while True:
            now = {one.stop_id: one for one in brake.here()}
            events = [_seen(one, on=True) for key, one in now.items() if key not in seen]
            events += [_seen(one, on=False) for key, one in seen.items() if key not in now]
            # On a full disk nothing can be told; what was not is told when there is room again.
            with contextlib.suppress(AmiralError):
                if events:
                    await journal.append(*events)
                seen = now
            await clock.sleep(_LOOK_S)

    return watch


def _seen(mark: Stop, *, on: bool) -> ev.BrakeSeen:
    return ev.BrakeSeen(on, mark.stop_id, mark.reason if on else "", mark.scope, mark.kind)
