"""What the engine reads back from its tables, as values."""

from dataclasses import dataclass, replace
from typing import Any

from amiral.agents.fold import Now
from amiral.base.event import Position
from amiral.store.journal import Rows


@dataclass(frozen=True)
class Queued:
    """One message of a worker's queue, in the state the journal knows.

    `state`: queued, injected, seen, parked, resuming (done and cancelled ones are not read back).
    `place` names the worktree its turn works in, "" the worker's own place. `wish` is the outcome
    it was ordered to end with, "" when it was not; `begun_ms` is when it was last begun or resumed;
    `quoted` is what it replies to.
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
    place: str = ""
    wish: str = ""
    wish_reason: str = ""
    begun_ms: int = 0
    quoted: str = ""
    quoted_by: str = ""
    quoted_ms: int = 0


@dataclass(frozen=True)
class SessionRow:
    """One session; `snapshot` is the driver's state at `snapshot_at`.

    `state`: opening, open (its CLI was launched and told all it needs), lost (no turn begins
    in it any more) or ended. `observed` is the id the CLI named last, "" before it did (R17).
    `writes`: it has tools that write, so what it left running may go on writing.
    """

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
    observed: str
    segment: int
    byte: int
    snapshot: str
    snapshot_segment: int
    snapshot_byte: int
    writes: bool = True

    @property
    def position(self) -> Position:
        """Everything before it is told."""
        return self.segment, self.byte

    @property
    def snapshot_at(self) -> Position:
        """Where folding begins again."""
        return self.snapshot_segment, self.snapshot_byte


@dataclass(frozen=True)
class ResumeKey:
    """The key that continues a conversation on one driver, and the folder it was made in.

    `has_worked`: a turn of it was done. `failure`: why the last one failed, "" when it did not.
    """

    key: str
    cwd: str
    has_worked: bool
    failure: str


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
    " returns, place, wish, wish_reason, begun_ms, quoted, quoted_by, quoted_ms from inbox"
    " where state not in ('done', 'cancelled')"
)
_SESSION = (
    "select session, worker, conversation, driver, cwd, socket, seat, resume_key, fresh_key, state,"
    " observed, segment, byte, snapshot, snapshot_segment, snapshot_byte, writes from sessions"
)


def waiting(read: Rows, worker: str) -> list[Queued]:
    """Read the unfinished messages of a worker, oldest first."""
    found = read(_QUEUED + " and worker = ? order by seq", worker)
    return [Queued(*row) for row in found]


def find_waiting(read: Rows, message: str) -> Queued | None:
    """Read one unfinished message."""
    found = read(_QUEUED + " and message = ?", message)
    return Queued(*found[0]) if found else None


def state_of(read: Rows, message: str) -> str:
    """Tell the state of a message, done and cancelled included; "" when there is none."""
    found = read("select state from inbox where message = ?", message)
    return str(found[0][0]) if found else ""


def lively_workers(read: Rows) -> list[str]:
    """Name the workers with unfinished messages or sessions not known to have ended.

    Those whose turn runs come first: where only one may write at a time, it is their turn.
    """
    found = read(
        "select worker from inbox where state in ('injected', 'seen')"
        " union all select worker from inbox where state not in ('done', 'cancelled')"
        " union all select worker from sessions where state != 'ended'"
    )
    return list(dict.fromkeys(row[0] for row in found))


def find_session(read: Rows, session: str) -> SessionRow | None:
    """Read one session."""
    found = read(_SESSION + " where session = ?", session)
    return _session_of(found[0]) if found else None


def open_sessions(read: Rows, worker: str = "") -> list[SessionRow]:
    """Read the sessions not known to have ended, of one worker or of all."""
    sql = _SESSION + " where state != 'ended' and ? in ('', worker)"
    return [_session_of(row) for row in read(sql, worker)]


def ended_sessions(read: Rows, worker: str, after: int, limit: int) -> list[str]:
    """Name ended sessions of a worker, newest first, the newest `after` left out."""
    sql = (
        "select session from sessions where state = 'ended' and worker = ?"
        " order by opened_ms desc, rowid desc limit ? offset ?"
    )
    return [row[0] for row in read(sql, worker, limit, after)]


def find_resume_key(read: Rows, conversation: str, driver: str) -> ResumeKey | None:
    """Read the proved key of a conversation on one driver."""
    sql = (
        "select key, cwd, has_worked, failure from resume_keys"
        " where conversation = ? and driver = ?"
    )
    for key, cwd, has_worked, failure in read(sql, conversation, driver):
        return ResumeKey(key, cwd, bool(has_worked), failure)
    return None


def knows_nothing(read: Rows, session: str) -> bool:
    """Tell whether a session was neither resumed nor has brought a turn to its end."""
    sql = "select 1 from sessions where session = ? and resume_key = '' and snapshot = ''"
    return bool(read(sql, session))


def now(read: Rows, message: Queued, session: SessionRow) -> Now:
    """Tell which turn of whom is folded; the same until that turn has ended."""
    known = find_resume_key(read, session.conversation, session.driver)
    return Now(
        turn=message.turn,
        message=message.message,
        line=message.line,
        worker=message.worker,
        session=session.session,
        conversation=session.conversation,
        driver=session.driver,
        cwd=session.cwd,
        resume_key=known.key if known else session.resume_key,
        returns=message.returns,
        failure=known.failure if known and known.has_worked else "",
    )


def working_in(read: Rows, folder: str) -> str:
    """Name a worker whose turn runs in this folder, "" when none does."""
    sql = (
        "select inbox.worker from inbox join sessions on sessions.session = inbox.session"
        " where sessions.cwd = ? and inbox.state in ('injected', 'seen', 'parked', 'resuming')"
    )
    found = read(sql, folder)
    return str(found[0][0]) if found else ""


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


def _session_of(row: tuple[Any, ...]) -> SessionRow:
    return replace(SessionRow(*row), writes=bool(row[-1]))
