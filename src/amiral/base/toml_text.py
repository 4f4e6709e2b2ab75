"""Pure: put tables together and write them as TOML; the standard library only reads it."""

import json
from collections.abc import Mapping


def merge(under: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Lay one table over another, and the tables in them likewise."""
    merged = {**under, **over}
    for key, value in over.items():
        covered = under.get(key)
        if isinstance(value, Mapping) and isinstance(covered, Mapping):
            merged[key] = merge(covered, value)
    return merged


def toml_text(table: Mapping[str, object]) -> str:
    """Write a document, one line for each key; tables below the first are written inline.

    Takes what `tomllib` gives: texts, numbers, booleans, instants, lists and tables.
    """
    return "".join(f"{_text(key)} = {_value(value)}\n" for key, value in table.items())


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case Mapping():
            pairs = ", ".join(f"{_text(key)} = {_value(inner)}" for key, inner in value.items())
            return f"{{{pairs}}}"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return str(value)


def _text(text: str) -> str:
    """JSON escapes all that TOML wants escaped, save DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
