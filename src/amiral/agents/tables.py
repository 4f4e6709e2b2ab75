"""The engine's keyed tables, projected from events: inbox, turns, sessions, resume keys, limits."""

from functools import singledispatch
from typing import Final

from amiral.agents import approval_rows
from amiral.base import events as ev
from amiral.store.journal import Stamped, Table, Write

_INBOX: Final = """
create table if not exists inbox(
  message text primary key, seq integer not null, worker text not null, conversation text not null,
  text text not null, sender text not null, surface text not null, reply_to text not null,
  place text not null,
  state text not null, turn text not null default '', session text not null default '',
  line text not null default '', resumes integer not null default 0,
  returns integer not null default 0, queued_ms integer not null,
  wish text not null default '', wish_reason text not null default '',
  begun_ms integer not null default 0, quoted text not null, quoted_by text not null,
  quoted_ms integer not null);
create index if not exists inbox_waiting on inbox(worker, seq)
  where state not in ('done', 'cancelled');
"""
_TURNS: Final = """
create table if not exists turns(
  turn text primary key, message text not null, worker text not null, session text not null,
  outcome text not null default '', text text not null default '', reason text not null default '',
  started_ms integer not null, ended_ms integer, input_tokens integer not null default 0,
  output_tokens integer not null default 0, cost_usd real not null default 0);
create index if not exists turns_message on turns(message);
"""
_SESSIONS: Final = """
create table if not exists sessions(
  session text primary key, worker text not null, conversation text not null, driver text not null,
  cwd text not null, socket text not null, seat text not null, resume_key text not null,
  fresh_key text not null, writes integer not null, observed text not null default '',
  state text not null, pid integer not null default 0, cli_version text not null default '',
  segment integer not null default 1, byte integer not null default 0,
  snapshot text not null default '', snapshot_segment integer not null default 1,
  snapshot_byte integer not null default 0, opened_ms integer not null);
create index if not exists sessions_worker on sessions(worker, opened_ms);
create table if not exists resume_keys(
  conversation text not null, driver text not null, key text not null, cwd text not null,
  session text not null, has_worked integer not null default 0, failure text not null default '',
  primary key (conversation, driver));
"""
_LIMITS: Final = """
create table if not exists limits(
  worker text primary key, turn text not null, message text not null, window text not null,
  resets_at_ms integer, source text not null, since_ms integer not null, text text not null);
"""


_WORKED: Final = """
update resume_keys set has_worked = 1, failure = '' where (conversation, driver) in
  (select conversation, driver from sessions where session = ?)
"""
_FAILED: Final = """
update resume_keys set failure = ? where (conversation, driver) in
  (select conversation, driver from sessions where session = ?)
"""


@singledispatch
def _project(event: ev.Event, stamped: Stamped, write: Write) -> None:
    """Events without rows of their own change nothing here."""


@_project.register
def _(event: ev.MessageQueued, stamped: Stamped, write: Write) -> None:
    write(
        "insert or ignore into inbox(message, seq, worker, conversation, text, sender, surface,"
        " reply_to, place, state, queued_ms, quoted, quoted_by, quoted_ms)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?)",
        (
            *(event.message, stamped.seq, event.worker, event.conversation, event.text),
            *(event.sender, event.surface, event.reply_to, event.place, stamped.ts_ms),
            *(event.quoted, event.quoted_by, event.quoted_ms),
        ),
    )


@_project.register
def _(event: ev.MessageReturned, _stamped: Stamped, write: Write) -> None:
    """A turn that was parked once goes on being that turn: its message may be known already."""
    write(
        "update inbox set state = 'queued', turn = '', session = '', line = '',"
        " returns = returns + 1 where message = ? and resumes = 0",
        (event.message,),
    )
    write(
        "update inbox set state = 'resuming', session = '', line = '', returns = returns + 1"
        " where message = ? and resumes > 0",
        (event.message,),
    )
    write(
        "delete from turns where message = ? and ended_ms is null and message in"
        " (select message from inbox where state = 'queued')",
        (event.message,),
    )


@_project.register
def _(event: ev.MessageCancelled, _stamped: Stamped, write: Write) -> None:
    write("update inbox set state = 'cancelled' where message = ?", (event.message,))


@_project.register
def _(event: ev.TurnStarted, stamped: Stamped, write: Write) -> None:
    write(
        "update inbox set state = 'injected', turn = ?, session = ?, line = ?, begun_ms = ?"
        " where message = ?",
        (event.turn, event.session, event.line, stamped.ts_ms, event.message),
    )
    write(
        "insert into turns(turn, message, worker, session, started_ms) values (?, ?, ?, ?, ?)",
        (event.turn, event.message, event.worker, event.session, stamped.ts_ms),
    )


@_project.register
def _(event: ev.MessageSeen, _stamped: Stamped, write: Write) -> None:
    write("update inbox set state = 'seen' where message = ?", (event.message,))


