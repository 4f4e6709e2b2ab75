"""Pure: what a permission request would do, written so that a person can judge it (R54).

Nothing of it is hidden: all arguments are shown, every character that cannot be seen by its number,
and where something is too long it says how much of it is left out.
"""

import difflib
import itertools
from collections.abc import Iterator

import msgspec

from amiral.base.plain import visible

MOST = 8000
"""Characters shown of a request: three quarters from its beginning, the rest from its end."""

_PLACES = ("file_path", "notebook_path", "path", "paths", "cwd")
_WHOLE = ("content", "text", "new_source")
_EDITS = (("old_string", "new_string"), ("old", "new"))
_MOST_EDITS = 50
_MOST_LINES = 400
_HEADER_LINES = 3


def preview(arguments: str) -> str:
    """Write the arguments of a tool (JSON): a command's lines, a change as a diff, all others."""
    try:
        given = msgspec.json.decode(arguments, type=dict[str, object])
    except (ValueError, RecursionError):
        return visible(_cut(arguments))
    return visible(_cut("\n".join(_pieces(given))))


def _pieces(left: dict[str, object]) -> Iterator[str]:
    """Take one argument after the other out of `left`, so that each is shown and shown once."""
    if "command" in left:
        yield _value(left.pop("command"))
    for name in _PLACES:
        if name in left:
            yield f"{name}: {_value(left.pop(name))}"
    yield from _changes(left)
    for name, value in left.items():
        yield f"{name}: {_value(value)}"


def _changes(left: dict[str, object]) -> Iterator[str]:
    for old, new in _EDITS:
        before, after = left.get(old), left.get(new)
        if isinstance(before, str) and isinstance(after, str):
            del left[old], left[new]
            yield _diff(before, after)
    for name in _WHOLE:
        text = left.get(name)
        if isinstance(text, str):
            del left[name]
            yield _marked("+", text)
    edits = left.get("edits")
    if isinstance(edits, list) and all(isinstance(edit, dict) for edit in edits):
        del left["edits"]
        for edit in edits[:_MOST_EDITS]:
            yield from _pieces(edit)
        if len(edits) > _MOST_EDITS:
            yield f"… {len(edits) - _MOST_EDITS} edits are left out here …"


def _value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _diff(old: str, new: str) -> str:
    """Write an edit with all its lines; a long one is not compared, that takes too long."""
    before, after = old.split("\n"), new.split("\n")
    is_long = max(len(before), len(after)) > _MOST_LINES or max(len(old), len(new)) > MOST
    if is_long or old == new:
        return f"{_marked('-', old)}\n{_marked('+', new)}"
    lines = difflib.unified_diff(before, after, n=_MOST_LINES, lineterm="")
    return "\n".join(itertools.islice(lines, _HEADER_LINES, None))


def _marked(mark: str, text: str) -> str:
    return "\n".join(f"{mark}{line}" for line in text.split("\n"))


def _cut(text: str) -> str:
    """Keep beginning and end, and say how much is missing between them."""
    if len(text) <= MOST:
        return text
    head, tail = MOST * 3 // 4, MOST // 4
    left_out = f"\n… {len(text) - head - tail} characters are left out here …\n"
    return text[:head] + left_out + text[-tail:]
