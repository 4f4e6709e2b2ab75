"""Readers of the journal: history from the file, news from a short memory, no gap and no double."""

import asyncio
import types
from collections import deque
from collections.abc import Callable, Generator, Sequence
from itertools import islice

from amiral.store.codec import Stamped

_LONGEST_BATCH = 256
_MOST_EVENTS = 4096
_MOST_BYTES = 8 << 20


class Feed:
    """Hands out events after any place; one who reads slowly reads the file, at no cost (P11)."""

    def __init__(self, read: Callable[[int, int], list[Stamped]]) -> None:
        self.last_seq = 0
        self._read = read
        self._recent: deque[Stamped] = deque()
        self._recent_bytes = 0
        self._grown = asyncio.Event()
        self._is_ended = False

    def add(self, batch: Sequence[Stamped]) -> None:
        """News, in order, right after the last ones."""
        self._recent.extend(batch)
        self._recent_bytes += sum(len(one.payload) for one in batch)
        while len(self._recent) > _MOST_EVENTS or self._recent_bytes > _MOST_BYTES:
            self._recent_bytes -= len(self._recent.popleft().payload)
        self.last_seq = batch[-1].seq
        self._wake()

    def end(self) -> None:
        """No more news: readers stop, those far behind too, for the file is closed to them."""
        self._is_ended = True
        self._wake()

    async def after(self, seq: int) -> Sequence[Stamped]:
        """The next events after `seq`, waiting for some; none once the feed has ended."""
        while True:
            grown = self._grown
            if self._recent and self._recent[0].seq <= seq + 1 <= self.last_seq:
                start = seq + 1 - self._recent[0].seq
                return tuple(islice(self._recent, start, start + _LONGEST_BATCH))
            if self._is_ended:
                return ()
            if seq < self.last_seq:
                await _let_others_run()
                return self._read(seq, _LONGEST_BATCH)
            await grown.wait()

    def _wake(self) -> None:
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()


@types.coroutine
def _let_others_run() -> Generator[None, None, None]:
    """A reader of long history never waits for anything, and would hold the loop."""
    yield
