"""The requests that wait for the owner: listed and answered, each once, with the truth if late."""

from collections.abc import Callable
from dataclasses import replace

from amiral.agents import approval_rows as rows
from amiral.agents.approval import Approval, State
from amiral.base import events as ev
from amiral.base.clock import Clock, iso_utc
from amiral.base.errors import Conflict
from amiral.base.failpoint import failpoint
from amiral.safety.approval import check, ended
from amiral.store.brake import Brake
from amiral.store.journal import Journal, Rows


class Approvals:
    """Answers requests; who may do so is judged where commands are (only the owner).

    `wake` has the running turn of a worker look at what was answered.
    """

    def __init__(
        self, journal: Journal, clock: Clock, brake: Brake, wake: Callable[[str], None]
    ) -> None:
        self._journal, self._clock, self._brake, self._wake = journal, clock, brake, wake

    def now_ms(self) -> int:
        """Tell the time that ages and expiries are counted from."""
        return self._clock.now_ms()

    def waiting(self) -> list[Approval]:
        """List what can be answered, the oldest first."""
        now_ms = self._clock.now_ms()
        return [one for one in rows.waiting(self._journal.rows) if now_ms < one.expires_ms]

    def find(self, typed: str) -> Approval:
        """Find a request, whatever its state; NotFound names the nearest."""
        return rows.named(self._journal.rows, typed)

    async def answer(
        self, typed: str, *, allow: bool, by: str, reason: str = "", digest: str = ""
    ) -> Approval:
        """Allow or deny a request, once.

        Conflict says what is true instead: who answered what and when, that it has expired, that
        its turn has ended; or that it is not about the content with this `digest`.
        """
        now_ms = self._clock.now_ms()

        def claim(read: Rows) -> tuple[list[ev.Event], Approval]:
            found = rows.named(read, typed)
            approval = _at(found, now_ms)
            check(approval, digest, iso_utc(approval.ended_ms))
            stop = self._brake.state(found.worker)
            if stop is not None:
                raise Conflict(f"{stop.name} is on: {stop.reason}", stop.way_out)
            if rows.is_ordered_to_end(read, approval.message):
                raise Conflict(
                    f"the turn of request {approval.id} is being ended", "amiral approvals"
                )
            who = (approval.id, approval.turn, approval.worker)
            state = State.ALLOWED if allow else State.DENIED
            answered = replace(approval, state=state, by=by, reason=reason, ended_ms=now_ms)
            return [ev.ApprovalAnswered(*who, allow, reason)], answered

        approval = await self._journal.decide(claim, by=by)
        failpoint("approval.answered")
        self._wake(approval.worker)
        return approval

    def outcome(self, approval: Approval) -> str:
        """Say what has become of a request that does not wait any more."""
        return ended(approval, iso_utc(approval.ended_ms))


def _at(approval: Approval, now_ms: int) -> Approval:
    """Give a request as it is at this time: its turn may not have seen yet that it has expired."""
    if approval.is_waiting and now_ms >= approval.expires_ms:
        return replace(approval, state=State.EXPIRED, ended_ms=approval.expires_ms)
    return approval
