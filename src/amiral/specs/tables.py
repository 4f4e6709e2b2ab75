"""The tables of specs, projected from events: the queue, where each came from, who asked what."""

from functools import singledispatch
from typing import Final

import msgspec

from amiral.base import events as ev
from amiral.store.journal import Stamped, Table, Write

_SPECS: Final = """
create table if not exists specs(
  id text primary key, title text not null, problem text not null, approach text not null,
  acceptance text not null, files text not null, complexity text not null, status text not null,
  created_ms integer not null, updated_ms integer not null, since_ms integer not null,
  conversation text not null, author text not null, message text not null, "by" text not null,
  revision integer not null default 1, reason text not null default '',
  is_failed integer not null default 0, attempt integer not null default 0,
  worker text not null default '', task text not null default '', branch text not null default '',
  base text not null default '', tests text not null default '', "commit" text not null default '',
  ticks text not null default '[]', merged text not null default '',
  seq integer not null, since_seq integer not null);
create index if not exists specs_status on specs(status, since_seq);
create table if not exists spec_answers(
  message text not null, spec text not null, seq integer not null, primary key (message, spec));
create table if not exists spec_refusals(message text primary key, errors text not null);
"""
_TALK: Final = """
create table if not exists spec_messages(
  message text primary key, worker text not null, conversation text not null, sender text not null,
  surface text not null, reply_to text not null);
create table if not exists threads(
  conversation text primary key, started_ms integer not null, messages integer not null);
create table if not exists chosen_role(one integer primary key, since_ms integer not null);
create table if not exists answer_readers(reader text primary key, upto integer not null);
"""


@singledispatch
def _project(event: ev.Event, stamped: Stamped, write: Write) -> None:
    """Events that are not about specs, nor about what is mirrored, change nothing here."""


@_project.register
def _(event: ev.SpecCreated, stamped: Stamped, write: Write) -> None:
    at = stamped.ts_ms
    write(
        "insert into specs(id, title, problem, approach, acceptance, files, complexity, status,"
        ' created_ms, updated_ms, since_ms, conversation, author, message, "by", seq, since_seq)'
        " values (?, ?, ?, ?, ?, ?, ?, 'draft', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(event.spec, event.title, event.problem, event.approach, _json(event.acceptance)),
            *(_json(event.files), event.complexity, at, at, at, event.conversation),
            *(event.worker, event.message, event.worker, stamped.seq, stamped.seq),
        ),
    )
    _note_answer(event.message, event.spec, stamped, write)


@_project.register
def _(event: ev.SpecRevised, stamped: Stamped, write: Write) -> None:
    _move(event.spec, "draft", stamped, write)
    write(
        'update specs set "by" = author, revision = ?, title = ?, problem = ?, approach = ?,'
        " acceptance = ?, files = ?, complexity = ?, message = ? where id = ?",
        (
            *(event.revision, event.title, event.problem, event.approach),
            *(_json(event.acceptance), _json(event.files), event.complexity),
            *(event.message, event.spec),
        ),
    )
    _note_answer(event.message, event.spec, stamped, write)


@_project.register
def _(event: ev.SpecBlocksRefused, _stamped: Stamped, write: Write) -> None:
    write(
        "insert or replace into spec_refusals values (?, ?)", (event.message, _json(event.errors))
    )


@_project.register
def _(event: ev.SpecApproved, stamped: Stamped, write: Write) -> None:
    _move(event.spec, "approved", stamped, write, event.reason)


@_project.register
def _(event: ev.SpecRejected, stamped: Stamped, write: Write) -> None:
    _move(event.spec, "rejected", stamped, write, event.reason)


@_project.register
def _(event: ev.SpecExecuting, stamped: Stamped, write: Write) -> None:
    _move(event.spec, "executing", stamped, write)
    write(
        "update specs set attempt = ?, worker = ?, task = ?, branch = ?, base = ?, tests = ''"
        " where id = ?",
        (event.attempt, event.worker, event.message, event.branch, event.base, event.spec),
    )


@_project.register
def _(event: ev.SpecTested, stamped: Stamped, write: Write) -> None:
    _note(event.spec, "tests = ?", (event.summary,), stamped, write)


@_project.register
def _(event: ev.SpecFailed, stamped: Stamped, write: Write) -> None:
    _move(event.spec, "approved", stamped, write, event.reason)
    write("update specs set is_failed = 1 where id = ?", (event.spec,))


@_project.register
def _(event: ev.SpecDone, stamped: Stamped, write: Write) -> None:
    _move(event.spec, "done", stamped, write)
    write(
        'update specs set "commit" = ?, ticks = ? where id = ?',
        (event.commit, _json(event.ticks), event.spec),
    )


@_project.register
def _(event: ev.SpecMerged, stamped: Stamped, write: Write) -> None:
    _note(event.spec, "merged = ?", (event.commit,), stamped, write)


@_project.register
def _(event: ev.SpecDiscarded, stamped: Stamped, write: Write) -> None:
    _note(event.spec, "branch = '', base = ''", (), stamped, write)


@_project.register
def _(event: ev.AnswerRead, _stamped: Stamped, write: Write) -> None:
    write("insert or replace into answer_readers values (?, ?)", (event.reader, event.upto))


@_project.register
def _(event: ev.MessageQueued, stamped: Stamped, write: Write) -> None:
    write(
        "insert or ignore into spec_messages values (?, ?, ?, ?, ?, ?)",
        (
            *(event.message, event.worker, event.conversation, event.sender),
            *(event.surface, event.reply_to),
        ),
    )
    write(
        "insert into threads values (?, ?, 1)"
        " on conflict (conversation) do update set messages = messages + 1",
        (event.conversation, stamped.ts_ms),
    )


@_project.register
def _(event: ev.TurnEnded, _stamped: Stamped, write: Write) -> None:
    write(
        "update threads set messages = messages + 1 where conversation ="
        " (select conversation from spec_messages where message = ?)",
        (event.message,),
    )


@_project.register
def _(event: ev.RoleChosen, stamped: Stamped, write: Write) -> None:
    del event
    write("insert or replace into chosen_role values (1, ?)", (stamped.ts_ms,))


def _move(spec: str, status: str, stamped: Stamped, write: Write, reason: str = "") -> None:
    write(
        'update specs set status = ?, "by" = ?, reason = ?, is_failed = 0, since_ms = ?,'
        " updated_ms = ?, since_seq = ? where id = ?",
        (status, stamped.by, reason, stamped.ts_ms, stamped.ts_ms, stamped.seq, spec),
    )


def _note(spec: str, change: str, values: tuple[str, ...], stamped: Stamped, write: Write) -> None:
    write(
        f"update specs set {change}, updated_ms = ? where id = ?",  # noqa: S608 - our own words
        (*values, stamped.ts_ms, spec),
    )


def _note_answer(message: str, spec: str, stamped: Stamped, write: Write) -> None:
    write("insert or ignore into spec_answers values (?, ?, ?)", (message, spec, stamped.seq))


def _json(texts: tuple[str, ...]) -> str:
    return msgspec.json.encode(texts).decode()


def _apply(write: Write, stamped: Stamped) -> None:
    if stamped.event is not None:
        _project(stamped.event, stamped, write)


SPECS: Final = Table("specs", _SPECS + _TALK, _apply)
