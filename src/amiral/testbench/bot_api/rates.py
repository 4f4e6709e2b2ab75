"""How much a bot may say: in one chat, in a group, and in all of them together."""

from collections import defaultdict

from msgspec import Struct

from amiral.base.clock import Clock
from amiral.testbench.bot_api.wire import flood

_MINUTE_S = 60.0


class Limits(Struct, forbid_unknown_fields=True):
    """Messages, edits among them: `burst` at once in a private chat, then one a second."""

    is_on: bool = True
    burst: int = 3
    group_per_minute: int = 20
    bot_per_s: int = 30


class Rates:
    """Counts what was said; a call over a limit is refused and does not count."""

    def __init__(self, clock: Clock) -> None:
        self.limits = Limits()
        self._clock = clock
        self._said: defaultdict[tuple[int, int], list[float]] = defaultdict(list)

    def spend(self, bot: int, chat: int, *, is_private: bool, count: int = 1) -> None:
        """Count messages; raises a Refusal that tells how long to wait."""
        if not self.limits.is_on:
            return
        most, span_s = self.limits.group_per_minute, _MINUTE_S
        if is_private:
            most, span_s = self.limits.burst, float(self.limits.burst)
        checks = [((bot, 0), self.limits.bot_per_s, 1.0), ((bot, chat), most, span_s)]
        for key, allowed, within_s in checks:
            self._check(key, allowed, within_s)
        for key, _, _ in checks:
            self._said[key] += [self._clock.monotonic_s()] * count

    def _check(self, key: tuple[int, int], allowed: int, within_s: float) -> None:
        now = self._clock.monotonic_s()
        recent = [at for at in self._said[key] if now - at < within_s]
        self._said[key] = recent
        if len(recent) >= allowed:
            raise flood(int(recent[-allowed] + within_s - now) + 1)
