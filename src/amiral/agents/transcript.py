"""Pure: find one message and its turn in a CLI's own transcript of JSON lines."""

import re
from collections.abc import Callable, Iterable

from amiral.agents.driver import Settlement
from amiral.agents.fields import Fields, read_fields

_SPECIAL = re.compile(r"([*?\[])")


def literal(part: str) -> str:
    """Escape a part of a glob pattern, so that it stands for itself alone."""
    return _SPECIAL.sub(r"[\1]", part)


def find_turn(
    lines: Iterable[bytes], message: str, begun: Callable[[Fields], str | None]
) -> list[Fields] | Settlement:
    """Give the entries that follow `message`, up to the next message.

    `begun` gives the id of the message an entry stands for, None when it stands for none. Without
    the message the settlement is given: absent, or unknown when a torn line may have been it. Of
    several occurrences the last one counts.
    """
    turn: list[Fields] | None = None
    is_here = is_torn = False
    for line in lines:
        entry = read_fields(line)
        if entry is None:
            is_torn = is_torn or bool(line.strip())
            continue
        found = begun(entry)
        is_here = found == message or (is_here and found is None)
        if found == message:
            turn = []
        elif is_here and turn is not None:
            turn.append(entry)
    if turn is None:
        return Settlement("unknown" if is_torn else "absent")
    return turn
