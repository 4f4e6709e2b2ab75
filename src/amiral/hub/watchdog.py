"""Pure: what follows when a project's process dies or falls silent (R33, R34, R35, P06).

Instants are monotonic milliseconds of this run of the machine. Nothing here kills: a process that
is silent is told of, with the next step for a person.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

MOST_RESTARTS = 5
WINDOW_MS = 15 * 60_000
WELL_MS = 10 * 60_000
SAME_DEATHS = 3
MOST_STARTING = 4
START_MS = 60_000
SILENT_BEATS = 3
JUMP_MS = 30_000
TOGETHER_MS = 30_000

_FIRST_PAUSE_MS = 1000
_MS_PER_S = 1000


@dataclass(frozen=True)
class Record:
    """What is known of the deaths of one project's process.

    `deaths` holds a signature for each since it was last well ("" where its end was not seen),
    `restarts` the instants at which it was started again, `since_ms` that at which its present run
    began (None: it does not run), `due_ms` that before which it is not started.
    """

    deaths: tuple[str, ...] = ()
    restarts: tuple[int, ...] = ()
    since_ms: int | None = None
    due_ms: int = 0
    parked: str = ""
    is_ended: bool = False

    @property
    def may_start(self) -> bool:
        """Whether it is started without a person's word."""
        return self.since_ms is None and not self.parked and not self.is_ended


@dataclass(frozen=True)
class Look:
    """Both clocks at one moment, in milliseconds."""

    mono_ms: int
    wall_ms: int


def started(record: Record, now_ms: int) -> Record:
    """Note a start; one that follows a death is a restart and counts."""
    restarts = (*recent(record, now_ms), now_ms) if record.deaths else recent(record, now_ms)
    return replace(record, restarts=restarts, since_ms=now_ms, parked="", is_ended=False)


def adopted(record: Record, now_ms: int) -> Record:
    """Note that it runs, whoever started it; its deaths are not forgotten."""
    return replace(record, since_ms=now_ms, parked="", is_ended=False)


def rested(record: Record, now_ms: int) -> Record:
    """Forget its deaths once it has run long enough: a good start alone proves nothing."""
    if record.since_ms is None or now_ms - record.since_ms < WELL_MS or not record.deaths:
        return record
    return replace(record, deaths=())


def died(record: Record, now_ms: int, signature: str, jitter: float) -> Record:
    """Note a death nobody asked for: it waits, or is parked. `jitter` lies in 0..1."""
    calm = rested(record, now_ms)
    deaths = (*calm.deaths, signature)
    fallen = replace(calm, deaths=deaths, since_ms=None, parked=_why_parked(deaths, signature))
    pause_ms = round(_FIRST_PAUSE_MS * 2 ** (len(deaths) - 1) * (1 + jitter))
    return replace(fallen, due_ms=max(now_ms + pause_ms, _next_free(record, now_ms)))


def ended(record: Record, now_ms: int) -> Record:
    """Note an end that was asked for: it is not started again."""
    return replace(record, since_ms=None, is_ended=True, due_ms=now_ms)


def left_behind(record: Record, now_ms: int) -> Record:
    """Give what the next hub shall know when this one ends as it was asked to.

    What ended just before was ended together with the hub: no wish for this project alone.
    """
    is_wish = record.is_ended and now_ms - record.due_ms > TOGETHER_MS
    return replace(record, is_ended=is_wish)


def released(record: Record) -> Record:
    """Begin anew: a person said so."""
    return Record(since_ms=record.since_ms)


def carried_over(record: Record) -> Record:
    """Carry a record into another run of the machine: its instants mean nothing there."""
    return Record(deaths=record.deaths, parked=record.parked)


def recent(record: Record, now_ms: int) -> tuple[int, ...]:
    """Give the restarts that count now."""
    return tuple(at_ms for at_ms in record.restarts if at_ms > now_ms - WINDOW_MS)


def next_starts(records: Mapping[str, Record], starting: int, now_ms: int) -> tuple[str, ...]:
    """Say which are started now, the longest due first: few at once, however many died.

    `starting` is how many were started and do not serve yet.
    """
    due = sorted(
        (record.due_ms, name)
        for name, record in records.items()
        if record.may_start and record.due_ms <= now_ms
    )
    return tuple(name for _, name in due[: max(0, MOST_STARTING - starting)])


def is_silent(heard_ms: int, now_ms: int, beat_ms: int) -> bool:
    """Tell whether nothing was heard for too many beats: time to ask."""
    return now_ms - heard_ms > SILENT_BEATS * beat_ms


def has_jumped(before: Look, now: Look) -> bool:
    """Tell whether a clock was set, or the machine slept or was held, between two looks (R35).

    Looks follow each other within seconds. After a jump no silence counts for one beat.
    """
    passed_ms = now.mono_ms - before.mono_ms
    return passed_ms > JUMP_MS or abs(now.wall_ms - before.wall_ms - passed_ms) > JUMP_MS


def advice(name: str, silent_s: int) -> str:
    """Say what a person can do about a silent process, which may only be slow (R34)."""
    return (
        f"no heartbeat and no answer for {silent_s} s: it hangs, or the machine is very busy; "
        f"`amiral restart {name}` starts it again while its agents go on"
    )


def pause_s(record: Record, now_ms: int) -> int:
    """Give the whole seconds until it is started, 0 when it is not waiting."""
    return max(0, -(-(record.due_ms - now_ms) // _MS_PER_S)) if record.may_start else 0


def _next_free(record: Record, now_ms: int) -> int:
    """Give the instant from which one more restart keeps within the bound."""
    kept = recent(record, now_ms)
    return kept[-MOST_RESTARTS] + WINDOW_MS if len(kept) >= MOST_RESTARTS else now_ms


def _why_parked(deaths: Iterable[str], signature: str) -> str:
    every = tuple(deaths)
    if signature and every.count(signature) >= SAME_DEATHS:
        return f"died {SAME_DEATHS} times in the same way: {signature}"
    if len(every) > MOST_RESTARTS:
        return f"died {len(every)} times and was never well for {WELL_MS // 60_000} minutes"
    return ""
