"""Wait for what becomes of a message."""

import asyncio
from dataclasses import dataclass

from amiral.agents import approval_rows
from amiral.base import events as ev
from amiral.base.errors import AmiralError
from amiral.store.journal import Journal, Stamped


@dataclass(frozen=True)
class Answer:
    """The first thing to tell about a message: its turn's end, its parking or its cancelling.

    `id` names the answer for ever: the journal's number of the event that carries it. `request` is
    what the turn waits for: a permission that only the owner can give.
    """

    id: str
    turn: str
    outcome: str
    text: str
    reason: str
    request: str = ""


PENDING = Answer("", "", "pending", "", "")
"""Nothing to tell yet."""

_ASKS = "it waits for a permission of the owner"
_STOPPED = Answer("", "", "pending", "", "amiral was stopped; the message is kept")


class Answers:
    """Reads the journal: the answer is there already, or will come. One reader serves everybody."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._expected: dict[str, asyncio.Future[Answer]] = {}
        self._reader: asyncio.Task[None] | None = None

    async def wait_for(self, message: str) -> Answer:
        """Give the answer to a message accepted earlier, waiting as long as it takes."""
        since = self._queued_at(message)
        if since < self._journal.last_seq:
            async for batch in self._journal.batches(since):
                for stamped in batch:
                    answer = self._answer(stamped, message)
                    if answer is not None:
                        return answer
                if batch[-1].seq >= self._journal.last_seq:
                    break
        return await asyncio.shield(self._expect(message))

    def known(self, message: str) -> Answer | None:
        """Give the newest thing to tell about a message, None when there is none yet."""
        since, newest = self._queued_at(message), None
        while batch := self._journal.read(since):
            since = batch[-1].seq
            for stamped in batch:
                newest = self._answer(stamped, message) or newest
        return newest

    def _expect(self, message: str) -> "asyncio.Future[Answer]":
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read(self._journal.last_seq))
        if message not in self._expected:
            self._expected[message] = asyncio.get_running_loop().create_future()
        return self._expected[message]

    async def _read(self, since: int) -> None:
        try:
            async for stamped in self._journal.subscribe(since):
                message = getattr(stamped.event, "message", "")
                answer = self._answer(stamped, message) if message in self._expected else None
                if answer is not None:
                    self._expected.pop(message).set_result(answer)
        except AmiralError as error:
            for future in self._expected.values():
                future.set_exception(error)
        else:
            for future in self._expected.values():
                future.set_result(_STOPPED)
        self._expected.clear()

    def _answer(self, stamped: Stamped, message: str) -> Answer | None:
        """Give what an event answers; a request that was dealt with already is no answer."""
        answer = _answer(stamped, message)
        if answer is None or not answer.request:
            return answer
        waits = approval_rows.named(self._journal.rows, answer.request).is_waiting
        return answer if waits else None

    def _queued_at(self, message: str) -> int:
        found = self._journal.rows("select seq from inbox where message = ?", message)
        return int(found[0][0]) if found else self._journal.last_seq


def _answer(stamped: Stamped, message: str) -> Answer | None:
    event, number = stamped.event, str(stamped.seq)
    match event:
        case ev.TurnEnded() if event.message == message:
            return Answer(number, event.turn, event.outcome, event.text, event.reason)
        case ev.TurnParked() if event.message == message:
            return Answer(number, event.turn, "limited", event.text, _until(event))
        case ev.ApprovalAsked() if event.message == message:
            return Answer(number, event.turn, "pending", "", _ASKS, event.approval)
        case ev.MessageCancelled() if event.message == message:
            return Answer(number, "", "cancelled", "", event.reason)
    return None


def _until(event: ev.TurnParked) -> str:
    window = event.window or "limit"
    return f"{window} reached; amiral limits shows until when"
