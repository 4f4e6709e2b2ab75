"""The log of every conversation, projected from the journal: each word said, once, in order."""

from typing import Final

from amiral.base import events as ev
from amiral.conversations.thread import Conversation, Utterance
from amiral.store.journal import Rows, Stamped, Table, Write

_DDL: Final = """
create table if not exists utterances(
  seq integer primary key, ts_ms integer not null, conversation text not null,
  speaker text not null, message text not null, text text not null, outcome text not null);
create index if not exists utterances_conversation on utterances(conversation, seq);
create index if not exists utterances_message on utterances(message);
"""
_COLUMNS: Final = "select seq, ts_ms, conversation, speaker, message, text, outcome from utterances"


def _apply(write: Write, stamped: Stamped) -> None:
    match stamped.event:
        case ev.MessageQueued() as queued:
            write(
                "insert into utterances values (?, ?, ?, ?, ?, ?, '')",
                (
                    *(stamped.seq, stamped.ts_ms, queued.conversation),
                    *(queued.sender, queued.message, queued.text),
                ),
            )
        case ev.TurnEnded() as ended:
            write(
                "insert into utterances select ?, ?, conversation, ?, ?, ?, ? from utterances"
                " where message = ? order by seq limit 1",
                (
                    *(stamped.seq, stamped.ts_ms, ended.worker, ended.message),
                    *(ended.text, ended.outcome, ended.message),
                ),
            )
        case _:
            pass


CONVERSATIONS: Final = Table("conversations", _DDL, _apply)


def latest(read: Rows, conversation: str, limit: int, before: int | None = None) -> list[Utterance]:
    """Read the last things said, oldest first, optionally those before an event number."""
    found = read(
        _COLUMNS + " where conversation = ? and seq < ? order by seq desc limit ?",
        conversation,
        before if before is not None else 1 << 62,
        limit,
    )
    return [Utterance(*row) for row in reversed(found)]


def begun(read: Rows, message: str) -> int | None:
    """Tell the event number under which a message was accepted."""
    found = read("select min(seq) from utterances where message = ?", message)
    return found[0][0] if found else None


def conversations(read: Rows) -> list[Conversation]:
    """List the conversations, the one last used first."""
    found = read(
        "select conversation, count(*), max(ts_ms) from utterances"
        " group by conversation order by max(ts_ms) desc"
    )
    return [Conversation(*row) for row in found]
