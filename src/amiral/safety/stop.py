"""Emergency stop: latch the brake, end every agent of a scope, prove that none is left.

Works with every process of amiral dead or hung, a full disk and no network. What it imports is
little: neither `typing` nor `contextlib`, which cost more than the stop.
"""

import time
from collections.abc import Callable

from amiral.base.errors import Broken, Conflict, Invalid
from amiral.safety.ending import end, strangers
from amiral.safety.report import Ended, Released, Report, stopping_text
from amiral.safety.scope import (
    Place,
    Scope,
    known_workers,
    project_names,
    scope_at,
    scope_named,
)
from amiral.safety.working import Working, working
from amiral.store.brake import Brake, BrakeError
from amiral.store.latch import UNKNOWN, Stop

GRACE_S = 2.0
KILL = 3

_LEVELS = (1, 2, 3)


class Order:
    """A stop as it was asked for. `level` is the gentlest one to begin with, `grace_s` each one's.

    1 interrupts turns, 2 closes sessions, 3 kills: what a level does not end is left to the next,
    so that nothing is ever left.
    """

    __slots__ = ("by", "grace_s", "level", "reason", "scope")

    def __init__(
        self, scope: str, reason: str, by: str, *, level: int = KILL, grace_s: float = GRACE_S
    ) -> None:
        if level not in _LEVELS:
            raise Invalid(f"a stop has the levels 1, 2 and 3, not {level}", "leave --level out")
        self.scope = scope
        self.reason = reason
        self.by = by
        self.level = level
        self.grace_s = grace_s

    @property
    def grace_ms(self) -> int:
        """How long its gentle levels may take together."""
        return round((KILL - self.level) * self.grace_s * 1000)


def stop_agents(place: Place, order: Order, tell: Callable[[str], None] | None = None) -> Report:
    """Stop all agents of a scope; the brake is on before anything is done to them.

    `tell` is given one line as soon as it is on. NotFound for a scope that is not there.
    """
    began = time.monotonic()
    asked = scope_named(place, order.scope)
    stop, trouble = _engage(place, asked, order)
    scope = asked if stop.scope == asked.key else scope_at(place, stop.scope)
    if tell is not None:
        tell(stopping_text(stop, scope))
    report = Report(stop, scope, _notice(place, asked, scope))
    _end(place, scope, order, report)
    if not trouble and not _is_on(place, scope):
        # An older stop was released meanwhile: whoever pressed now still wants one.
        report.stop, trouble = _engage(place, scope, order)
    report.ms = round((time.monotonic() - began) * 1000)
    if trouble:
        raise Broken(
            f"{len(report.killed)} processes were killed and {report.survivors} are left, "
            f"but {trouble}",
            "see to the disk, then stop again: until then agents may be started",
        )
    return report


def release(place: Place, stop_id: str) -> Released:
    """Lift the stop with this id; Conflict names the one that is on, or says that none is."""
    brake = Brake(place.brake)
    try:
        brake.release(stop_id)
    except BrakeError as error:
        raise Conflict(str(error), "amiral status names the stop that is on") from error
    return Released(stop_id, tuple(brake.every()), project_names(place))


def _engage(place: Place, scope: Scope, order: Order) -> tuple[Stop, str]:
    """Latch the brake; a disk that refuses even that must not keep anything alive."""
    brake, now_ms = Brake(place.brake), time.time_ns() // 1_000_000
    told = (order.reason, order.by, now_ms, scope.key)
    try:
        return brake.engage(*told, order.grace_ms), ""
    except OSError as error:
        return Stop(UNKNOWN, *told), f"the brake cannot be latched: {error}"


def _is_on(place: Place, scope: Scope) -> bool:
    """Tell whether a stop holds this scope."""
    there = (one for one in Brake(place.brake).every() if not one.is_freeze)
    return any(one.covers(scope.project, scope.worker) for one in there)


def _end(place: Place, scope: Scope, order: Order, report: Report) -> None:
    """Carry a stop out and note in its report what was stopped and what it came to."""
    sessions = [one for one in working(place, scope) if one.is_running]
    acts = {one.folder: _act(one) for one in sessions}
    reached: dict[str, int] = {}
    if order.level < KILL and sessions:
        # Only now: a plain kill need not wait for it.
        from amiral.safety.levels import end_gently  # noqa: PLC0415

        reached = end_gently(sessions, order.level, order.grace_s)
    done = end(place, scope)
    report.killed, report.survivors = tuple(sorted(done.killed)), len(done.survivors)
    report.strangers = tuple(strangers(done.met, {one.tag for one in sessions}))
    report.ended = tuple(
        Ended(one.shown, acts[one.folder], reached.get(one.folder, KILL)) for one in sessions
    )


def _act(session: Working) -> str:
    turn = session.turn()
    return turn.act if turn else ""


def _notice(place: Place, asked: Scope, scope: Scope) -> str:
    """Say what is otherwise than whoever pressed may think."""
    if asked.key != scope.key:
        return f"the brake had no place for {asked.shown} alone: everything was stopped"
    known = known_workers(place, scope.project) if scope.worker else []
    if scope.worker and scope.worker not in known:
        there = f" (known: {', '.join(known)})" if known else ""
        return f"no {scope.worker} has ever worked there{there}: is the name right?"
    return ""
