"""Pure: read a line as a JSON object and take its fields without ever failing (P12, R03, R08)."""

import json
import re
from collections.abc import Mapping

import msgspec

_DECODER = msgspec.json.Decoder()
_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z^_])")
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)"
)
_LONE_LENGTH = len(r"\ud83d")
_LONGEST_SUMMARY = 200
_LONGEST_NOISE = 2000
_MOST = 2**53
_TELLING = (
    *("command", "file_path", "notebook_path", "path", "pattern", "url", "query"),
    *("description", "skill", "prompt"),
)
_BAD_TEXT = re.compile("[\ud800-\udfff]")


class Fields(msgspec.Struct, frozen=True):
    """A JSON object from outside. A field that is missing or of another type is empty."""

    values: Mapping[str, object]

    def __bool__(self) -> bool:
        return bool(self.values)

    def text(self, name: str) -> str:
        """Give a text, "" when it is none."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> float:
        """Give a number, 0 when it is none."""
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return 0
        return value if abs(value) < float("inf") else 0

    def whole(self, name: str) -> int:
        """Give a number cut to a whole one of at most 53 bits, 0 when it is none."""
        return int(max(-_MOST, min(self.number(name), _MOST)))

    def value(self, name: str) -> object:
        """Give whatever stands there, None when nothing does."""
        return self.values.get(name)

    def inner(self, name: str) -> "Fields":
        """Give the object in a field, an empty one when there is none."""
        value = self.values.get(name)
        return Fields(value if isinstance(value, dict) else {})

    def inners(self) -> list["Fields"]:
        """Give every field that is an object."""
        return [Fields(value) for value in self.values.values() if isinstance(value, dict)]

    def items(self, name: str) -> list["Fields"]:
        """Give the objects of a list."""
        value = self.values.get(name)
        items = value if isinstance(value, list) else []
        return [Fields(item) for item in items if isinstance(item, dict)]

    def texts(self, name: str) -> tuple[str, ...]:
        """Give the texts of a list."""
        value = self.values.get(name)
        items = value if isinstance(value, list) else []
        return tuple(item for item in items if isinstance(item, str))

    def as_json(self) -> str:
        """Write the object as JSON text on one line."""
        return msgspec.json.encode(self.values).decode()


def read_fields(line: bytes) -> Fields | None:
    """Read a line as a JSON object, None when it is none.

    Colours around it are taken off; bytes and escapes that are no text become U+FFFD.
    """
    try:
        value = _DECODER.decode(line)
    except (ValueError, RecursionError):
        value = _read_leniently(line)
    return Fields(value) if isinstance(value, dict) else None


def json_line(value: Mapping[str, object]) -> str:
    """Write a line of JSON, newline included."""
    return msgspec.json.encode(value).decode() + "\n"


def summary(arguments: Fields) -> str:
    """Sum up a tool's arguments in one line: the one that tells most, else all as JSON."""
    told = next((arguments.text(name) for name in _TELLING if arguments.text(name)), "")
    return in_one_line(told or arguments.as_json())


def in_one_line(text: str) -> str:
    """Fit a text into the one line of a summary."""
    words = " ".join(text[: _LONGEST_SUMMARY * 2].split())
    return words if len(words) <= _LONGEST_SUMMARY else words[: _LONGEST_SUMMARY - 1] + "…"


def plain_text(line: bytes) -> str:
    """Give the beginning of a line as text for people: without colours."""
    text = _ANSI.sub(b"", line[: _LONGEST_NOISE * 4]).decode("utf-8", "replace").strip()
    return text[:_LONGEST_NOISE]


def clean_text(text: str) -> str:
    """Replace what cannot be encoded (halves of surrogate pairs) by U+FFFD (R03)."""
    return _BAD_TEXT.sub("\ufffd", text)


def _read_leniently(line: bytes) -> object:
    bare = _ANSI.sub(b"", line).strip(b"\x00\t\v\f \xef\xbb\xbf")
    if not bare.startswith(b"{"):
        return None
    text = _ESCAPES.sub(_whole_escape, bare.decode("utf-8", "replace"))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _whole_escape(match: re.Match[str]) -> str:
    escape = match[0]
    is_lone_half = len(escape) == _LONE_LENGTH and escape[1] == "u"
    return r"\ufffd" if is_lone_half else escape
