"""What the engine reads back from its tables, as values."""

from dataclasses import dataclass
from typing import Any

from amiral.base.event import Position
from amiral.store.journal import Rows


@dataclass(frozen=True)
class Queued:
    """One message of a worker's queue, in the state the journal knows.

    `state`: queued, injected, seen, parked, resuming (done and cancelled ones are not read back).
    """

    message: str
    worker: str
    conversation: str
    text: str
    sender: str
    state: str
    turn: str
    session: str
    line: str
    resumes: int
    returns: int


@dataclass(frozen=True)
class SessionRow:
    """One session; `position` is committed, `snapshot` the driver's state at `snapshot_at`."""

    session: str
    worker: str
    conversation: str
    driver: str
    cwd: str
    socket: str
    seat: str
    resume_key: str
    fresh_key: str
    state: str
    position: Position
    snapshot: str
    snapshot_at: Position


@dataclass(frozen=True)
class ResumeKey:
    """The key that continues a conversation on one driver, and the folder it was made in."""

    key: str
    cwd: str


@dataclass(frozen=True)
class Park:
    """A worker held by a rate limit; `resets_at_ms` is None when nobody knows."""

    worker: str
    turn: str
    message: str
    window: str
    resets_at_ms: int | None
    source: str
    since_ms: int
    text: str


_QUEUED = (
    "select message, worker, conversation, text, sender, state, turn, session, line, resumes,"
    " returns from inbox where state not in ('done', 'cancelled')"
)
_SESSION = (
    "select session, worker, conversation, driver, cwd, socket, seat, resume_key, fresh_key, state,"
    " segment, byte, snapshot, snapshot_segment, snapshot_byte from sessions"
)


def waiting(read: Rows, worker: str) -> list[Queued]:
    """Read the unfinished messages of a worker, oldest first."""
    found = read(_QUEUED + " and worker = ? order by seq", worker)
    return [Queued(*row) for row in found]


def find_waiting(read: Rows, message: str) -> Queued | None:
    """Read one unfinished message."""
    found = read(_QUEUED + " and message = ?", message)
    return Queued(*found[0]) if found else None


def waiting_workers(read: Rows) -> list[str]:
    """Name the workers with unfinished messages."""
    sql = "select distinct worker from inbox where state not in ('done', 'cancelled')"
    return [row[0] for row in read(sql)]


def find_session(read: Rows, session: str) -> SessionRow | None:
    """Read one session."""
    found = read(_SESSION + " where session = ?", session)
    return _session(found[0]) if found else None


def open_sessions(read: Rows, worker: str = "") -> list[SessionRow]:
    """Read the sessions not known to have ended, of one worker or of all."""
    clause = " where state = 'open'" + (" and worker = ?" if worker else "")
    found = read(_SESSION + clause, *([worker] if worker else []))
    return [_session(row) for row in found]


def find_resume_key(read: Rows, conversation: str, driver: str) -> ResumeKey | None:
    """Read the proved key of a conversation on one driver."""
    sql = "select key, cwd from resume_keys where conversation = ? and driver = ?"
    found = read(sql, conversation, driver)
    return ResumeKey(*found[0]) if found else None


def turns_in(read: Rows, session: str) -> int:
    """Count the turns a session has been given."""
    found = read("select count(*) from turns where session = ?", session)
    return int(found[0][0])


def is_busy(read: Rows, session: str) -> bool:
    """Tell whether a message is being answered in a session."""
    sql = "select 1 from inbox where session = ? and state in ('injected', 'seen') limit 1"
    return bool(read(sql, session))


def parked(read: Rows, worker: str = "") -> list[Park]:
    """Read the workers held by a rate limit, or one of them."""
    sql = (
        "select worker, turn, message, window, resets_at_ms, source, since_ms, text from limits"
        " where ? in ('', worker) order by worker"
    )
    return [Park(*row) for row in read(sql, worker)]


def _session(row: tuple[Any, ...]) -> SessionRow:
    session, worker, conversation, driver, cwd, socket, seat, resume_key, fresh_key = row[:9]
    state, segment, byte, snapshot, snapshot_segment, snapshot_byte = row[9:]
    return SessionRow(
        session,
        worker,
        conversation,
        driver,
        cwd,
        socket,
        seat,
        resume_key,
        fresh_key,
        state,
        (segment, byte),
        snapshot,
        (snapshot_segment, snapshot_byte),
    )
