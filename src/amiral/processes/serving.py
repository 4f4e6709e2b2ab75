"""Which process serves a project: it holds a lock that the kernel drops when it dies (R30)."""

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path

from amiral.base.clock import Clock
from amiral.base.errors import Conflict
from amiral.base.ids import digest
from amiral.processes.heartbeat import Unusable, read
from amiral.processes.peer import peer_of
from amiral.processes.tree import Identity, identify, is_alive
from amiral.store.claim import Claim, holder_of
from amiral.store.files import ensure_private_folder

UNNAMED = Identity("", 0, 0)

_TRIES = 10
_PAUSE_S = 0.05
_PATIENCE_S = 1.0


@dataclass(frozen=True)
class Served:
    """A project by its id, its name and its real path, under one home."""

    home: Path
    project: str
    name: str
    root: str

    @property
    def socket(self) -> Path:
        """Where its process listens for command lines."""
        return self.home / "run" / f"{digest(self.root, 16)}.sock"

    @property
    def lock(self) -> Path:
        """What its process holds as long as it lives."""
        return self.home / "projects" / self.project / "process.lock"


@dataclass(frozen=True)
class Server:
    """The process that serves a project.

    `is_listening` tells that it takes command lines, or did before it hung; UNNAMED is one that
    holds the lock and tells nobody who it is.
    """

    identity: Identity
    is_listening: bool


async def claim_project(served: Served, clock: Clock, *, serves: bool = True) -> Claim:
    """Make this process the one that serves a project; Conflict names the one that does already.

    With `serves` false it only keeps others out, and nobody takes it for the one that serves.
    Tried for half a second: whoever only looks holds the lock for a moment.
    """
    ensure_private_folder(served.lock.parent)
    for _ in range(_TRIES):
        with contextlib.suppress(Conflict):
            return Claim(served.lock, served.name, serves=serves)
        await clock.sleep(_PAUSE_S)
    return Claim(served.lock, served.name, serves=serves)


async def server_of(served: Served, clock: Clock) -> Server | None:
    """Find the process that serves a project, None when there is none.

    The kernel names who listens and tells whether the lock is held; a number in a file is believed
    only when it is.
    """
    listener = await _listener(served.socket)
    if listener is not None:
        return Server(listener, is_listening=True)
    holder = holder_of(served.lock)
    if holder is None:
        return None
    named = identify(holder) if holder else None
    if named is not None and is_alive(named):
        return Server(named, is_listening=False)
    beat = read(served.home, served.name, served.project, clock)
    if isinstance(beat, Unusable) or not is_alive(beat.identity):
        return Server(UNNAMED, is_listening=False)
    return Server(beat.identity, is_listening=False)


async def _listener(path: Path) -> Identity | None:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            _, writer = await asyncio.open_unix_connection(path)
    except OSError:
        return None
    pid = peer_of(writer.get_extra_info("socket"), "").pid
    writer.close()
    found = identify(pid) if pid else None
    return found if found is not None and is_alive(found) else None
