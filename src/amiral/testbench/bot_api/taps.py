"""Buttons that people press, and how long a bot may answer that it has heard."""

from dataclasses import dataclass
from itertools import count

from amiral.base.clock import Clock
from amiral.testbench.bot_api.wire import Json, bad_request

ANSWER_WITHIN_S = 15.0


@dataclass
class Tap:
    """One press: answered with `answer`, once and in time."""

    bot: int
    until: float
    answer: Json | None = None


class Taps:
    """All presses by their number."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._taps: dict[str, Tap] = {}
        self._numbers = count(4_000_000_001)

    def add(self, bot: int, within_s: float) -> str:
        """Have a button pressed; gives the number."""
        number = str(next(self._numbers))
        self._taps[number] = Tap(bot, self._clock.monotonic_s() + within_s)
        return number

    def answer(self, bot: int, number: str, answer: Json) -> None:
        """Take a bot's answer; raises a Refusal when it comes too late, or again."""
        tap = self._taps.get(number)
        is_late = tap is None or tap.bot != bot or self._clock.monotonic_s() > tap.until
        if tap is None or is_late or tap.answer is not None:
            raise bad_request(
                "query is too old and response timeout expired or query ID is invalid"
            )
        tap.answer = answer

    def answers(self) -> dict[str, Json | None]:
        """Give what each was answered."""
        return {number: tap.answer for number, tap in self._taps.items()}
