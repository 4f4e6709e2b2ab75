"""Pure: an agent's answer in Markdown made messages for Telegram."""

from dataclasses import dataclass

from amiral.base.plain import plain
from amiral.telegram.markdown import read
from amiral.telegram.marks import Kind, Marked
from amiral.telegram.part import Part, part
from amiral.telegram.split import is_seen, split
from amiral.telegram.taps import untouchable

LONGEST_TEXT = 4096
LONGEST_CAPTION = 1024
MOST_PARTS = 3
LONGEST_CODE = 8 * 1024
NAME = "answer.md"

_EMPTY = "(empty answer)"
_MORE = " …"
_REST = "\n\n… all of it is in "
_TAB = 4
# So much is more than MOST_PARTS messages; no need to read on.
_READ = 64 * 1024


@dataclass(frozen=True)
class Document:
    """A file to be sent."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Answer:
    """What is sent for an answer, in this order; with a document there is one part only."""

    parts: tuple[Part, ...]
    document: Document | None = None


def answer(markdown: str) -> Answer:
    """Decide how an answer is sent: as messages, or, when it is long, the first and a document.

    Long is what has more than `MOST_PARTS` messages, or a block of code of more than
    `LONGEST_CODE` bytes. Total on any text.
    """
    marked = _read(markdown[:_READ])
    stretches = list(split(marked, LONGEST_TEXT))
    is_short = len(markdown) <= _READ and len(stretches) <= MOST_PARTS
    if is_short and not _has_long_code(marked):
        return Answer(tuple(map(_message, stretches)))
    first = _beginning(marked, LONGEST_TEXT, f"{_REST}{NAME}")
    return Answer((first,), Document(NAME, plain(markdown).encode()))


def render(markdown: str, longest: int = LONGEST_TEXT) -> tuple[Part, ...]:
    """Give all messages of an answer, each of at most `longest` UTF-16 units; at least one.

    Total on any text: one with nothing to be seen is said to be empty, and one that cannot be read
    comes as it is.
    """
    return tuple(map(_message, split(_read(markdown), longest)))


def caption(markdown: str) -> Part:
    """Give what stands below a document or a picture; an ellipsis is for what has no room."""
    marked = _read(markdown[:_READ])
    first, *more = split(marked, LONGEST_CAPTION)
    return _beginning(marked, LONGEST_CAPTION, _MORE) if more else _message(first)


def _read(markdown: str) -> Marked:
    """Read what can be shown; Telegram drops such line ends, and makes one blank of a tab."""
    lines = plain(markdown).replace("\u2028", "\n").replace("\u2029", "\n")
    marked = read(lines.expandtabs(_TAB))
    return marked if is_seen(marked.text) else Marked(_EMPTY)


def _message(marked: Marked) -> Part:
    return part(untouchable(marked))


def _beginning(marked: Marked, longest: int, more: str) -> Part:
    first = next(split(marked, longest - len(more)))
    return _message(Marked(first.text + more, first.marks))


def _has_long_code(marked: Marked) -> bool:
    blocks = (mark for mark in marked.marks if mark.kind is Kind.PRE)
    return any(len(marked.text[one.start : one.end].encode()) > LONGEST_CODE for one in blocks)
