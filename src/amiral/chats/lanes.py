"""Handles what was taken in: in order within a lane, side by side between lanes, each once."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from amiral.base.chat_events import ChatUpdateDone, ChatUpdateFailed, ChatUpdateTaken
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.base.failpoint import failpoint
from amiral.chats import rows
from amiral.chats.rows import Taken
from amiral.store.journal import Journal

Handle = Callable[[Taken], Awaitable[None]]
"""Does all that an update asks for. Killed or failed half way it is called again with the same
update, so each of its effects must be one that happens once however often it is asked for."""

MOST_TRIES = 5
_FIRST_PAUSE_S = 0.5


class Lanes:
    """The lanes of one account. A lane that waits holds up no other."""

    def __init__(self, journal: Journal, clock: Clock, account: str, handle: Handle) -> None:
        self._journal, self._clock, self._account = journal, clock, account
        self._handle = handle
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Handle what waits and what comes, for ever."""
        seq = self._journal.last_seq
        try:
            self._look()
            async for batch in self._journal.batches(seq):
                if any(isinstance(one.event, ChatUpdateTaken) for one in batch):
                    self._look()
        finally:
            await self._end()

    def _look(self) -> None:
        for taken in rows.waiting(self._journal.rows, self._account):
            if taken.lane not in self._running:
                task = asyncio.create_task(self._run_lane(taken.lane), name=f"lane {taken.lane}")
                self._running[taken.lane] = task

    async def _run_lane(self, lane: str) -> None:
        try:
            while taken := rows.first_waiting(self._journal.rows, self._account, lane):
                await self._carry_out(taken)
        finally:
            # Nothing is awaited between the last look and this, so that no update falls between.
            del self._running[lane]

    async def _carry_out(self, taken: Taken) -> None:
        try:
            await self._handle(taken)
            failpoint("chat.handled")
            await self._journal.append(ChatUpdateDone(self._account, taken.number))
        except Exception as fault:  # noqa: BLE001 whatever it was, the next ones are to be heard
            is_dead = taken.tries + 1 >= MOST_TRIES
            failed = ChatUpdateFailed(self._account, taken.number, repr(fault), is_dead)
            with contextlib.suppress(AmiralError):
                await self._journal.append(failed)
            if not is_dead:
                await self._clock.sleep(_FIRST_PAUSE_S * 2**taken.tries)

    async def _end(self) -> None:
        tasks = tuple(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
