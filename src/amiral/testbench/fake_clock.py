"""A clock whose time a test moves: sleepers wake in the order of their times, at their times."""

import asyncio
import heapq
from itertools import count as count_up

_START_MS = 1_800_000_000_000
_MS_PER_S = 1000
_SETTLE_ROUNDS = 20
_LOOK_S = 0.001


class FakeClock:
    """The `Clock` of tests. `jump` moves the wall clock alone, as a suspend or NTP does (R35)."""

    def __init__(self, start_ms: int = _START_MS, monotonic_s: float = 0.0) -> None:
        self._monotonic_s = monotonic_s
        self._wall_ms = start_ms - round(monotonic_s * _MS_PER_S)
        self._numbers = count_up()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now_ms(self) -> int:
        """Virtual wall time in epoch milliseconds UTC."""
        return self._wall_ms + round(self._monotonic_s * _MS_PER_S)

    def monotonic_s(self) -> float:
        """Virtual monotonic seconds."""
        return self._monotonic_s

    def jump(self, milliseconds: int) -> None:
        """Move the wall clock; no sleeper hears of it."""
        self._wall_ms += milliseconds

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has moved time so far; 0 only lets others run."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic_s + seconds, next(self._numbers), future))
        await future

    @property
    def sleeping(self) -> int:
        """How many wait now."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def until_sleeping(self, count: int, patience_s: float = 10.0) -> None:
        """Wait, in real time, until at least so many sleep: for tests with real files or processes.

        Raises TimeoutError.
        """
        async with asyncio.timeout(patience_s):
            while self.sleeping < count:  # noqa: ASYNC110 - real time, as sleepers may use threads
                await asyncio.sleep(_LOOK_S)

    async def advance(self, seconds: float) -> None:
        """Move time on, waking each sleeper at its own time, with the loop run after each.

        A sleeper that sleeps again meanwhile is woken again when that time, too, is reached.
        """
        await _settle()
        until = self._monotonic_s + seconds
        while self._sleepers and self._sleepers[0][0] <= until:
            at, _, future = heapq.heappop(self._sleepers)
            if future.done():
                continue
            self._monotonic_s = max(self._monotonic_s, at)
            future.set_result(None)
            await _settle()
        self._monotonic_s = until
        await _settle()


async def _settle() -> None:
    """Let woken tasks run until they most likely wait again."""
    for _ in range(_SETTLE_ROUNDS):
        await asyncio.sleep(0)
