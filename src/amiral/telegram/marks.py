"""Pure: a text and what is marked in it, and how both come about by editing a source."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Kind(StrEnum):
    """What a stretch of text is, under the name that Telegram has for it; outer ones first."""

    QUOTE = "blockquote"
    PRE = "pre"
    LINK = "text_link"
    BOLD = "bold"
    ITALIC = "italic"
    STRUCK = "strikethrough"
    CODE = "code"


@dataclass(frozen=True)
class Mark:
    """A stretch of a text, from `start` up to `end`, counted in characters.

    `value` is the address of a link or the language of a block of code.
    """

    kind: Kind
    start: int
    end: int
    value: str = ""

    def meets(self, other: "Mark") -> bool:
        """Whether both have a character in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Marked:
    """A text with its marks."""

    text: str
    marks: tuple[Mark, ...] = ()

    def between(self, start: int, end: int) -> "Marked":
        """Give one stretch of it; a mark that reaches out is cut, and is whole on both sides."""
        kept = (
            replace(mark, start=max(mark.start, start) - start, end=min(mark.end, end) - start)
            for mark in self.marks
            if mark.start < end and start < mark.end
        )
        return Marked(self.text[start:end], tuple(kept))

    def stripped(self) -> "Marked":
        """Give it without blank lines before it and blanks behind it."""
        end = len(self.text.rstrip())
        start = end - len(self.text[:end].lstrip("\n"))
        return self.between(start, end)


@dataclass(frozen=True)
class Edit:
    """What stands in place of a stretch of the source, from `start` up to `end`."""

    start: int
    end: int
    text: str = ""


def edited(source: str, edits: Iterable[Edit], marks: Iterable[Mark] = ()) -> Marked:
    """Carry out edits, and move the marks, which count in the source, to where their text is now.

    Of edits that overlap the outer counts, and a mark that begins or ends inside an edit goes.
    """
    pieces: list[str] = []
    places = _Places([0], [0])
    at = length = 0
    for edit in sorted(edits, key=lambda one: (one.start, -one.end)):
        if edit.start >= at:
            pieces += (source[at : edit.start], edit.text)
            length += edit.start - at
            places.add(edit.start, length)
            length += len(edit.text)
            places.add(edit.end, length)
            at = edit.end
    pieces.append(source[at:])
    return Marked("".join(pieces), tuple(filter(None, map(places.moved, marks))))


@dataclass(frozen=True)
class _Places:
    """Where the ends of edits are in the source and in the text; the odd ones begin an edit."""

    sources: list[int]
    targets: list[int]

    def add(self, source: int, target: int) -> None:
        self.sources.append(source)
        self.targets.append(target)

    def moved(self, mark: Mark) -> Mark | None:
        start, end = self._target(mark.start), self._target(mark.end)
        if start is None or end is None or start >= end:
            return None
        return replace(mark, start=start, end=end)

    def _target(self, place: int) -> int | None:
        nearest = bisect_right(self.sources, place) - 1
        beyond = place - self.sources[nearest]
        is_inside = nearest % 2 == 1 and beyond > 0
        return None if is_inside else self.targets[nearest] + beyond
