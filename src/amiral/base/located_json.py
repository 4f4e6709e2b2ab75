"""Pure: JSON read with the line and column of every value, repeated keys refused (R56)."""

import bisect
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from amiral.base.errors import Invalid
from amiral.base.plain import one_line

Path = tuple[str | int, ...]

_DEEPEST = 60
_BLANK = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class Located:
    """Plain values (`dict`, `list`, `str`, `int`, `float`, `bool`, `None`) and where each began.

    `errors` names each repeated key as `file:line: message`; the last one's value is kept, and
    whoever reads on in spite of errors does so only to report more of them.
    """

    value: object
    file_name: str
    errors: tuple[str, ...]
    _offsets: Mapping[Path, int]
    _line_starts: tuple[int, ...]

    def position_of(self, *path: str | int) -> tuple[int, int]:
        """Line and column, from 1, of the value at `path`, or of the nearest one around it."""
        while path not in self._offsets:
            path = path[:-1]
        return _position(self._line_starts, self._offsets[path])

    def line_of(self, *path: str | int) -> int:
        """Line, from 1, of the value at `path`, or of the nearest one around it."""
        return self.position_of(*path)[0]

    def complaint(self, message: str, *path: str | int) -> str:
        """Write `file:line: message` for the value at `path`."""
        return f"{self.file_name}:{self.line_of(*path)}: {message}"


def parse_json(text: str, file_name: str) -> Located:
    """Read a whole document.

    Raises Invalid with `file:line: message` lines when it is no JSON or repeats a key.
    """
    located = scan_json(text, file_name)
    if located.errors:
        raise Invalid("\n".join(located.errors), f"repair {file_name}")
    return located


def scan_json(text: str, file_name: str) -> Located:
    """Read a whole document, repeated keys told in `errors`; raises Invalid when it is no JSON."""
    scan = _Scan(text.removeprefix("\ufeff"), file_name)
    value, end = scan.value(scan.skip(0), ())
    if scan.skip(end) != len(scan.text):
        raise scan.error(scan.skip(end), "nothing may follow the document")
    return Located(value, file_name, tuple(scan.repeated), scan.offsets, scan.line_starts)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


class _Scan:
    """One pass over a text; scalars are the standard decoder's, the brackets are ours."""

    def __init__(self, text: str, file_name: str) -> None:
        self.text = text
        self.file_name = file_name
        self.repeated: list[str] = []
        self.offsets: dict[Path, int] = {}
        self.line_starts = (0, *(found.end() for found in re.finditer("\n", text)))

    def error(self, at: int, message: str) -> Invalid:
        line, column = _position(self.line_starts, at)
        return Invalid(
            f"{self.file_name}:{line}: not JSON: {message} (column {column})",
            f"repair {self.file_name}",
        )

    def skip(self, at: int) -> int:
        blank = _BLANK.match(self.text, at)
        return blank.end() if blank else at

    def value(self, at: int, path: Path) -> tuple[object, int]:
        if len(path) > _DEEPEST:
            raise self.error(at, "nested too deeply")
        self.offsets[path] = at
        match self.text[at : at + 1]:
            case "{":
                return self._object(at, path)
            case "[":
                return self._array(at, path)
            case _:
                return self._scalar(at)

    def _scalar(self, at: int) -> tuple[object, int]:
        try:
            value, end = _DECODER.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            raise self.error(error.pos, _reason(self.text, error)) from None
        except ValueError as error:
            raise self.error(at, one_line(str(error))) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(at, "a number too large")
        return _SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value, end

    def _array(self, at: int, path: Path) -> tuple[list[object], int]:
        values: list[object] = []
        at = self.skip(at + 1)
        while self.text[at : at + 1] != "]":
            value, at = self.value(at, (*path, len(values)))
            values.append(value)
            at = self._next(at, "]")
        return values, at + 1

    def _object(self, at: int, path: Path) -> tuple[dict[str, object], int]:
        values: dict[str, object] = {}
        at = self.skip(at + 1)
        while self.text[at : at + 1] != "}":
            key, colon = self._key(at)
            if key in values:
                self._note_repeat(at, key, (*path, key))
            values[key], at = self.value(self.skip(colon + 1), (*path, key))
            at = self._next(at, "}")
        return values, at + 1

    def _key(self, at: int) -> tuple[str, int]:
        if self.text[at : at + 1] != '"':
            raise self.error(at, "a key in double quotes is expected")
        key, end = self._scalar(at)
        colon = self.skip(end)
        if self.text[colon : colon + 1] != ":":
            raise self.error(colon, "a colon is expected")
        return str(key), colon

    def _next(self, at: int, closing: str) -> int:
        at = self.skip(at)
        found = self.text[at : at + 1]
        if found == closing:
            return at
        if found != ",":
            raise self.error(at, f"a comma or {closing} is expected")
        after = self.skip(at + 1)
        if self.text[after : after + 1] == closing:
            raise self.error(at, f"no comma may stand before {closing}")
        return after

    def _note_repeat(self, at: int, key: str, path: Path) -> None:
        first = _position(self.line_starts, self.offsets[path])[0]
        line = _position(self.line_starts, at)[0]
        message = f'key "{one_line(key)}" stands twice (first at line {first})'
        self.repeated.append(f"{self.file_name}:{line}: {message}")


def _reason(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text):
        return "the document ends too early"
    return "a value is expected" if error.msg == "Expecting value" else one_line(error.msg)


def _position(line_starts: tuple[int, ...], offset: int) -> tuple[int, int]:
    line = bisect.bisect_right(line_starts, offset)
    return line, offset - line_starts[line - 1] + 1
