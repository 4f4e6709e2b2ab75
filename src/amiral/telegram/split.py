"""Pure: a text with marks parted into messages, at a line's end if there is one."""

import re
import unicodedata
from collections.abc import Iterator

from amiral.telegram.marks import Kind, Marked

_JOINERS = re.compile(r"[\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_FLAG = re.compile(r"[\U0001f1e6-\U0001f1ff]")
_LONGEST_CLUSTER = 32


def split(marked: Marked, longest: int) -> Iterator[Marked]:
    """Part it into stretches of at most `longest` UTF-16 units, at least 2, none of them blank.

    Between the halves of a stretch the end of a paragraph, a line or a word is taken, and a block
    or a bold word that would be cut goes to the next part whole. What must be cut keeps its marks
    on both sides.
    """
    start = 0
    while start < len(marked.text):
        end = _end(marked, start, longest)
        part = marked.between(start, end).stripped()
        if is_seen(part.text):
            yield part
        start = end


def is_seen(text: str) -> bool:
    """Tell whether there is anything in a text to be seen; Telegram refuses it otherwise."""
    return any(map(_is_ink, text))


def _is_ink(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNPS" and character not in "\u2800\ufffc\u3164"


def _end(marked: Marked, start: int, longest: int) -> int:
    text = marked.text
    reach = start + _fitting(text[start : start + longest], longest)
    if reach == len(text):
        return reach
    middle = start + (reach - start) // 2
    for border in ("\n\n", "\n", " "):
        at = text.rfind(border, middle, reach)
        if at > start:
            return _before_marks(marked, middle, at + 1)
    return _before_marks(marked, middle, _whole(text, start, reach))


def _fitting(text: str, longest: int) -> int:
    """How many characters from the beginning fit into `longest` UTF-16 units."""
    units = text.encode("utf-16-le")[: 2 * longest]
    return len(units.decode("utf-16-le", "ignore"))


def _before_marks(marked: Marked, middle: int, end: int) -> int:
    """Where the outermost mark begins that would be cut at `end`, if that is beyond the middle."""
    starts = [
        mark.start
        for mark in marked.marks
        if mark.kind is not Kind.QUOTE and middle < mark.start < end < mark.end
    ]
    return min(starts, default=end)


def _whole(text: str, start: int, end: int) -> int:
    """The last place up to `end` that is not within one visible character, if there is one near."""
    nearest = max(start, end - _LONGEST_CLUSTER)
    return next((at for at in range(end, nearest, -1) if not _is_within(text, at)), end)


def _is_within(text: str, at: int) -> bool:
    if _JOINERS.match(text, at) or text[at - 1] == "\u200d" or unicodedata.combining(text[at]):
        return True
    flags = 0
    while flags < at and _FLAG.match(text, at - 1 - flags):
        flags += 1
    return flags % 2 == 1 and _FLAG.match(text, at) is not None
