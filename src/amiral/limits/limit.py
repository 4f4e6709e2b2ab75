"""Pure: a rate limit that holds a worker."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """`window` is the CLI's name for what is full; `resets_at_ms` None = nobody knows.

    `source`: who told (cli, pattern, human). `state`: waiting, or due once the hour has passed.
    """

    worker: str
    account: str
    window: str
    resets_at_ms: int | None
    source: str
    state: str
    since_ms: int
    text: str


def state_at(resets_at_ms: int | None, now_ms: int) -> str:
    """Tell whether a limit's hour has come: waiting, due or unknown (a person must say)."""
    if resets_at_ms is None:
        return "unknown"
    return "due" if resets_at_ms <= now_ms else "waiting"
