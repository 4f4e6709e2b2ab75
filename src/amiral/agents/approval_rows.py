"""The tables of permission questions: what was asked of whom and what became of it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, Final

from amiral.agents.approval import CHANGED, Approval, State, Verdict
from amiral.base import events as ev
from amiral.base.errors import NotFound
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line
from amiral.store.journal import Rows, Stamped, Write

DDL: Final = """
create table if not exists approvals(
  id text primary key, message text not null, turn text not null, worker text not null,
  session text not null, ask text not null, tool text not null, summary text not null,
  preview text not null, digest text not null, why text not null, asked_ms integer not null,
  expires_ms integer not null, state text not null default 'waiting', by text not null default '',
  reason text not null default '', ended_ms integer not null default 0);
create index if not exists approvals_ask on approvals(session, ask);
create index if not exists approvals_waiting on approvals(asked_ms) where state = 'waiting';
create table if not exists given_answers(
  session text not null, ask text not null, turn text not null, digest text not null,
  allowed integer not null, reason text not null, primary key (session, ask));
"""

_SELECT: Final = (
    "select id, message, turn, worker, session, ask, tool, summary, preview, digest, why, asked_ms,"
    " expires_ms, state, by, reason, ended_ms from approvals"
)
_WAITING: Final = f"{_SELECT} where state = 'waiting'"
_INSERT: Final = (
    "insert into approvals(id, message, turn, worker, session, ask, tool, summary, preview, digest,"
    " why, asked_ms, expires_ms) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@singledispatch
def project(event: ev.Event, stamped: Stamped, write: Write) -> None:
    """Write what an event changes here; most change nothing."""


@project.register
def _(event: ev.ApprovalAsked, stamped: Stamped, write: Write) -> None:
    write(
        _INSERT,
        (
            *(event.approval, event.message, event.turn, event.worker, event.session, event.ask),
            *(event.tool, event.summary, event.preview, event.digest, event.why),
            *(stamped.ts_ms, event.expires_ms),
        ),
    )


@project.register
def _(event: ev.ApprovalAnswered, stamped: Stamped, write: Write) -> None:
    _end(event.approval, State.ALLOWED if event.allowed else State.DENIED, stamped, write)
    write("update approvals set reason = ? where id = ?", (event.reason, event.approval))


@project.register
def _(event: ev.ApprovalExpired, stamped: Stamped, write: Write) -> None:
    _end(event.approval, State.EXPIRED, stamped, write)


@project.register
def _(event: ev.ApprovalWithdrawn, stamped: Stamped, write: Write) -> None:
    _end(event.approval, State.WITHDRAWN, stamped, write)


@project.register
def _(event: ev.ApprovalVoided, stamped: Stamped, write: Write) -> None:
    _end(event.approval, State.VOID, stamped, write)
    write("update approvals set reason = ? where id = ?", (event.reason, event.approval))


@project.register
def _(event: ev.PermissionAnswered, stamped: Stamped, write: Write) -> None:
    """Kept as long as the question may be read again, so that its answer is the same then."""
    del stamped
    write(
        "insert or ignore into given_answers values (?, ?, ?, ?, ?, ?)",
        (event.session, event.ask, event.turn, event.digest, event.allowed, event.reason),
    )


@project.register
def _(event: ev.TurnEnded, stamped: Stamped, write: Write) -> None:
    del stamped
    write("delete from given_answers where turn = ?", (event.turn,))


@project.register
def _(event: ev.SessionEnded, stamped: Stamped, write: Write) -> None:
    del stamped
    write("delete from given_answers where session = ?", (event.session,))


def _end(approval: str, state: State, stamped: Stamped, write: Write) -> None:
    write(
        "update approvals set state = ?, by = ?, ended_ms = ? where id = ?",
        (state, stamped.by, stamped.ts_ms, approval),
    )


def waiting(read: Rows) -> list[Approval]:
    """Read the requests that can be answered, the oldest first."""
    return [_approval(row) for row in read(f"{_WAITING} order by asked_ms")]


def waiting_in(read: Rows, turn: str) -> list[Approval]:
    """Read the requests of one turn that can be answered."""
    return [_approval(row) for row in read(f"{_WAITING} and turn = ? order by asked_ms", turn)]


def named(read: Rows, typed: str) -> Approval:
    """Find a request by its id as a person typed it; NotFound names the nearest that waits."""
    found = read(f"{_SELECT} where id = ?", typed.strip().lower())
    if found:
        return _approval(found[0])
    hint = did_you_mean(typed, [one.id for one in waiting(read)])
    raise NotFound(f"no request {one_line(typed, 40)!r}{hint}", "`amiral approvals` lists them")


def of_question(read: Rows, session: str, turn: str, ask: str) -> Approval | None:
    """Read the approval a question of a turn was made, None when it was made none."""
    found = read(f"{_SELECT} where session = ? and ask = ? and turn = ?", session, ask, turn)
    return _approval(found[0]) if found else None


def given(read: Rows, session: str, ask: str, digest: str) -> Verdict | None:
    """Read how a question was answered at once, None when it was not.

    With another content than it had then, it is denied (H4).
    """
    sql = "select digest, allowed, reason from given_answers where session = ? and ask = ?"
    for answered, allowed, reason in read(sql, session, ask):
        if answered != digest:
            return Verdict(allowed=False, reason=CHANGED)
        return Verdict(bool(allowed), reason)
    return None


def is_ordered_to_end(read: Rows, message: str) -> bool:
    """Tell whether the turn of a message is ordered to end."""
    return bool(read("select 1 from inbox where message = ? and wish != ''", message))


def voided(read: Rows, turn: str, reason: str) -> list[ev.Event]:
    """Take back what waits in a turn."""
    found = waiting_in(read, turn)
    return [ev.ApprovalVoided(one.id, one.turn, one.worker, reason) for one in found]


def closing(turn: str, *events: ev.Event) -> Callable[[Rows], tuple[Sequence[ev.Event], None]]:
    """Decide what is stored when a turn ends or is parked: nothing of it can be answered then.

    A request asked by `events` themselves is taken back, too.
    """
    reason = _why(events)
    asked_now = [one for one in events if isinstance(one, ev.ApprovalAsked)]
    theirs = [ev.ApprovalVoided(one.approval, turn, one.worker, reason) for one in asked_now]

    def decide(read: Rows) -> tuple[Sequence[ev.Event], None]:
        return (*events, *voided(read, turn, reason), *theirs), None

    return decide


def _why(events: Sequence[ev.Event]) -> str:
    for event in events:
        match event:
            case ev.TurnEnded(outcome=outcome):
                return f"its turn has ended: {outcome}"
            case ev.TurnParked():
                return "its turn waits for a limit to end"
            case _:
                continue
    return "its CLI is gone"


def _approval(row: tuple[Any, ...]) -> Approval:
    found = Approval(*row)
    return replace(found, state=State(found.state))
