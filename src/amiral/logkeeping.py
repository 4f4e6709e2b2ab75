"""Writes what its owner should know of a running process into a log of one file a UTC day."""

import msgspec

from amiral.base import events as ev
from amiral.longtasks import Work
from amiral.store.journal import Journal
from amiral.store.log import Log

_TOLD = (
    *(ev.ProjectProcessStarted, ev.BrakeSeen, ev.WarningRaised, ev.WorkersRefused),
    *(ev.ContextLost, ev.SpecFailed),
)


def log_keeper(journal: Journal, log: Log, since: int) -> Work:
    """Give the task that follows the journal from event `since` on."""

    async def keep() -> None:
        async for stamped in journal.subscribe(since):
            ended_badly = isinstance(stamped.event, ev.TurnEnded) and stamped.event.reason
            if ended_badly or isinstance(stamped.event, _TOLD):
                payload = msgspec.json.decode(stamped.payload)
                log.write({"event": stamped.name, "seq": stamped.seq, **payload})

    return keep
