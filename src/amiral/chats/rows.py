"""Reads what chats have on record."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from amiral.chats.adapter import Button
from amiral.chats.incoming import Spot
from amiral.chats.quoting import Known
from amiral.store.journal import Rows

_UPDATE = "select number, lane, raw, tries from chat_updates"
_REPLY = (
    "select key, account, chat, thread, reply_to, text, message, buttons, tries, not_before_ms,"
    " shown, is_outside from chat_replies"
)


@dataclass(frozen=True)
class Taken:
    """An update that waits; `tries` counts those that failed."""

    number: str
    lane: str
    raw: str
    tries: int


@dataclass(frozen=True)
class Reply:
    """Something to be said; with `message` its text comes with the answer to that.

    One that `is_outside` was meant for a thread that is gone.
    """

    key: str
    spot: Spot
    reply_to: str
    text: str
    message: str
    buttons: tuple[tuple[Button, ...], ...]
    tries: int
    not_before_ms: int
    shown: str
    is_outside: bool


def waiting(read: Rows, account: str) -> list[Taken]:
    """Give the updates that wait, oldest first."""
    sql = f"{_UPDATE} where account = ? and state = 'new' order by seq"
    return [Taken(*row) for row in read(sql, account)]


def first_waiting(read: Rows, account: str, lane: str) -> Taken | None:
    """Give the oldest update of a lane that waits."""
    sql = f"{_UPDATE} where account = ? and state = 'new' and lane = ? order by seq limit 1"
    found = read(sql, account, lane)
    return Taken(*found[0]) if found else None


def dead_updates(read: Rows, account: str) -> int:
    """Count the updates that nothing could be made of."""
    sql = "select count(*) from chat_updates where account = ? and state = 'dead'"
    return int(read(sql, account)[0][0])


def unknown(read: Rows, account: str, numbers: Sequence[str]) -> set[str]:
    """Give the numbers that are not on record."""
    marks = ",".join("?" * len(numbers))
    sql = f"select number from chat_updates where account = ? and number in ({marks})"  # noqa: S608
    return set(numbers) - {number for (number,) in read(sql, account, *numbers)}


def due(read: Rows, account: str) -> list[Reply]:
    """Give the replies that are not shown as they should be, oldest first."""
    sql = f"{_REPLY} where account = ? and state = 'due' order by seq"
    return [_reply(row) for row in read(sql, account)]


def find_reply(read: Rows, key: str) -> Reply | None:
    """Find a reply by its key."""
    found = read(f"{_REPLY} where key = ?", key)
    return _reply(found[0]) if found else None


def parts(read: Rows, key: str) -> dict[int, str]:
    """Give the ids of the messages that a reply stands in, by part."""
    sql = "select part, id from chat_parts where key = ? and state = 'sent'"
    return {int(part): str(name) for part, name in read(sql, key)}


def find_known(read: Rows, spot: Spot, id: str) -> Known | None:  # noqa: A002 the service's word
    """Find what stands in a chat under an id, said by a person or by us."""
    place = (spot.account, spot.chat, id)
    heard = read(
        "select text, name, sent_ms, message, worker from chat_heard"
        " where account = ? and chat = ? and id = ?",
        *place,
    )
    said = read(
        "select r.text, coalesce(h.worker, ''), p.sent_ms, r.message, coalesce(h.worker, '')"
        " from chat_parts p join chat_replies r using (key)"
        " left join chat_heard h on h.message = r.message and r.message != ''"
        " where r.account = ? and r.chat = ? and p.id = ?",
        *place,
    )
    for text, name, sent_ms, message, worker in (*said, *heard):
        return Known(text, name, sent_ms, message, worker, is_ours=bool(said))
    return None


def with_buttons(read: Rows, begin: str) -> list[str]:
    """Give the keys that begin so of replies whose buttons still stand there."""
    sql = "select key from chat_replies where key glob ? and buttons != '[]' order by seq"
    return [str(key) for (key,) in read(sql, f"{begin}*")]


def places_of(read: Rows, account: str, message: str) -> list[tuple[str, str]]:
    """Give the chats and threads where the answer to a message is due."""
    sql = "select chat, thread from chat_replies where account = ? and message = ?"
    found = read(sql, account, message) if message else []
    return [(str(chat), str(thread)) for chat, thread in found]


def unsettled(read: Rows, account: str) -> list[tuple[str, int]]:
    """Give the parts of which nobody knows whether they were sent."""
    sql = (
        "select key, part from chat_parts join chat_replies using (key)"
        " where account = ? and chat_parts.state = 'sending'"
    )
    return [(key, part) for key, part in read(sql, account)]


def dump_buttons(buttons: Sequence[Sequence[Button]]) -> str:
    """Write rows of buttons as the events hold them."""
    return json.dumps([[[one.label, one.tap] for one in row] for row in buttons])


def _reply(row: tuple[object, ...]) -> Reply:
    key, account, chat, thread, reply_to, text, message, buttons, *rest = row
    tries, not_before, shown, is_outside = rest
    loaded = json.loads(str(buttons))
    return Reply(
        str(key),
        Spot(str(account), str(chat), str(thread)),
        str(reply_to),
        str(text),
        str(message),
        tuple(tuple(Button(*one) for one in line) for line in loaded),
        int(str(tries)),
        int(str(not_before)),
        str(shown),
        bool(is_outside),
    )
