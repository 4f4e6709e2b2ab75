"""The spec queue: every change is compared with the newest state and set, in one transaction."""

from collections.abc import Callable

from amiral.base import events as ev
from amiral.base.clock import Clock, iso_utc
from amiral.base.errors import Conflict
from amiral.specs import rows
from amiral.specs.spec import Move, Note, Spec, Status, advance
from amiral.specs.transition import Wish, check
from amiral.store.journal import Journal, Rows

Make = Callable[[Spec], Move | Note | None]
"""What is entered of a spec that may be changed so; None when nothing has to be."""


class Specs:
    """Changes specs; every method answers the spec as it is right after.

    NotFound names the nearest id. Conflict names the state a spec is in, who put it there and when:
    of two wishes that race, one has its effect and the other is told of it (R44).
    """

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock

    async def approve(self, spec_id: str, by: str, revision: int = 0) -> Spec:
        """Approve a draft; with a `revision`, only while that is what one would approve."""

        def make(spec: Spec) -> Move:
            if revision not in (0, spec.revision):
                raise Conflict(
                    f"spec {spec.id} is at revision {spec.revision}, not {revision} any more",
                    f"look at it first: amiral spec show {spec.id}",
                )
            return ev.SpecApproved(spec.id)

        return await self._change(Wish.APPROVE, spec_id, by, make)

    async def reject(self, spec_id: str, by: str, reason: str = "") -> Spec:
        """Reject a draft, or take an approval back."""
        return await self._change(
            Wish.REJECT, spec_id, by, lambda spec: ev.SpecRejected(spec.id, reason)
        )

    async def send_back(self, spec_id: str, by: str, reason: str = "") -> Spec:
        """See that a spec is rejected, so that its author may revise it."""

        def make(spec: Spec) -> Move | None:
            return None if spec.status is Status.REJECTED else ev.SpecRejected(spec.id, reason)

        return await self._change(Wish.SEND_BACK, spec_id, by, make)

    async def run_again(self, spec_id: str, by: str) -> Spec:
        """Put a spec whose last attempt failed back into the queue, with why it failed."""
        return await self._change(
            Wish.RUN, spec_id, by, lambda spec: ev.SpecApproved(spec.id, spec.reason)
        )

    async def merged(self, spec_id: str, commit: str, by: str) -> Spec:
        """Note that the work was taken into the project's branch, as `commit`."""
        return await self._change(
            Wish.MERGE, spec_id, by, lambda spec: ev.SpecMerged(spec.id, spec.branch, commit)
        )

    async def discarded(self, spec_id: str, by: str, reason: str = "") -> Spec:
        """Note that the worktree and branch of a spec are gone."""
        return await self._change(
            Wish.DISCARD, spec_id, by, lambda spec: ev.SpecDiscarded(spec.id, reason)
        )

    def check(self, spec_id: str, wish: Wish) -> Spec:
        """Find a spec of which something is wished; Conflict when it could not be now."""
        spec = rows.named(self._journal.rows, spec_id)
        check(spec, wish, iso_utc(spec.since_ms))
        return spec

    async def _change(self, wish: Wish, spec_id: str, by: str, make: Make) -> Spec:
        def decide(read: Rows) -> tuple[list[ev.Event], Spec]:
            spec = rows.named(read, spec_id)
            check(spec, wish, iso_utc(spec.since_ms))
            event = make(spec)
            if event is None:
                return [], spec
            return [event], advance(spec, event, by, now_ms)

        now_ms = self._clock.now_ms()
        return await self._journal.decide(decide, by=by)
