"""Pure: how a person, or a time limit, wants a running turn to end."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Wish:
    """`outcome` is interrupted, cancelled, timed_out or stopped; `reason` is for people."""

    outcome: str
    reason: str
