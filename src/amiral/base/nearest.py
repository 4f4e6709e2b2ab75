"""Pure: the nearest known name to a mistyped one."""

import difflib
from collections.abc import Iterable

_LONGEST = 64
_CLOSE_ENOUGH = 0.6


def nearest(name: str, known: Iterable[str]) -> str:
    """Give the known name that looks most like `name`, "" when none is close."""
    close = difflib.get_close_matches(name[:_LONGEST].lower(), sorted(known), 1, _CLOSE_ENOUGH)
    return close[0] if close else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ask ` (did you mean x?)`, with a leading blank, or give "" when nothing is close."""
    close = nearest(name, known)
    return f" (did you mean {close}?)" if close else ""
