"""Tells of every stop and freeze that comes or goes, within a second, whoever made it."""

import contextlib

from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.longtasks import Work
from amiral.store.brake import Brake
from amiral.store.codec import read_row
from amiral.store.journal import Journal
from amiral.store.latch import Stop

_LOOK_S = 1.0
_SELECT = "select * from event where name = 'BrakeSeen' order by seq"


def brake_watcher(brake: Brake, journal: Journal, clock: Clock) -> Work:
    """Make the task that enters what is in force for a project into its journal.

    It goes on from what the journal tells: what came or went while nobody looked is told once.
    """

    async def watch() -> None:
        told = _told(journal)
        while True:
            now = {one.stop_id: one for one in brake.here()}
            events = [_seen(one, on=True) for key, one in now.items() if key not in told]
            events += [_seen(one, on=False) for key, one in told.items() if key not in now]
            # On a full disk nothing can be told; what was not is told when there is room again.
            with contextlib.suppress(AmiralError):
                if events:
                    await journal.append(*events)
                told = now
            await clock.sleep(_LOOK_S)

    return watch


def _told(journal: Journal) -> dict[str, Stop]:
    """Give what the journal tells to be in force, by its id."""
    found: dict[str, Stop] = {}
    for event in (read_row(row).event for row in journal.rows(_SELECT)):
        if isinstance(event, ev.BrakeSeen):
            found.pop(event.stop_id, None)
            if event.on:
                key = event.stop_id
                found[key] = Stop(key, event.reason, "", 0, event.scope, event.kind)
    return found


def _seen(mark: Stop, *, on: bool) -> ev.BrakeSeen:
    return ev.BrakeSeen(on, mark.stop_id, mark.reason if on else "", mark.scope, mark.kind)
