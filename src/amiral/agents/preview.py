"""Pure: what a permission request would do, written so that a person can judge it (R54).

Nothing of it is hidden: all arguments are shown, every character that cannot be seen by its number,
and where something is too long it says how much of it is left out. A path is shown as it is seen
from the worker's folder, where it surely lies in there.
"""

import difflib
import itertools
import posixpath
from collections.abc import Iterator

import msgspec

from amiral.base.plain import visible

MOST = 8000
"""Characters shown of a request: three quarters from its beginning, the rest from its end."""

_PLACES = ("file_path", "notebook_path", "path", "cwd")
_WHOLE = ("content", "text", "new_source")
_EDITS = (("old_string", "new_string"), ("old", "new"))
_PARTS = ("edits", "changes")
_MOST_EDITS = 50
_MOST_LINES = 400
_HEADER_LINES = 3


def preview(arguments: str, folder: str) -> str:
    """Write the arguments of a tool (JSON): a command's lines, a change as a diff, all others.

    `folder` is the one the worker works in.
    """
    try:
        given = msgspec.json.decode(arguments, type=dict[str, object])
    except (ValueError, RecursionError):
        return visible(_cut(arguments))
    return visible(_cut("\n".join(_pieces(given, folder))))


def seen_from(folder: str, path: str) -> str:
    """Give a path as it is seen from a folder; one that may lead out of it stays as it is."""
    if path == folder:
        return "."
    is_inside = path.startswith(f"{folder}/") and posixpath.normpath(path) == path
    return path[len(folder) + 1 :] if folder and is_inside else path


def _pieces(left: dict[str, object], folder: str) -> Iterator[str]:
    """Take one argument after the other out of `left`, so that each is shown and shown once."""
    if "command" in left:
        yield _value(left.pop("command"))
    for name in _PLACES:
        if name in left:
            yield f"{name}: {_place(left.pop(name), folder)}"
    paths = left.get("paths")
    if isinstance(paths, list):
        del left["paths"]
        yield from (f"path: {_place(path, folder)}" for path in paths)
    yield from _changes(left)
    for name in _PARTS:
        yield from _parts(left, name, folder)
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
        if isinstance(text, str) and text:
            del left[name]
            yield _marked("+", text)
    diff = left.get("diff")
    if isinstance(diff, str) and diff:
        del left["diff"]
        yield diff.removesuffix("\n")


def _parts(left: dict[str, object], name: str, folder: str) -> Iterator[str]:
    """Write a change that is one of several."""
    parts = left.get(name)
    if isinstance(parts, list) and all(isinstance(part, dict) for part in parts):
        del left[name]
        for part in parts[:_MOST_EDITS]:
            yield from _pieces(part, folder)
        if len(parts) > _MOST_EDITS:
            yield f"… {len(parts) - _MOST_EDITS} {name} are left out here …"


def _value(value: object) -> str:
    return value if isinstance(value, str) and value else msgspec.json.encode(value).decode()


def _place(value: object, folder: str) -> str:
    """A path is one line, whatever is in its name."""
    if isinstance(value, str) and value and "\n" not in value:
        return seen_from(folder, value)
    return msgspec.json.encode(value).decode()


def _diff(old: str, new: str) -> str:
    """Write an edit with all its lines; a long one is not compared, that takes too long."""
    if old.endswith("\n") and new.endswith("\n"):
        old, new = old[:-1], new[:-1]
    before, after = old.split("\n"), new.split("\n")
    is_long = max(len(before), len(after)) > _MOST_LINES or max(len(old), len(new)) > MOST
    if is_long or old == new:
        return "\n".join([*(f"-{line}" for line in before), *(f"+{line}" for line in after)])
    lines = difflib.unified_diff(before, after, n=_MOST_LINES, lineterm="")
    return "\n".join(itertools.islice(lines, _HEADER_LINES, None))


def _marked(mark: str, text: str) -> str:
    """A line end at the end begins no line more."""
    return "\n".join(f"{mark}{line}" for line in text.removesuffix("\n").split("\n"))


def _cut(text: str) -> str:
    """Keep beginning and end, and say how much is missing between them."""
    if len(text) <= MOST:
        return text
    head, tail = MOST * 3 // 4, MOST // 4
    left_out = f"\n… {len(text) - head - tail} characters are left out here …\n"
    return text[:head] + left_out + text[-tail:]
