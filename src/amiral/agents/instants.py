"""Pure: read an instant however a CLI writes it, or say that it is unknown (R09)."""

import re
from datetime import UTC, datetime

MS_PER_S = 1000
_SECONDS_BELOW = 10**11
_FIRST_MS = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp()) * MS_PER_S
_LAST_MS = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp()) * MS_PER_S
_PAST_MS = 3600 * MS_PER_S
_FUTURE_MS = 8 * 24 * 3600 * MS_PER_S
_NUMBER = re.compile(r"(?:.*\|)?\s*([0-9]{9,14}(?:\.[0-9]{1,9})?)\s*", re.ASCII | re.DOTALL)


def read_instant(value: object) -> int | None:
    """Read epoch seconds or milliseconds (number, text, `words|number`) or ISO 8601 with an offset.

    The unit is told by the magnitude. None for everything else, a time without an offset included,
    and for what lies outside the years 2020 to 2099: never 1970, never the year 58000.
    """
    match value:
        case bool():
            return None
        case int() | float():
            return _from_number(value)
        case str() if found := _NUMBER.fullmatch(value):
            return _from_number(float(found[1]))
        case str():
            return _from_iso(value)
        case _:
            return None


def plausible_reset(instant_ms: int | None, now_ms: int) -> int | None:
    """Keep a reset time from an hour ago to eight days ahead; any other one is unknown."""
    if instant_ms is None or not now_ms - _PAST_MS <= instant_ms <= now_ms + _FUTURE_MS:
        return None
    return instant_ms


def _from_number(value: float) -> int | None:
    scale = MS_PER_S if value < _SECONDS_BELOW else 1
    # Also refuses what is not a number: it compares to nothing.
    if not _FIRST_MS <= value * scale <= _LAST_MS:
        return None
    return int(value * scale)


def _from_iso(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text.strip())
        seconds = moment.timestamp() if moment.tzinfo else 0
    except (ValueError, OverflowError):
        return None
    return _from_number(seconds)
