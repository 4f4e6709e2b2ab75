"""Pure: fenced code blocks of a Markdown text, as CommonMark reads them, line by line (R55)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPENING = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)", re.DOTALL)
_CLOSING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")
_HUNK = re.compile(r"@@ -[0-9]+(,[0-9]+)? \+[0-9]+(,[0-9]+)? @@")
_OF_HUNK = (" ", "+", "-", "\\")
_TICKS = re.compile("`+")
_SHORTEST = 3


@dataclass(frozen=True)
class Fence:
    """One block that stands in no other one, in no quote, in no diff and is not indented code.

    `body` is what is between the fences, without their indentation; `is_closed` is False when the
    text ended first.
    """

    info: str
    body: str
    is_closed: bool


@dataclass(frozen=True)
class _Open:
    indent: int
    mark: str
    info: str

    def is_closed_by(self, line: str) -> bool:
        closing = _CLOSING.fullmatch(line)
        return closing is not None and closing[1].startswith(self.mark)

    def inner(self, line: str) -> str:
        blanks = len(line) - len(line.lstrip(" "))
        return line[min(blanks, self.indent) :]


def read_fences(text: str) -> Iterator[Fence]:
    """Find the fenced blocks of a text, in order; total on any text. Line ends may be CRLF."""
    opened: _Open | None = None
    body: list[str] = []
    is_hunk = False
    for line in _lines(text):
        if opened is not None:
            if opened.is_closed_by(line):
                yield Fence(opened.info, "\n".join(body), is_closed=True)
                opened = None
            else:
                body.append(opened.inner(line))
            continue
        is_hunk = _HUNK.match(line) is not None or (is_hunk and _may_be_of_hunk(line))
        if not is_hunk:
            opened, body = _opening(line), []
    if opened is not None:
        yield Fence(opened.info, "\n".join(body), is_closed=False)


def fenced(info: str, body: str) -> str:
    """Write one block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in _TICKS.findall(body)), default=0)
    fence = "`" * max(_SHORTEST, longest + 1)
    return f"{fence}{info}\n{body.removesuffix(chr(10))}\n{fence}\n"


def _lines(text: str) -> Iterator[str]:
    for line in text.removeprefix("\ufeff").split("\n"):
        yield line.removesuffix("\r")


def _may_be_of_hunk(line: str) -> bool:
    return not line or line.startswith(_OF_HUNK)


def _opening(line: str) -> _Open | None:
    found = _OPENING.fullmatch(line)
    if found is None or (found[2][0] == "`" and "`" in found[3]):
        return None
    return _Open(len(found[1]), found[2], found[3].strip(" \t"))
