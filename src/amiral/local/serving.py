"""The process that serves a project, as seen from outside: is it busy, and have it end."""

import contextlib

from amiral.base.clock import SystemClock
from amiral.base.errors import AmiralError, Conflict
from amiral.hub.asking import Silent, ask
from amiral.processes.serving import Served, claim_project
from amiral.store.claim import Claim

_ANSWER_S = 10.0
_END_S = 30.0
_AT_REST = "idle"


async def refuse_busy(served: Served) -> None:
    """Ask the process that serves a project, if one does, whether anybody is at work."""
    try:
        told = await ask(served.socket, ["status"], _ANSWER_S)
    except Silent:
        return
    found = told.get("projects") or [{}]
    busy = [one["id"] for one in found[0].get("workers", ()) if one["state"] != _AT_REST]
    if busy:
        raise Conflict(
            f"{', '.join(busy)} of {served.name} has work under way",
            "wait for it, or take it back: amiral status, amiral interrupt",
        )


async def ended(served: Served) -> Claim:
    """Have the process that serves a project end, and keep every other one out."""
    clock = SystemClock()
    until_s = clock.monotonic_s() + _END_S
    while True:
        try:
            return await claim_project(served, clock, serves=False)
        except Conflict:
            if clock.monotonic_s() > until_s:
                raise
        with contextlib.suppress(AmiralError):
            await ask(served.socket, ["down"], _ANSWER_S)
