"""Whoever is not listed gets no answer; the owners hear of it, and a code lets people in."""

import re
from typing import Final

from amiral.base.chat_events import ChatReplyDue
from amiral.base.clock import MS_PER_S, Clock
from amiral.base.plain import one_line
from amiral.base.project_events import WarningRaised
from amiral.chats.incoming import Incoming
from amiral.chats.people import People
from amiral.chats.sentences import Sentence, say
from amiral.store.journal import Journal

_EVERY_MS: Final = 3600 * MS_PER_S
_CODE = re.compile(r"/(?:pair|start)(?:@\w+)?\s+(\S+)", re.IGNORECASE)


def code_of(incoming: Incoming) -> str:
    """Give the code that a message brings in private, as `/pair CODE`; "" when it brings none."""
    found = _CODE.fullmatch(incoming.text.strip())
    is_theirs = incoming.is_private and not incoming.is_forwarded
    return found[1] if found and is_theirs else ""


class Strangers:
    """Those who knock at one account."""

    def __init__(self, journal: Journal, clock: Clock, people: People, language: str) -> None:
        self._journal, self._clock, self._people = journal, clock, people
        self._language, self._hour = language, 0

    async def note(self, incoming: Incoming) -> None:
        """Tell the owners of one who wants something, once an hour however many there are.

        What people say to each other in a group is not meant for us.
        """
        hour, person = self._clock.now_ms() // _EVERY_MS, incoming.person
        is_meant = incoming.is_private or incoming.tap or incoming.text.lstrip().startswith("/")
        if not person.is_real or not is_meant or hour == self._hour:
            return
        who = one_line(f"{person.name} ({person.id})").replace("`", "'")
        text = say(Sentence.STRANGER, self._language, who=who)
        service, account = person.id.partition(":")[0], incoming.spot.account
        owners = (one for one in sorted(self._people.owners()) if one.startswith(f"{service}:"))
        told = [
            # A private chat has the number of the person it is with.
            ChatReplyDue(
                f"{account}:stranger:{hour}:{one}", account, one.partition(":")[2], "", text=text
            )
            for one in owners
        ]
        await self._journal.append(WarningRaised("chat", text), *told)
        self._hour = hour
