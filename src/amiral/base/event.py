"""Pure: what an event is: a fact, past tense, frozen.

A field added later has a default, so that old events always load; a changed meaning gets a new
class.
"""

from dataclasses import dataclass
from typing import ClassVar

Position = tuple[int, int]
"""A place in a session's output, `(segment, byte)`: docs/reference/sessions.md."""


@dataclass(frozen=True)
class Event:
    """A fact. `version` grows when the shape changes in a way a default cannot cover."""

    version: ClassVar[int] = 1
