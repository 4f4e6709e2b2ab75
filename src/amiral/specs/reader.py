"""Reads every answer for SPEC blocks, each exactly once, whatever is killed."""

import asyncio
from collections.abc import Callable

from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.base.failpoint import failpoint
from amiral.specs import rows
from amiral.specs.block import BlocksRead, read_blocks
from amiral.specs.intake import Answer, settle
from amiral.specs.rows import READER
from amiral.specs.spec import Rules
from amiral.store.journal import Journal, Rows

_PAUSE_AFTER_FAULT_S = 1.0


class SpecReader:
    """Follows the journal: the text of a chat worker that ended its turn well may hold specs.

    `is_chat` tells by a worker's id; `rules` are what the owner trusts now; `wake` is called with
    a worker that was given a message.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        is_chat: Callable[[str], bool],
        rules: Callable[[], Rules],
        wake: Callable[[str], None],
    ) -> None:
        self._journal, self._clock = journal, clock
        self._is_chat, self._rules, self._wake = is_chat, rules, wake

    async def run(self) -> None:
        """Read until the journal closes; a failing disk is waited for."""
        while True:
            try:
                async for stamped in self._journal.subscribe(rows.position(self._journal.rows)):
                    if isinstance(stamped.event, ev.TurnEnded):
                        await self._take(stamped.seq, stamped.event)
                return
            except AmiralError:
                await self._clock.sleep(_PAUSE_AFTER_FAULT_S)

    async def _take(self, seq: int, ended: ev.TurnEnded) -> None:
        blocks = BlocksRead()
        if ended.outcome == "done" and self._is_chat(ended.worker):
            blocks = await asyncio.to_thread(read_blocks, ended.text)
        answer, rules = Answer(seq, ended.message, blocks), self._rules()

        def decide(read: Rows) -> tuple[list[ev.Event], list[ev.Event]]:
            events = settle(read, answer, rules)
            return events, events

        failpoint("specs.read")
        for event in await self._journal.decide(decide):
            if isinstance(event, ev.MessageQueued):
                failpoint("specs.taken")
                self._wake(event.worker)


async def until_read(journal: Journal, seq: int) -> None:
    """Wait until the answer that is event `seq` was read for specs, or the journal closes."""
    if rows.position(journal.rows) >= seq:
        return
    async for stamped in journal.subscribe(seq):
        match stamped.event:
            case ev.AnswerRead(reader=reader, upto=upto) if reader == READER and upto >= seq:
                return
            case _:
                pass
