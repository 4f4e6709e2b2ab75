"""Takes updates in: on disk before their service may forget them, each once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from amiral.base.chat_events import ChatUpdateTaken
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.base.failpoint import failpoint
from amiral.chats import rows
from amiral.chats.adapter import ChatAdapter, Held, Update
from amiral.store.journal import Journal, Rows

Urgent = Callable[[Update], Awaitable[object]]
"""Looks at an update ahead of every lane, and may do what its lane then finds done."""

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_REVOKED_PAUSE_S = 300.0


@dataclass(frozen=True)
class Hearing:
    """How an account hears: `trouble` is "" when all is well, `heard_s` monotonic seconds."""

    trouble: str
    heard_s: float | None


class Intake:
    """Reads one account for as long as it runs; trouble of its service never ends that."""

    def __init__(
        self, journal: Journal, clock: Clock, adapter: ChatAdapter, urgent: Urgent
    ) -> None:
        self._journal, self._clock, self._adapter = journal, clock, adapter
        self._urgent = urgent
        self._heard_s: float | None = None
        self._trouble = ""
        self._ahead: set[asyncio.Task[None]] = set()

    def hearing(self) -> Hearing:
        """Tell how it goes."""
        return Hearing(self._trouble, self._heard_s)

    async def run(self) -> None:
        """Take in what comes, for ever."""
        try:
            await self._run()
        finally:
            await self._end()

    async def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                updates = await self._adapter.updates()
            except AmiralError as error:
                self._trouble = str(error)
                await self._clock.sleep(_pause_after(error, pause_s))
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                continue
            pause_s, self._trouble = _FIRST_PAUSE_S, ""
            self._heard_s = self._clock.monotonic_s()
            if updates:
                await self._take(updates)

    async def _take(self, updates: Sequence[Update]) -> None:
        """Store until it is stored: the next call has the service forget them."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                fresh = await self._journal.decide(partial(self._claim, updates))
                break
            except AmiralError as error:
                self._trouble = str(error)
                await self._clock.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        failpoint("chat.taken")
        self._trouble = ""
        for update in fresh:
            # A stop takes a moment, in which others must be heard.
            task = asyncio.create_task(self._look_ahead(update))
            self._ahead.add(task)
            task.add_done_callback(self._ahead.discard)

    async def _look_ahead(self, update: Update) -> None:
        await self._urgent(update)

    async def _end(self) -> None:
        tasks = tuple(self._ahead)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _claim(
        self, updates: Sequence[Update], read: Rows
    ) -> tuple[list[ChatUpdateTaken], list[Update]]:
        account = self._adapter.account
        new = rows.unknown(read, account, [one.number for one in updates])
        fresh = list({one.number: one for one in updates if one.number in new}.values())
        events = [ChatUpdateTaken(account, one.number, one.lane, one.raw) for one in fresh]
        return events, fresh


def _pause_after(error: AmiralError, pause_s: float) -> float:
    if isinstance(error, Held):
        return max(error.seconds, pause_s)
    return _REVOKED_PAUSE_S if error.kind == "denied" else pause_s
