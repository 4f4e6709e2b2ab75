"""Pure: the line of each key of a TOML document, for errors that name `file:line`."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from amiral.base.errors import Invalid
from amiral.base.plain import one_line

Keys = tuple[str, ...]

_LONGEST_STATEMENT = 200


@dataclass(frozen=True)
class Statement:
    """One statement: the whole path it sets (of a comment: its table), its lines from 1."""

    keys: Keys
    begins: int
    ends: int
    sets: bool


def parse_toml(text: str, file_name: str) -> dict[str, object]:
    """Read a whole document; raises Invalid with `file:line: message` when it is no TOML."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        place, reason = _place(text, str(error))
        raise Invalid(f"{file_name}:{place}: {reason}", f"repair {file_name}") from None
    except (RecursionError, ValueError):
        message = f"{file_name}:1: a value is nested too deeply or too long"
        raise Invalid(message, f"repair {file_name}") from None


def statements_of(text: str) -> Iterator[Statement]:
    """Give every statement of a document that `parse_toml` reads, comments and blanks too.

    A statement ends where it can be read alone, so that brackets and quotes need no rules here;
    after one of more than 200 lines the search ends.
    """
    table: Keys = ()
    statement, began = "", 1
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        statement += line + "\n"
        found = _read_alone(statement)
        if found is None and number - began < _LONGEST_STATEMENT:
            continue
        if found is None:
            break
        is_header = statement.lstrip().startswith("[")
        table = found if is_header else table
        yield Statement(found if is_header else (*table, *found), began, number, bool(found))
        statement, began = "", number + 1


def lines_of_keys(text: str) -> Mapping[Keys, int]:
    """Give the first line, from 1, of every key and table of a document that `parse_toml` reads."""
    lines: dict[Keys, int] = {}
    for statement in statements_of(text):
        for depth in range(1, len(statement.keys) + 1):
            lines.setdefault(statement.keys[:depth], statement.begins)
    return lines


def line_of(lines: Mapping[Keys, int], *path: str) -> int:
    """Give the line of a key, or of the nearest table around it; 1 when none is known."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _read_alone(statement: str) -> Keys | None:
    """Give the key path of one whole statement, () for a comment, None when unfinished."""
    try:
        value: object = tomllib.loads(statement)
    except ValueError:
        return None
    keys: Keys = ()
    while isinstance(value, dict) and value:
        key, value = next(iter(value.items()))
        keys = (*keys, key)
    return keys


def _place(text: str, reason: str) -> tuple[int, str]:
    """Part the standard library's message into its line and its reason."""
    message, _, where = reason.rpartition(" (at ")
    words = where.rstrip(")").replace(",", "").split()
    if words[:1] == ["line"]:
        return int(words[1]), one_line(message)
    return text.count("\n") + 1, one_line(message or reason)
