"""Rate limits by hand: who is held, go on, give up."""

from amiral.base.clock import iso_utc
from amiral.commands.registry import Caller, Reply, command
from amiral.limits.limit import Limit
from amiral.limits.service import Limits


class LimitCommands:
    """`limits`, `limits resume W`, `limits cancel W`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    @command("limits")
    async def limits(self, caller: Caller) -> Reply:
        """List the limits in force."""
        del caller
        current = self._limits.current()
        shown = "\n".join(_shown(limit) for limit in current) or "no worker is limited"
        return Reply(shown, {"limits": current})

    @command("limits resume")
    async def resume(self, caller: Caller, worker: str) -> Reply:
        """Let a limited worker go on now."""
        await self._limits.resume(worker, caller.id)
        return Reply(f"⏳ resumed {worker}", {"worker": worker, "state": "resumed"})

    @command("limits cancel")
    async def cancel(self, caller: Caller, worker: str) -> Reply:
        """Give up the limited turn of a worker."""
        await self._limits.cancel(worker, caller.id)
        return Reply(f"✓ cancelled the turn of {worker}", {"worker": worker, "state": "cancelled"})


def _shown(limit: Limit) -> str:
    until = "no hour given"
    if limit.resets_at_ms is not None:
        until = f"resets {iso_utc(limit.resets_at_ms)}"
    window = limit.window or "rate limit"
    return f"⏸ {limit.worker} · {window} · {until}\n  amiral limits resume {limit.worker}"
