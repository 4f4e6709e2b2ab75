"""Writes what its owner should know of a running process into a log of one file a UTC day."""

from pathlib import Path

import msgspec

from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.settings import Logs
from amiral.longtasks import Work
from amiral.store.journal import Journal
from amiral.store.log import Log
from amiral.store.redact import Redactor

_TOLD = (
    *(ev.ProjectProcessStarted, ev.BrakeSeen, ev.WarningRaised, ev.WorkersRefused),
    *(ev.ContextLost, ev.SpecFailed),
    *(ev.ChildDied, ev.ChildParked, ev.ChildHung, ev.ChildStarted, ev.ChildAdopted, ev.ChildEnded),
)


def log_of(logs: Logs, home: Path, name: str, stream: str, clock: Clock, redact: Redactor) -> Log:
    """Give the log of one process, in a folder of its own below the root of all logs."""
    root = Path(logs.dir).expanduser() if logs.dir else home / "logs"
    return Log(root / name, stream, clock, redact, max_mb=logs.max_mb)


def log_keeper(journal: Journal, log: Log, since: int) -> Work:
    """Give the task that follows the journal from event `since` on."""

    async def keep() -> None:
        async for stamped in journal.subscribe(since):
            ended_badly = isinstance(stamped.event, ev.TurnEnded) and stamped.event.reason
            if ended_badly or isinstance(stamped.event, _TOLD):
                payload = msgspec.json.decode(stamped.payload)
                log.write({"event": stamped.name, "seq": stamped.seq, **payload})

    return keep
