"""Pure: one project's table in amiral.toml, put in and taken out; all else stays byte for byte."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from amiral.base.located_toml import parse_toml, statements_of
from amiral.base.toml_text import toml_text

_SECTION = "projects"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Cut:
    """A text without a table: `taken` is what was cut out; nothing unless `is_whole`."""

    text: str
    taken: str
    is_whole: bool


def has_table(text: str, name: str, file_name: str) -> bool:
    """Tell whether a settings file says anything of a project; Invalid when it is no TOML."""
    found = parse_toml(text, file_name).get(_SECTION)
    return isinstance(found, dict) and name in found


def table_block(text: str, name: str, values: Mapping[str, object]) -> str:
    """Write what has to follow `text` for it to hold the table; taking it away again restores."""
    space = "\n" if text else ""
    ends = "" if not text or text.endswith("\n") else "\n"
    lines = [f"{key} = {_value(value)}\n" for key, value in values.items()]
    return f"{ends}{space}[{_SECTION}.{_key(name)}]\n{''.join(lines)}"


def without_table(text: str, name: str, file_name: str) -> Cut:
    """Cut out every statement about a project, with the comments inside its tables.

    Comments after the last key stay: they stand above what follows. A text from which it cannot be
    cut alone stays as it is. Invalid for what is no TOML.
    """
    lines = text.split("\n")
    gone: list[int] = []
    held: list[int] = []
    for statement in statements_of(text):
        numbers = range(statement.begins - 1, statement.ends)
        is_ours = statement.keys[:2] == (_SECTION, name)
        if is_ours and statement.sets:
            gone += [*(_space_above(lines, statement.begins) if not gone else ()), *held, *numbers]
        held = [*held, *numbers] if is_ours and not statement.sets else []
    taken = "\n".join(lines[number] for number in gone)
    kept = "\n".join(line for number, line in enumerate(lines) if number not in set(gone))
    is_whole = _others(kept, name, file_name) == _others(text, name, file_name)
    if not is_whole or has_table(kept, name, file_name):
        return Cut(text, "", is_whole=False)
    return Cut(kept, taken, is_whole=True)


def _others(text: str, name: str, file_name: str) -> Mapping[str, object]:
    """Read all but what is said of a project: a line that says more than that cannot be cut."""
    found = parse_toml(text, file_name)
    section = found.pop(_SECTION, {})
    others = (
        {key: value for key, value in section.items() if key != name}
        if isinstance(section, dict)
        else section
    )
    return {**found, **({_SECTION: others} if others else {})}


def _space_above(lines: list[str], begins: int) -> list[int]:
    above = begins - 2
    return [above] if above >= 0 and not lines[above].strip() else []


def _key(name: str) -> str:
    if _BARE.fullmatch(name):
        return name
    return toml_text({name: 0}).rpartition(" = ")[0]


def _value(value: object) -> str:
    return toml_text({"x": value}).partition(" = ")[2].rstrip("\n")
