"""How a project's process stands now, in the words that people and programs are shown."""

from dataclasses import dataclass

from amiral.base.clock import MS_PER_S, Clock
from amiral.hub.tended import Tended
from amiral.hub.watchdog import advice, pause_s, recent
from amiral.processes.heartbeat import age_s
from amiral.processes.tree import Identity
from amiral.projects.project import Project


@dataclass(frozen=True)
class ChildState:
    """A project's process now.

    `state` is starting, running, hung, waiting, parked, ended or stopped (it was asked to end, as
    its row is gone); `process` None when none runs; `heartbeat_age_s` None without a beat of it;
    `restarts` those of the last 15 minutes; `next_s` the seconds until its next start.
    """

    project: Project
    state: str
    process: Identity | None
    heartbeat_age_s: int | None
    restarts: int
    reason: str
    next_s: int

    @property
    def pid(self) -> int:
        """Its number for people, 0 when none runs: signal it by `process` alone."""
        return self.process.pid if self.process else 0


def state_of(one: Tended, clock: Clock) -> ChildState:
    """Tell how a project's process stands."""
    now_ms = round(clock.monotonic_s() * MS_PER_S)
    state, reason = _running(one, now_ms) if one.running is not None else _at_rest(one)
    return ChildState(
        project=one.project,
        state=state,
        process=one.running.identity if one.running is not None else None,
        heartbeat_age_s=age_s(one.beat, clock) if one.beat is not None else None,
        restarts=len(recent(one.record, now_ms)),
        reason=reason,
        next_s=pause_s(one.record, now_ms),
    )


def _running(one: Tended, now_ms: int) -> tuple[str, str]:
    if one.is_leaving:
        return "stopped", "it was asked to end: its row is gone from the registry"
    if one.is_hung:
        return "hung", advice(one.project.name, one.silent_s(now_ms))
    if one.is_starting(now_ms):
        return "starting", ""
    return "running", one.beat.reason if one.beat is not None else ""


def _at_rest(one: Tended) -> tuple[str, str]:
    again = f"`amiral restart {one.project.name}` starts it"
    if one.is_unnamed:
        return "waiting", "it is served by a process that does not tell its number"
    if one.record.parked:
        return "parked", f"{one.record.parked}; {again}"
    if one.record.is_ended:
        return "ended", f"it was asked to end; {again}"
    if one.record.deaths:
        return "waiting", one.record.deaths[-1] or "nobody saw how it died"
    return "starting", ""
