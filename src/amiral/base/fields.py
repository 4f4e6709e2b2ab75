"""Pure: the fields an object of a JSON file may have, checked all at once with their lines."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from amiral.base.located_json import Located, Path
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line


@dataclass(frozen=True)
class Field:
    """What one field must be: `wanted` completes the sentence `tools must be …`.

    `item` is what each element of a list must be.
    """

    is_good: Callable[[object], bool]
    wanted: str
    item: "Field | None" = None


def check_object(
    located: Located, path: Path, subject: str, fields: Mapping[str, Field], needed: Collection[str]
) -> Iterator[str]:
    """Give every mistake of the object at `path` as `file:line: subject: message`."""
    found = value_at(located, path)
    if not isinstance(found, dict):
        yield located.complaint(f"{subject} must be an object (got {shown(found)})", *path)
        return
    missing = [f'"{name}"' for name in fields if name in needed and name not in found]
    if missing:
        yield located.complaint(f"{subject} lacks {', '.join(missing)}", *path)
    for name, value in found.items():
        yield from _check_field(located, (*path, name), subject, fields, value)


def _check_field(
    located: Located, path: Path, subject: str, fields: Mapping[str, Field], value: object
) -> Iterator[str]:
    name = str(path[-1])
    if name not in fields:
        hint = did_you_mean(name, fields)
        yield located.complaint(f'{subject}: unknown field "{one_line(name)}"{hint}', *path)
        return
    field = fields[name]
    if not field.is_good(value):
        message = f"{subject}: {name} must be {field.wanted} (got {shown(value)})"
        yield located.complaint(message, *path)
    elif field.item and isinstance(value, list):
        for index, item in enumerate(value):
            if not field.item.is_good(item):
                message = f"{subject}: {name}[{index}] must be {field.item.wanted}"
                yield located.complaint(f"{message} (got {shown(item)})", *path, index)


def value_at(located: Located, path: Path) -> object:
    """Give the value at `path`, None when there is none."""
    value = located.value
    for step in path:
        match value:
            case dict():
                value = value.get(step)
            case list() if isinstance(step, int) and step < len(value):
                value = value[step]
            case _:
                return None
    return value


def shown(value: object) -> str:
    """Write a wrong value as its file had it, cut to one safe line."""
    return one_line(json.dumps(value, ensure_ascii=False, default=str), 40)
