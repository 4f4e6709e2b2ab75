"""Pure: which commands only read, and what; Codex has no other way to read a file.

Only what the shell surely does as it is written: words into which nothing is put, joined by pipes
or `&&`, of a few programs that can be told nothing else.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

READERS = frozenset(
    {"basename", "cat", "cmp", "cut", "diff", "dirname", "egrep", "fgrep", "grep", "head", "ls"}
    | {"nl", "pwd", "readlink", "realpath", "rg", "sed", "stat", "tail", "tr", "wc"}
)
_SEARCHERS = frozenset({"egrep", "fgrep", "grep", "rg"})
_JOINTS = ("|", "&&")
_WORD = r"""(?:'[^'\n]*'|"[^"$`\\!\n]*"|[\w./,:@%+=-])+"""
_PIECE = re.compile(rf"{_WORD}|\||&&", re.ASCII)
_LINE = re.compile(rf"{_WORD}(?: +(?:(?:\||&&) +)?{_WORD})*", re.ASCII)
_OPTION = re.compile(r"--?[A-Za-z0-9][A-Za-z0-9-]*(=\d+)?")
_RISKY = re.compile(r"--(?:pre|hostname|search-zip)|-[A-Za-z0-9]*(?:z|f.)")
_RECURSIVE = re.compile(r"--(?:dereference-)?recursive|-[A-Za-z0-9]*[rR]")
_LINES_OF_SED = re.compile(r"\d+(,(\d+|\$))?p")
_PATTERN_AND_PLACE = 2


@dataclass(frozen=True)
class Reading:
    """What is read: absolute paths; `is_deep` when also what lies below them."""

    paths: tuple[str, ...]
    is_deep: bool


def reading(command: str, cwd: str) -> Reading | None:
    """Tell what a command reads that is run in `cwd`; None when it may do anything else."""
    if not _LINE.fullmatch(command):
        return None
    paths: list[str] = []
    is_deep = False
    for words in _commands(command):
        found = _named_by(words)
        if found is None:
            return None
        is_search = _is_deep_search(words)
        is_here = len(found) < _PATTERN_AND_PLACE if is_search else words[0] in ("ls", "pwd")
        paths += (posixpath.join(cwd, path) for path in found)
        paths += [cwd] if is_here and (is_search or not found) else []
        is_deep = is_deep or is_search
    return Reading(tuple(dict.fromkeys(map(posixpath.normpath, paths))), is_deep)


def _commands(line: str) -> Iterator[list[str]]:
    words: list[str] = []
    for piece in _PIECE.findall(line):
        if piece in _JOINTS:
            yield words
            words = []
        else:
            words += shlex.split(piece)
    yield words


def _named_by(words: list[str]) -> list[str] | None:
    """Whatever is no option may be a path, be it a pattern or a number."""
    program, rest = words[0], words[1:]
    options = [word for word in rest if word.startswith("-") and word != "-"]
    named = [word for word in rest if word not in options]
    if program == "sed":
        lines, named = named[:1], named[1:]
        is_risky = options != ["-n"] or not _LINES_OF_SED.fullmatch("".join(lines))
    else:
        is_risky = program in _SEARCHERS and any(map(_RISKY.match, options))
    is_known = program in READERS and all(map(_OPTION.fullmatch, options))
    return named if is_known and not is_risky else None


def _is_deep_search(words: list[str]) -> bool:
    is_recursive = any(map(_RECURSIVE.match, words[1:]))
    return words[0] == "rg" or (words[0] in _SEARCHERS and is_recursive)
