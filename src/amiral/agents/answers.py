"""Wait for what becomes of a message."""

from dataclasses import dataclass

from amiral.base import events as ev
from amiral.store.journal import Journal


@dataclass(frozen=True)
class Answer:
    """The first thing to tell about a message: its turn's end, its parking or its cancelling.

    `id` names the answer for ever: the journal's number of the event that carries it.
    """

    id: str
    turn: str
    outcome: str
    text: str
    reason: str


class Answers:
    """Reads the journal: the answer is there already, or will come."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def wait_for(self, message: str) -> Answer:
        """Give the answer to a message accepted earlier, waiting as long as it takes."""
        since = self._queued_at(message)
        async for stamped in self._journal.subscribe(since):
            answer = _answer(stamped.event, message, str(stamped.seq))
            if answer is not None:
                return answer
        return Answer("", "", "pending", "", "amiral was stopped; the message is kept")

    def _queued_at(self, message: str) -> int:
        found = self._journal.rows("select seq from inbox where message = ?", message)
        return int(found[0][0]) if found else self._journal.last_seq


def _answer(event: ev.Event | None, message: str, number: str) -> Answer | None:
    match event:
        case ev.TurnEnded() if event.message == message:
            return Answer(number, event.turn, event.outcome, event.text, event.reason)
        case ev.TurnParked() if event.message == message:
            return Answer(number, event.turn, "limited", event.text, _until(event))
        case ev.MessageCancelled() if event.message == message:
            return Answer(number, "", "cancelled", "", event.reason)
    return None


def _until(event: ev.TurnParked) -> str:
    window = event.window or "limit"
    return f"{window} reached; amiral limits shows until when"
