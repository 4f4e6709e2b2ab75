"""Pure: what may be done with a spec in which state, and what is told when it may not (S0.18)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from amiral.base.errors import Conflict
from amiral.base.plain import one_line
from amiral.specs.spec import Spec, Status

_LONGEST_REASON = 200


class Wish(StrEnum):
    """What one may want of a spec, as it completes the sentence `spec X cannot be …`."""

    APPROVE = "approved"
    REJECT = "rejected"
    SEND_BACK = "sent back"
    REVISE = "revised"
    RUN = "carried out again"
    CLAIM = "carried out"
    TEST = "tested"
    FAIL = "given up"
    FINISH = "done"
    MERGE = "merged"
    DISCARD = "discarded"


_FROM: Final[Mapping[Wish, frozenset[Status]]] = {
    Wish.APPROVE: frozenset({Status.DRAFT}),
    Wish.REJECT: frozenset({Status.DRAFT, Status.APPROVED}),
    Wish.SEND_BACK: frozenset({Status.DRAFT, Status.APPROVED, Status.REJECTED}),
    Wish.REVISE: frozenset({Status.REJECTED}),
    Wish.RUN: frozenset({Status.APPROVED}),
    Wish.CLAIM: frozenset({Status.APPROVED}),
    Wish.TEST: frozenset({Status.EXECUTING}),
    Wish.FAIL: frozenset({Status.EXECUTING}),
    Wish.FINISH: frozenset({Status.EXECUTING}),
    Wish.MERGE: frozenset({Status.DONE}),
    Wish.DISCARD: frozenset(Status) - {Status.EXECUTING},
}


def may(spec: Spec, wish: Wish) -> bool:
    """Tell whether a spec is in a state for this."""
    if spec.status not in _FROM[wish]:
        return False
    match wish:
        case Wish.RUN:
            return spec.is_failed
        case Wish.MERGE:
            return bool(spec.branch) and not spec.merged
        case Wish.DISCARD:
            return bool(spec.branch)
        case _:
            return True


def check(spec: Spec, wish: Wish, since: str) -> None:
    """Raise Conflict when it may not be: with the present state, who put it there, and the way out.

    `since` is the instant of the spec's state, as it is written for people.
    """
    if may(spec, wish):
        return
    raise Conflict(
        f"spec {spec.id} cannot be {wish}: {describe_state(spec, since)}{_about_work(spec, wish)}",
        way_out(spec),
    )


def describe_state(spec: Spec, since: str) -> str:
    """Say for people in which state a spec is, by whom and since when."""
    reason = f": {one_line(spec.reason, _LONGEST_REASON)}" if spec.reason else ""
    match spec.status:
        case Status.DRAFT:
            state = f"it is a draft (revision {spec.revision})"
        case Status.APPROVED if spec.is_failed:
            return f"its last attempt failed at {since}{reason}"
        case Status.EXECUTING:
            return f"{spec.worker} carries it out since {since}"
        case _:
            state = f"it is {spec.status}"
    return f"{state}, by {spec.by} at {since}{reason}"


def way_out(spec: Spec) -> str:
    """Name the next step that a spec's state leaves to the owner."""
    match spec.status:
        case Status.DRAFT:
            return f"amiral approve {spec.id}, or amiral reject {spec.id}"
        case Status.APPROVED if spec.is_failed:
            return f"amiral spec run {spec.id}, or amiral reject {spec.id}"
        case Status.APPROVED:
            return f"it waits for its turn; amiral reject {spec.id} takes the approval back"
        case Status.REJECTED:
            return f"amiral spec revise {spec.id} has it written again"
        case Status.EXECUTING:
            return f"amiral interrupt {spec.worker} stops the work"
        case _:
            return f"amiral spec show {spec.id}"


def _about_work(spec: Spec, wish: Wish) -> str:
    if wish not in (Wish.MERGE, Wish.DISCARD):
        return ""
    if wish is Wish.MERGE and spec.merged:
        return f"; its work was merged as {spec.merged}"
    return "" if spec.branch else "; it has no work in a worktree"
