"""Lists the workers held by rate limits and lets them go on by hand."""

from amiral.agents import rows
from amiral.agents.inbox import Inbox
from amiral.base.clock import Clock
from amiral.limits.limit import Limit, state_at
from amiral.store.journal import Journal


class Limits:
    """Only unparks: chat and turns never hear of limits (decision 11)."""

    def __init__(self, inbox: Inbox, journal: Journal, clock: Clock) -> None:
        self._inbox, self._journal, self._clock = inbox, journal, clock

    def current(self) -> list[Limit]:
        """List the limits in force."""
        now_ms = self._clock.now_ms()
        return [
            Limit(
                worker=park.worker,
                account="",
                window=park.window,
                resets_at_ms=park.resets_at_ms,
                source=park.source,
                state=state_at(park.resets_at_ms, now_ms),
                since_ms=park.since_ms,
                text=park.text,
            )
            for park in rows.parked(self._journal.rows)
        ]

    async def resume(self, worker: str, by: str) -> None:
        """Let a worker go on now; NotFound when it is not limited."""
        await self._inbox.resume(worker, by)

    async def cancel(self, worker: str, by: str) -> None:
        """Give up the limited turn of a worker; NotFound when it is not limited."""
        await self._inbox.cancel_parked(worker, by, "cancelled while limited")
