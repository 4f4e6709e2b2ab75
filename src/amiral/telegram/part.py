"""Pure: one message as Telegram takes it: a text, and entities that count in UTF-16 units."""

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from amiral.telegram.marks import Kind, Mark, Marked

_RANK = {kind: rank for rank, kind in enumerate(Kind)}
_CUT = frozenset({Kind.BOLD, Kind.ITALIC, Kind.STRUCK})
_SOLID = frozenset({Kind.CODE, Kind.PRE})
_WIDE = re.compile("[\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Entity:
    """What a stretch of a message is; `offset` and `length` count UTF-16 units."""

    kind: Kind
    offset: int
    length: int
    value: str = ""

    def data(self) -> dict[str, str | int]:
        """Its JSON, as the Bot API has it."""
        told: dict[str, str | int] = {"type": self.kind.value}
        told |= {"offset": self.offset, "length": self.length}
        if self.value:
            told["url" if self.kind is Kind.LINK else "language"] = self.value
        return told


@dataclass(frozen=True)
class Part:
    """One message: sent as `text` and `entities`, without a parse mode."""

    text: str
    entities: tuple[Entity, ...] = ()

    def data(self) -> dict[str, object]:
        """Its JSON."""
        return {"text": self.text, "entities": [entity.data() for entity in self.entities]}


def part(marked: Marked) -> Part:
    """Count in UTF-16 units; code parts the bold and the like around it, as Telegram has it."""
    solid = sorted((m for m in marked.marks if m.kind in _SOLID), key=lambda mark: mark.start)
    marks = [piece for mark in marked.marks for piece in _cut(mark, solid)]
    marks.sort(key=lambda mark: (mark.start, -mark.end, _RANK[mark.kind]))
    units = _units(marked.text)
    entities = (
        Entity(m.kind, units(m.start), units(m.end) - units(m.start), m.value) for m in marks
    )
    return Part(marked.text, tuple(entities))


def _cut(mark: Mark, solid: list[Mark]) -> list[Mark]:
    if mark.kind not in _CUT:
        return [mark]
    pieces = []
    start = mark.start
    for code in filter(mark.meets, solid):
        if start < code.start:
            pieces.append(Mark(mark.kind, start, code.start))
        start = code.end
    return [*pieces, Mark(mark.kind, start, mark.end)] if start < mark.end else pieces


def _units(text: str) -> Callable[[int], int]:
    """Make the function that tells for a place in characters how many UTF-16 units lie before."""
    wide = [one.start() for one in _WIDE.finditer(text)]
    return lambda at: at + bisect_left(wide, at)
