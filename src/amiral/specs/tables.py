"""The tables of specs, projected from events: the queue, where each came from, who asked what."""

from functools import singledispatch
from typing import Final

import msgspec

from amiral.base import events as ev
from amiral.specs import rows
from amiral.specs.spec import Move, Note, Spec, advance, create
from amiral.store.journal import Stamped, Table, Write

_SPECS: Final = """
create table if not exists specs(
  id text primary key, status text not null, seq integer not null, since_seq integer not null,
  spec blob not null);
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
_FIND: Final = "select seq, since_seq, spec from specs where id = ?"


@singledispatch
def _project(event: ev.Event, stamped: Stamped, write: Write) -> None:
    """Events that are not about specs, nor about what is mirrored, change nothing here."""


@_project.register
def _(event: ev.SpecCreated, stamped: Stamped, write: Write) -> None:
    _save(create(event, stamped.ts_ms), stamped.seq, stamped.seq, write)
    _note_answer(event.message, event.spec, stamped, write)


@_project.register
def _(event: Move | Note, stamped: Stamped, write: Write) -> None:
    _advance(event, stamped, write)


@_project.register
def _(event: ev.SpecRevised, stamped: Stamped, write: Write) -> None:
    _advance(event, stamped, write)
    _note_answer(event.message, event.spec, stamped, write)


@_project.register
def _(event: ev.SpecBlocksRefused, _stamped: Stamped, write: Write) -> None:
    write(
        "insert or replace into spec_refusals values (?, ?)", (event.message, _json(event.errors))
    )


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


def _advance(event: Move | Note, stamped: Stamped, write: Write) -> None:
    """Nothing is kept of a spec whose beginning this amiral could not read."""
    for seq, since_seq, told in write(_FIND, (event.spec,)):
        spec = advance(rows.read_spec(told), event, stamped.by, stamped.ts_ms)
        _save(spec, seq, since_seq if isinstance(event, Note) else stamped.seq, write)


def _save(spec: Spec, seq: int, since_seq: int, write: Write) -> None:
    told = msgspec.json.encode(spec)
    write(
        "insert or replace into specs values (?, ?, ?, ?, ?)",
        (spec.id, spec.status, seq, since_seq, told),
    )


def _note_answer(message: str, spec: str, stamped: Stamped, write: Write) -> None:
    write("insert or ignore into spec_answers values (?, ?, ?)", (message, spec, stamped.seq))


def _json(texts: tuple[str, ...]) -> str:
    return msgspec.json.encode(texts).decode()


def _apply(write: Write, stamped: Stamped) -> None:
    if stamped.event is not None:
        _project(stamped.event, stamped, write)


SPECS: Final = Table("specs", _SPECS + _TALK, _apply)
