"""Pure: the globs of permission rules, and which paths below a root they match.

A glob is segments parted by `/`: literal, with `*` and `?` inside one segment, or `**` for any
number of segments, none included. A leading dot is like any other character. A path is a tuple of
names below the root, `()` is the root itself.

An allow matches exactly. A deny also matches what a system may take for the same name (NFC and
case folding) and everything below what it matches.
"""

import fnmatch
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

ANY_DEPTH = "**"
UNSUPPORTED = "[]{}!\\\0"

# How many segments of a glob may be behind a path: the states of a small automaton.
Spots = frozenset[int]


class BadGlob(ValueError):
    """A glob that cannot be read; the message is the reason."""


@dataclass(frozen=True)
class Glob:
    """A glob that was read: no empty segment, and never two `**` in a row."""

    segments: tuple[str, ...]

    def __str__(self) -> str:
        return "/".join(self.segments)


def parse_glob(text: str) -> Glob:
    """Read a glob; one `/` at either end means nothing. BadGlob says what is wrong."""
    segments: list[str] = []
    for segment in text.removeprefix("/").removesuffix("/").split("/"):
        _check(segment)
        if segment != ANY_DEPTH or segments[-1:] != [ANY_DEPTH]:
            segments.append(segment)
    return Glob(tuple(segments))


def _check(segment: str) -> None:
    if segment == "":
        raise BadGlob("it has an empty segment")
    if segment in (".", ".."):
        raise BadGlob(f"{segment} is no name below the project")
    if ANY_DEPTH in segment and segment != ANY_DEPTH:
        raise BadGlob(f"** stands alone between slashes, not as in {segment}")
    for character in UNSUPPORTED:
        if character in segment:
            raise BadGlob(f"{character!r} is not supported, only *, ? and **")


def matches(glob: Glob, path: tuple[str, ...]) -> bool:
    """Tell whether an allow means exactly this path."""
    return is_matched(glob, _walked(glob, path))


def covers(glob: Glob, path: tuple[str, ...]) -> bool:
    """Tell whether a deny means this path or a folder it lies in."""
    return is_matched(glob, _walked_by_deny(glob, path))


def may_match_below(glob: Glob, path: tuple[str, ...]) -> bool:
    """Tell whether a deny could mean this path, or something below it."""
    return bool(_walked_by_deny(glob, path))


@lru_cache(4096)
def folded(name: str) -> str:
    """Spell a name as a system might that takes other spellings for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def begin(glob: Glob) -> Spots:
    """Stand at the root; `step` and `deny_step` walk down from there, a name at a time."""
    return _settled(glob, {0})


def step(glob: Glob, spots: Spots, name: str) -> Spots:
    """Go down into `name` with an allow."""
    return _moved(glob, spots, name, _is_name)


def deny_step(glob: Glob, spots: Spots, name: str) -> Spots:
    """Go down into `name` with a deny: what is matched stays so; empty: nothing below can be."""
    if is_matched(glob, spots):
        return frozenset({len(glob.segments)})
    return _moved(glob, spots, name, _may_be_name)


def is_matched(glob: Glob, spots: Spots) -> bool:
    """Tell whether the path walked to here is meant."""
    return len(glob.segments) in spots


def is_open_below(glob: Glob, spots: Spots) -> bool:
    """Tell whether everything below the path walked to here is meant."""
    return glob.segments[-1] == ANY_DEPTH and len(glob.segments) - 1 in spots


def _walked(glob: Glob, path: tuple[str, ...]) -> Spots:
    spots = begin(glob)
    for name in path:
        spots = step(glob, spots, name)
    return spots


def _walked_by_deny(glob: Glob, path: tuple[str, ...]) -> Spots:
    spots = begin(glob)
    for name in path:
        spots = deny_step(glob, spots, name)
    return spots


def _moved(glob: Glob, spots: Spots, name: str, is_same: Callable[[str, str], bool]) -> Spots:
    segments, moved = glob.segments, set[int]()
    for at in spots:
        if at == len(segments):
            continue
        if segments[at] == ANY_DEPTH:
            moved.add(at)
        elif is_same(segments[at], name):
            moved.add(at + 1)
    return _settled(glob, moved)


def _settled(glob: Glob, spots: set[int]) -> Spots:
    """Add the spots behind a `**` that means nothing; no two of them follow each other."""
    segments = glob.segments
    passed = {at + 1 for at in spots if at < len(segments) and segments[at] == ANY_DEPTH}
    return frozenset(spots | passed)


def _is_name(segment: str, name: str) -> bool:
    return segment == name or _pattern(segment).match(name) is not None


def _may_be_name(segment: str, name: str) -> bool:
    # Both spellings: folding may change how many characters a `?` has to mean.
    return _is_name(segment, name) or _is_name(folded(segment), folded(name))


@lru_cache(4096)
def _pattern(segment: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(segment))
