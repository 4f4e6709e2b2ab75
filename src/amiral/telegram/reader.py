"""Pure: what the events of a Markdown parser mean for the text that is shown.

The source is edited, not written anew: what is not known to be markup stays as it was, so that
nothing is lost to a tag, an entity, a formula or a name that the grammar takes for its own.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from amiral.base.plain import plain
from amiral.telegram.delimiters import is_emphasis, is_escape
from amiral.telegram.links import is_link, is_web
from amiral.telegram.marks import Edit, Kind, Mark, Marked, edited
from amiral.telegram.tables import drawn

Event = str | Mapping[str, Any]

_EMPHASIS = {"Emphasis": Kind.ITALIC, "Strong": Kind.BOLD, "Strikethrough": Kind.STRUCK}
_HASHES = re.compile(r"#{1,6}(?: +|(?=\n)|\Z)")
_QUOTED = re.compile(r" *>(?: |(?=\n)|\Z)")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#_-]+")
_INDEXED = re.compile(r"[\w)\]]")
_SEEN = 80


@dataclass
class _Block:
    """A block of code while it is read; `first` is where its first line begins."""

    info: str
    texts: list[str] = field(default_factory=list)
    first: int | None = None

    def add(self, text: str, start: int) -> None:
        self.first = start if self.first is None else self.first
        self.texts.append(text)


@dataclass(frozen=True)
class _Link:
    """A link while its text is read, from `text` on; `edits` is how many there were before it."""

    target: str
    title: str
    text: int
    edits: int


class Reader:
    """Collects edits and marks from events in their order; places count characters of the source.

    `_end` is where the last event ended, or where begins what began last: between it and the next
    event is only markup.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._edits: list[Edit] = []
        self._marks: list[Mark] = []
        self._end = 0
        self._quotes = 0
        self._blocks: list[_Block] = []
        self._links: list[_Link] = []
        self._rows: list[list[str]] = []
        self._cell = 0

    def take(self, event: Event, start: int, end: int) -> None:
        """Take the next event, which is about the source from `start` up to `end`."""
        name, value = (event, "") if isinstance(event, str) else next(iter(event.items()))
        if name == "Start":
            self._end = start
            self._begin(*_tag(value), start, end)
            return
        if name == "End":
            self._finish(_tag(value)[0], start, end)
        elif name == "Text":
            self._text(value, start)
        elif name == "Code":
            self._code(value, start, end)
        self._end = end

    def marked(self) -> Marked:
        """Give the text as it is shown."""
        return edited(self._source, self._edits, self._marks)

    def _begin(self, name: str, more: Mapping[str, Any], start: int, end: int) -> None:
        match name:
            case "Emphasis" | "Strong" | "Strikethrough":
                self._emphasis(_EMPHASIS[name], start, end)
            case "Heading":
                self._heading(start, end)
            case "BlockQuote":
                self._quote(start, end)
            case "CodeBlock":
                self._blocks.append(_Block(more.get("Fenced", "")))
            case "Link" | "Image":
                self._link(more, start + 1 if name == "Link" else start + 2)
            case "TableHead" | "TableRow":
                self._rows.append([])
            case "TableCell":
                self._cell = len(self._edits)
            case _:
                pass

    def _finish(self, name: str, start: int, end: int) -> None:
        match name:
            case "BlockQuote":
                self._quotes -= 1
            case "CodeBlock":
                self._end_block(self._blocks.pop(), start, self._trimmed(start, end))
            case "Link" | "Image":
                self._end_link(self._links.pop(), start, end)
            case "TableCell":
                self._rows[-1].append(self._shown(start, end, self._cell).strip())
            case "TableHead" | "TableRow":
                self._end_row(end)
            case "Table":
                self._end_table(start, self._trimmed(start, end))
            case _:
                pass

    def _trimmed(self, start: int, end: int) -> int:
        return start + len(self._source[start:end].rstrip())

    def _line_start(self, start: int) -> int:
        """Where the line begins that has only blanks before `start`; else `start`."""
        line = self._source.rfind("\n", 0, start) + 1
        return start if self._source[line:start].strip(" ") else line

    def _shown(self, start: int, end: int, first: int) -> str:
        """What a stretch of the source becomes by the edits from the `first` on."""
        edits = (Edit(one.start - start, one.end - start, one.text) for one in self._edits[first:])
        return edited(self._source[start:end], edits).text

    def _replace(self, start: int, end: int, text: str = "") -> None:
        self._edits.append(Edit(start, end, text))

    def _mark(self, kind: Kind, start: int, end: int, value: str = "") -> None:
        self._marks.append(Mark(kind, start, end, value))

    def _emphasis(self, kind: Kind, start: int, end: int) -> None:
        source = self._source
        is_single = kind is Kind.ITALIC or (kind is Kind.STRUCK and source[start + 1] != "~")
        size = 1 if is_single else 2
        first, last = start + size, end - size
        around = source[max(0, start - 1) : start], source[first:last], source[end : end + 2]
        if is_emphasis(source[start:first], *around):
            self._replace(start, first)
            self._replace(last, end)
            self._mark(kind, start, end)

    def _heading(self, start: int, end: int) -> None:
        """Headings of one line alone: a rule below a paragraph is meant as a rule."""
        hashes = _HASHES.match(self._source, start, end)
        if hashes:
            self._replace(start, hashes.end())
            self._mark(Kind.BOLD, start, self._trimmed(start, end))

    def _quote(self, start: int, end: int) -> None:
        self._quotes += 1
        if self._quotes > 1:
            return
        self._mark(Kind.QUOTE, start, self._trimmed(start, end))
        at = start
        while at < end:
            quoted = _QUOTED.match(self._source, at, end)
            if quoted:
                self._replace(at, quoted.end())
            at = self._source.find("\n", at, end) + 1 or end

    def _text(self, text: str, start: int) -> None:
        if self._blocks:
            self._blocks[-1].add(text, start)
        elif start > self._end and self._source[start - 1] == "\\" and self._is_escape(start):
            self._replace(start - 1, start)

    def _is_escape(self, start: int) -> bool:
        source = self._source
        if self._rows and source[start] == "|":
            return True
        before = source[max(0, start - 1 - _SEEN) : start - 1].rpartition("\n")[2]
        return is_escape(before, source[start], source[start + 1 : start + _SEEN])

    def _code(self, code: str, start: int, end: int) -> None:
        self._replace(start, end, code)
        if not self._links:
            self._mark(Kind.CODE, start, end)

    def _end_block(self, block: _Block, start: int, end: int) -> None:
        first = end if block.first is None else min(block.first, end)
        code = "".join(block.texts).rstrip("\n")
        language, more = _info(block.info) if code.strip() else ("", block.info)
        self._replace(self._line_start(start), first, more)
        self._replace(first, end, code)
        self._mark(Kind.PRE, first, end, language)

    def _end_row(self, end: int) -> None:
        """Cells beyond those of the heads, which the grammar drops, are kept as one."""
        more = self._source[self._end : end].strip(" |\n")
        self._rows[-1] += [more] if more else []

    def _end_table(self, start: int, end: int) -> None:
        first = self._line_start(start)
        self._replace(first, end, drawn(self._rows))
        self._mark(Kind.PRE, first, end)
        self._rows = []

    def _link(self, more: Mapping[str, Any], text: int) -> None:
        """Only where the target stands beside the text: `[text][name]` stays as it is."""
        kind, target = more["link_type"], plain(more["dest_url"])
        if kind != "Inline" and not (kind == "Autolink" and is_web(target)):
            target = ""
        self._links.append(_Link(target, plain(more["title"]), text, len(self._edits)))
        self._end = text

    def _end_link(self, link: _Link, start: int, end: int) -> None:
        if not link.target or _INDEXED.match(self._source, start - 1, start):
            return
        close = max(self._end, link.text)
        shown = self._shown(link.text, close, link.edits).strip()
        is_alone = not self._rows and not self._links
        is_tappable = is_alone and is_link(shown, link.target)
        more = [] if is_tappable or shown == link.target else [link.target]
        more += [f'"{link.title}"'] if link.title else []
        told = f" ({' '.join(more)})" if more and shown else " ".join(more)
        self._replace(start, link.text)
        self._replace(close, end, told)
        if is_tappable:
            self._mark(Kind.LINK, start, close, link.target)


def _tag(value: str | Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Part the name of what begins or ends from what is told of it."""
    if isinstance(value, str):
        return value, {}
    name, more = next(iter(value.items()))
    return name, more if isinstance(more, Mapping) else {}


def _info(info: str) -> tuple[str, str]:
    """Part the language of a block from what else its fence says, which is shown above it."""
    language, _, more = info.partition(" ")
    if not _LANGUAGE.fullmatch(language):
        return "", f"{info}\n" if info else ""
    return language, f"{more.strip()}\n" if more.strip() else ""
