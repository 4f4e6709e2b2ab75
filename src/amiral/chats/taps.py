"""Buttons: each does one thing, once, for a while, whoever may do that at all."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from amiral.base.chat_events import TapOffered, TapUsed
from amiral.base.clock import MS_PER_S, Clock
from amiral.chats.adapter import Button
from amiral.store.journal import Journal, Rows, Stamped, Table, Write

TAP_S: Final = 24 * 3600
PREFIX: Final = "v1:"

_DDL: Final = """
create table if not exists chat_taps(
  tap text primary key, action text not null, key text not null, person text not null,
  digest text not null, expires_ms integer not null, number text not null default '',
  used_by text not null default '');
create index if not exists chat_taps_key on chat_taps(key);
"""


def _apply(write: Write, stamped: Stamped) -> None:
    match stamped.event:
        case TapOffered(tap, action, key, person, digest, expires_ms):
            write(
                "insert or ignore into chat_taps(tap, action, key, person, digest, expires_ms)"
                " values (?, ?, ?, ?, ?, ?)",
                (tap, action, key, person, digest, expires_ms),
            )
        case TapUsed(tap, number, person):
            # What stands beside a button that was pressed is an answer to the same question.
            write(
                "update chat_taps set number = ?, used_by = ? where number = '' and"
                " (tap = ? or (key != '' and key = (select key from chat_taps where tap = ?)))",
                (number, person, tap, tap),
            )
        case _:
            pass


TAPS: Final = Table("chat_taps", _DDL, _apply)


@dataclass(frozen=True)
class Choice:
    """A button to be offered: `action` is what one would type."""

    label: str
    action: str


@dataclass(frozen=True)
class Pressed:
    """What came of a press: `action` is "" when it counts no more, and `key` names the reply."""

    action: str
    key: str = ""
    used_by: str = ""


@dataclass(frozen=True)
class _Row:
    action: str
    key: str
    person: str
    expires_ms: int
    number: str
    used_by: str


class Taps:
    """The buttons of one journal."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock

    def offer(
        self, choices: Sequence[Choice], key: str, *, person: str = "", digest: str = ""
    ) -> tuple[list[TapOffered], tuple[Button, ...]]:
        """Give events and buttons of choices below reply `key`; one of them can be made."""
        expires_ms = self._clock.now_ms() + TAP_S * MS_PER_S
        events, buttons = [], []
        for choice in choices:
            tap = secrets.token_urlsafe(12)
            events.append(TapOffered(tap, choice.action, key, person, digest, expires_ms))
            buttons.append(Button(choice.label, f"{PREFIX}{tap}"))
        return events, tuple(buttons)

    def action(self, data: str) -> str:
        """Tell what a button stands for, whether it still counts or not; "" when it is none."""
        found = self._find(self._journal.rows, data)
        return found.action if found else ""

    async def press(self, data: str, number: str, person: str) -> Pressed:
        """Use a button up by the update `number`; the same update again gets the same answer."""
        tap, now_ms = data.removeprefix(PREFIX), self._clock.now_ms()

        def claim(read: Rows) -> tuple[list[TapUsed], Pressed]:
            found = self._find(read, data)
            if found is None:
                return [], Pressed("")
            if found.number:
                is_again = found.number == number
                return [], Pressed(found.action if is_again else "", found.key, found.used_by)
            if found.expires_ms <= now_ms or found.person not in ("", person):
                return [], Pressed("", found.key)
            return [TapUsed(tap, number, person)], Pressed(found.action, found.key)

        return await self._journal.decide(claim, by=person)

    def _find(self, read: Rows, data: str) -> _Row | None:
        if not data.startswith(PREFIX):
            return None
        sql = "select action, key, person, expires_ms, number, used_by from chat_taps where tap = ?"
        found = read(sql, data.removeprefix(PREFIX))
        return _Row(*found[0]) if found else None
