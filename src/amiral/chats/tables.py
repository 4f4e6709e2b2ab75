"""What chats leave on record, projected from events: updates, replies and their parts."""

from functools import singledispatch
from typing import Final

from amiral.base import chat_events as ev
from amiral.base.event import Event
from amiral.store.journal import Stamped, Table, Write

# Telegram forgets an update after a day; a number that comes again later is another update's.
_KNOWN_MS: Final = 48 * 3600 * 1000

_DDL: Final = """
create table if not exists chat_updates(
  account text not null, number text not null, seq integer not null, lane text not null,
  raw text not null, state text not null, tries integer not null default 0,
  error text not null default '', taken_ms integer not null, primary key (account, number));
create index if not exists chat_updates_new on chat_updates(account, seq) where state = 'new';
create table if not exists chat_replies(
  key text primary key, seq integer not null, account text not null, chat text not null,
  thread text not null, reply_to text not null, text text not null, message text not null,
  buttons text not null, cause integer not null, state text not null,
  is_outside integer not null default 0, shown text not null default '',
  tries integer not null default 0, not_before_ms integer not null default 0,
  error text not null default '');
create index if not exists chat_replies_due on chat_replies(account, seq) where state = 'due';
create index if not exists chat_replies_message on chat_replies(message) where message != '';
create table if not exists chat_heard(
  account text not null, chat text not null, id text not null, name text not null,
  text text not null, sent_ms integer not null, message text not null, worker text not null,
  primary key (account, chat, id));
create index if not exists chat_heard_message on chat_heard(message) where message != '';
create table if not exists chat_parts(
  key text not null, part integer not null, id text not null, state text not null,
  sent_ms integer not null, primary key (key, part));
"""


@singledispatch
def _project(event: Event, stamped: Stamped, write: Write) -> None:
    """Other events change nothing here."""


@_project.register
def _(event: ev.ChatUpdateTaken, stamped: Stamped, write: Write) -> None:
    write(
        "delete from chat_updates where account = ? and state != 'new' and taken_ms < ?",
        (event.account, stamped.ts_ms - _KNOWN_MS),
    )
    write(
        "insert or ignore into chat_updates(account, number, seq, lane, raw, state, taken_ms)"
        " values (?, ?, ?, ?, ?, 'new', ?)",
        (event.account, event.number, stamped.seq, event.lane, event.raw, stamped.ts_ms),
    )


@_project.register
def _(event: ev.ChatUpdateDone, _stamped: Stamped, write: Write) -> None:
    write(
        "update chat_updates set state = 'done', error = '' where account = ? and number = ?",
        (event.account, event.number),
    )


@_project.register
def _(event: ev.ChatUpdateFailed, _stamped: Stamped, write: Write) -> None:
    write(
        "update chat_updates set state = ?, tries = tries + 1, error = ?"
        " where account = ? and number = ?",
        ("dead" if event.is_dead else "new", event.error, event.account, event.number),
    )


@_project.register
def _(event: ev.ChatHeard, _stamped: Stamped, write: Write) -> None:
    write(
        "insert or ignore into chat_heard values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(event.account, event.chat, event.id, event.name, event.text, event.sent_ms),
            *(event.message, event.worker),
        ),
    )


@_project.register
def _(event: ev.ChatReplyDue, stamped: Stamped, write: Write) -> None:
    write(
        "insert or ignore into chat_replies(key, seq, account, chat, thread, reply_to, text,"
        " message, buttons, cause, state) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'due')",
        (
            *(event.key, stamped.seq, event.account, event.chat, event.thread, event.reply_to),
            *(event.text, event.message, event.buttons, event.cause),
        ),
    )


@_project.register
def _(event: ev.ChatReplyChanged, _stamped: Stamped, write: Write) -> None:
    write(
        "update chat_replies set text = ?, buttons = ?, message = '', state = 'due', tries = 0"
        " where key = ?",
        (event.text, event.buttons, event.key),
    )


@_project.register
def _(event: ev.ChatPartSending, stamped: Stamped, write: Write) -> None:
    write(
        "insert or replace into chat_parts values (?, ?, '', 'sending', ?)",
        (event.key, event.part, stamped.ts_ms),
    )


@_project.register
def _(event: ev.ChatPartSent, stamped: Stamped, write: Write) -> None:
    write(
        "insert or replace into chat_parts values (?, ?, ?, 'sent', ?)",
        (event.key, event.part, event.id, stamped.ts_ms),
    )


@_project.register
def _(event: ev.ChatPartUnknown, _stamped: Stamped, write: Write) -> None:
    write("delete from chat_parts where key = ? and part = ?", (event.key, event.part))


@_project.register
def _(event: ev.ChatReplyShown, _stamped: Stamped, write: Write) -> None:
    write(
        "update chat_replies set state = 'shown', shown = ?, error = '', tries = 0 where key = ?",
        (event.digest, event.key),
    )


@_project.register
def _(event: ev.ChatReplyFailed, _stamped: Stamped, write: Write) -> None:
    write(
        "update chat_replies set state = ?, tries = tries + 1, error = ?, not_before_ms = ?"
        " where key = ?",
        ("dead" if event.is_dead else "due", event.error, event.not_before_ms, event.key),
    )


@_project.register
def _(event: ev.ChatMoved, _stamped: Stamped, write: Write) -> None:
    write(
        "update chat_replies set chat = ? where account = ? and chat = ?",
        (event.to, event.account, event.chat),
    )


@_project.register
def _(event: ev.ChatThreadGone, _stamped: Stamped, write: Write) -> None:
    write(
        "update chat_replies set thread = '', is_outside = 1"
        " where account = ? and chat = ? and thread = ? and state = 'due'",
        (event.account, event.chat, event.thread),
    )


def _apply(write: Write, stamped: Stamped) -> None:
    if stamped.event is not None:
        _project(stamped.event, stamped, write)


CHATS: Final = Table("chats", _DDL, _apply)
