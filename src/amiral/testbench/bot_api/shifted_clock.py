"""A clock that can be put forward: a day of patience, without the day."""

from amiral.base.clock import MS_PER_S, Clock


class ShiftedClock:
    """The time of another clock and what was passed over on top of it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._passed_s = 0.0

    def now_ms(self) -> int:
        """Wall time in epoch milliseconds UTC."""
        return self._clock.now_ms() + round(self._passed_s * MS_PER_S)

    def now_s(self) -> int:
        """Wall time in whole seconds, as Telegram has it."""
        return self.now_ms() // MS_PER_S

    def monotonic_s(self) -> float:
        """Monotonic seconds."""
        return self._clock.monotonic_s() + self._passed_s

    async def sleep(self, seconds: float) -> None:
        """Wait on the other clock; who sleeps does not notice what is passed over."""
        await self._clock.sleep(seconds)

    def go_on(self, seconds: float) -> None:
        """Pass over so much time at once."""
        self._passed_s += seconds
