"""Pure: how fast a service may be written to, edits counted (chats tolerate short bursts only)."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Bucket:
    """Holds up to `size` calls, one more every `gap_s`; closed until `closed_until_s`."""

    size: float
    gap_s: float
    left: float = 0.0
    at_s: float = 0.0
    closed_until_s: float = 0.0

    def __post_init__(self) -> None:
        self.left = self.size

    def wait_s(self, now_s: float, spare: float = 0.0) -> float:
        """Tell in how many seconds one call fits, with so many more left over after it."""
        self._fill(now_s)
        missing = 1.0 + spare - self.left
        return max(self.closed_until_s - now_s, missing * self.gap_s, 0.0)

    def take(self, now_s: float) -> None:
        """Count a call."""
        self._fill(now_s)
        self.left -= 1.0

    def close(self, until_s: float) -> None:
        """Let nothing through until then."""
        self.closed_until_s = max(self.closed_until_s, until_s)

    def _fill(self, now_s: float) -> None:
        self.left = min(self.size, self.left + (now_s - self.at_s) / self.gap_s)
        self.at_s = max(self.at_s, now_s)


@dataclass
class Pacing:
    """Buckets of one account and of each of its chats; times are monotonic seconds.

    `gap_s` gives the seconds between two calls that a chat tolerates for long.
    """

    gap_s: Callable[[str], float]
    burst: float = 3.0
    all_a_second: float = 30.0
    _chats: dict[str, Bucket] = field(default_factory=dict)
    _all: Bucket = field(init=False)

    def __post_init__(self) -> None:
        self._all = Bucket(self.all_a_second, 1.0 / self.all_a_second)

    def wait_s(self, chat: str, now_s: float, spare: float = 0.0) -> float:
        """Tell how long a call about this chat has to wait."""
        return max(self._of(chat).wait_s(now_s, spare), self._all.wait_s(now_s))

    def take(self, chat: str, now_s: float) -> None:
        """Count a call about this chat."""
        self._of(chat).take(now_s)
        self._all.take(now_s)

    def hold(self, chat: str, until_s: float) -> None:
        """Obey the service: nothing in this chat until then."""
        self._of(chat).close(until_s)

    def _of(self, chat: str) -> Bucket:
        if chat not in self._chats:
            self._chats[chat] = Bucket(self.burst, self.gap_s(chat))
        return self._chats[chat]
