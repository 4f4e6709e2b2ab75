"""Pure: text of others made safe to show: no control characters, direction marks visible (R54)."""

import re

_SEQUENCE = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, to its end or as far as it goes
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    r"|\x1b[ -/]*[0-~]?"  # any other escape
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNPRINTED = re.compile(r"[\x7f-\x9f]")
_INVISIBLE = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """Keep what can be read: line ends and tabs stay, escapes and C0/C1 go, bidi controls show.

    A direction control becomes `<U+202E>`, so that what is approved reads as it runs.
    """
    if text.isprintable():
        return text
    bare = _CONTROL.sub("", _SEQUENCE.sub("", text.replace("\r\n", "\n")))
    return _INVISIBLE.sub(lambda found: _number(found[0]), bare)


def visible(text: str) -> str:
    """Show by its number every character that cannot be seen, and drop none of them.

    For what a person judges: a text that `plain` shortens may do more than it shows.
    """
    if text.isprintable():
        return text
    lines = text.replace("\r\n", "\n")
    return "".join(one if one.isprintable() or one in "\n\t" else _number(one) for one in lines)


def _number(character: str) -> str:
    return f"<U+{ord(character):04X}>"


def plain_json(document: str) -> str:
    """Escape in JSON what could move a terminal or turn its text; the values stay the same."""
    if document.isprintable():
        return document
    escaped = re.compile(f"{_UNPRINTED.pattern}|{_INVISIBLE.pattern}")
    return escaped.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def one_line(text: str, longest: int = 60) -> str:
    """Fit any text into one safe line of at most `longest` characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
