"""The updates of one bot that wait to be fetched, numbered and forgotten as Telegram does it."""

from dataclasses import dataclass

from amiral.testbench.bot_api.wire import Json

DAY_S = 24 * 3600
TAP_S = 150
"""A pressed button waits this long alone: it is not there any more after a longer absence."""

_AHEAD = 10
_BEHIND = 100_000


@dataclass(frozen=True)
class Waiting:
    """One update, kept until `until_s`."""

    number: int
    until_s: int
    update: Json


class Queue:
    """Numbers begin where Telegram pleases: here at `first`."""

    def __init__(self, first: int) -> None:
        self.next = first
        self._waiting: list[Waiting] = []

    def push(self, until_s: int, kind: str, content: Json) -> Json:
        """Add an update and give it."""
        update = {"update_id": self.next, kind: content}
        self._waiting.append(Waiting(self.next, until_s, update))
        self.next += 1
        return update

    def take(self, offset: int, limit: int, now_s: int) -> list[Json]:
        """Give what waits from `offset` on, after forgetting what is before it.

        A negative one forgets all but the last so many. 0 begins at the oldest, and so does one
        that is more than 10 ahead of what there is: then nothing is forgotten.
        """
        self._expire(now_s)
        if offset < 0:
            self._waiting = self._waiting[offset:]
        head = self._waiting[0].number if self._waiting else self.next
        if 0 < offset <= self.next + _AHEAD and offset >= head - _BEHIND:
            self._waiting = [one for one in self._waiting if one.number >= offset]
        return [one.update for one in self._waiting[:limit]]

    def pending(self, now_s: int) -> list[int]:
        """Give the numbers of what waits."""
        self._expire(now_s)
        return [one.number for one in self._waiting]

    def forget(self, number: int) -> None:
        """Take one away."""
        self._waiting = [one for one in self._waiting if one.number != number]

    def clear(self) -> None:
        """Take all away."""
        self._waiting = []

    def _expire(self, now_s: int) -> None:
        self._waiting = [one for one in self._waiting if one.until_s >= now_s]