@_project.register
def _(event: ev.TurnParked, stamped: Stamped, write: Write) -> None:
    write("update inbox set state = 'parked' where message = ?", (event.message,))
    write(
        "insert or replace into limits values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(event.worker, event.turn, event.message, event.window, event.resets_at_ms),
            *(event.source, stamped.ts_ms, event.text),
        ),
    )


@_project.register
def _(event: ev.ResumeOrdered, _stamped: Stamped, write: Write) -> None:
    write("update inbox set state = 'resuming' where message = ?", (event.message,))
    write("delete from limits where worker = ?", (event.worker,))


@_project.register
def _(event: ev.InterruptOrdered, _stamped: Stamped, write: Write) -> None:
    write(
        "update inbox set wish = ?, wish_reason = ? where message = ? and wish = ''",
        (event.outcome, event.reason, event.message),
    )


@_project.register
def _(event: ev.TurnResumed, stamped: Stamped, write: Write) -> None:
    write(
        "update inbox set state = 'injected', session = ?, line = ?, resumes = resumes + 1,"
        " begun_ms = ? where message = ?",
        (event.session, event.line, stamped.ts_ms, event.message),
    )
    write("update turns set session = ? where turn = ?", (event.session, event.turn))


@_project.register
def _(event: ev.TurnEnded, stamped: Stamped, write: Write) -> None:
    write("update inbox set state = 'done' where message = ?", (event.message,))
    write("delete from limits where worker = ? and turn = ?", (event.worker, event.turn))
    write(
        "update turns set outcome = ?, text = ?, reason = ?, ended_ms = ?, input_tokens = ?,"
        " output_tokens = ?, cost_usd = ? where turn = ?",
        (
            *(event.outcome, event.text, event.reason, stamped.ts_ms, event.input_tokens),
            *(event.output_tokens, event.cost_usd, event.turn),
        ),
    )
    if event.outcome == "done":
        write(_WORKED, (event.session,))
    elif event.outcome == "failed":
        write(_FAILED, (event.reason, event.session))


@_project.register
def _(event: ev.SessionOpened, stamped: Stamped, write: Write) -> None:
    write(
        "insert into sessions(session, worker, conversation, driver, cwd, socket, seat, resume_key,"
        " fresh_key, writes, state, opened_ms) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'opening', ?)",
        (
            *(event.session, event.worker, event.conversation, event.driver, event.cwd),
            *(event.socket, event.seat, event.resume_key, event.fresh_key, event.writes),
            stamped.ts_ms,
        ),
    )


@_project.register
def _(event: ev.SessionLaunched, _stamped: Stamped, write: Write) -> None:
    write(
        "update sessions set state = 'open', pid = ?, cli_version = ? where session = ?",
        (event.pid, event.cli_version, event.session),
    )


@_project.register
def _(event: ev.SessionIdObserved, _stamped: Stamped, write: Write) -> None:
    write("update sessions set observed = ? where session = ?", (event.observed, event.session))


@_project.register
def _(event: ev.OutputRead, _stamped: Stamped, write: Write) -> None:
    write(
        "update sessions set snapshot = ?, snapshot_segment = ?, snapshot_byte = ?"
        " where session = ?",
        (event.state, *event.position, event.session),
    )


@_project.register
def _(event: ev.SessionEnded, _stamped: Stamped, write: Write) -> None:
    write("update sessions set state = 'ended' where session = ?", (event.session,))


@_project.register
def _(event: ev.ResumeKeyProved, _stamped: Stamped, write: Write) -> None:
    write(
        "insert into resume_keys(conversation, driver, key, cwd, session) values (?, ?, ?, ?, ?)"
        " on conflict(conversation, driver) do update set key = excluded.key, cwd = excluded.cwd,"
        " session = excluded.session",
        (event.conversation, event.driver, event.key, event.cwd, event.session),
    )


@_project.register
def _(event: ev.ContextLost, _stamped: Stamped, write: Write) -> None:
    write(
        "delete from resume_keys where conversation = ? and driver = ? and key = ?",
        (event.conversation, event.driver, event.key),
    )
    write(
        "update sessions set state = 'lost' where worker = ? and conversation = ? and driver = ?"
        " and state = 'open'",
        (event.worker, event.conversation, event.driver),
    )


def _move_position(event: ev.Event, write: Write) -> None:
    """Commit the position with the events it produced (spec/layout.md)."""
    session, position = getattr(event, "session", ""), getattr(event, "position", None)
    if session and position:
        write(
            "update sessions set segment = ?, byte = ? where session = ?",
            (*position, session),
        )


def _apply(write: Write, stamped: Stamped) -> None:
    if stamped.event is not None:
        _project(stamped.event, stamped, write)
        approval_rows.project(stamped.event, stamped, write)
        _move_position(stamped.event, write)


ENGINE: Final = Table(
    "engine",
    _INBOX + _TURNS + _SESSIONS + _LIMITS + approval_rows.DDL,
    _apply,
)
