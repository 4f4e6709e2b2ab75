"""The sign that stands before a project's state, wherever people read it."""

from collections.abc import Mapping
from typing import Final

RUNNING: Final = "running"

_SIGNS: Mapping[str, str] = {
    RUNNING: "✓",
    "starting": "⏳",
    "waiting": "⏳",
    "stopped": "⛔",
    "frozen": "⏸",
    "ended": "⏸",
}


def sign_of(state: str) -> str:
    """Give the sign of a state; one that is not listed needs a person."""
    return _SIGNS.get(state, "✗")
