"""Pure: the arguments of a command given by name, as JSON has them: for HTTP and MCP alike."""

import math
from collections.abc import Mapping

from amiral.base.errors import Invalid
from amiral.base.fields import shown
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line
from amiral.commands.parameter import Kind, Parameter, Value
from amiral.commands.registry import Command, Parsed

_LARGEST = 10**18


def parse_named(row: Command, given: Mapping[str, object]) -> Parsed:
    """Read arguments by the names of the table's parameters; null stands for one left out.

    Raises Invalid naming the argument, with the nearest name for one that is not known.
    """
    known = {parameter.name: parameter for parameter in row.parameters}
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known)
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise Invalid(f"`{row.name}` has no argument {one_line(name, 40)!r}{hint}", takes)
    filled = {name: value for name, value in given.items() if value is not None}
    missing = [name for name, parameter in known.items() if parameter.needed and name not in filled]
    if missing:
        raise Invalid(f"`{row.name}` needs {', '.join(missing)}")
    return Parsed(row.name, {name: _read(known[name], value) for name, value in filled.items()})


def _read(parameter: Parameter, value: object) -> Value:
    match parameter, value:
        case Parameter(many=True), [*items] if items:
            return tuple(_text(parameter, item) for item in items)
        case Parameter(many=True), _:
            raise _wrong(parameter, value, "a list of texts")
        case Parameter(kind=Kind.SWITCH), bool():
            return value
        case Parameter(kind=Kind.SWITCH), _:
            raise _wrong(parameter, value, "true or false")
        case Parameter(kind=Kind.NUMBER), _:
            return _whole(parameter, value)
        case Parameter(kind=Kind.SECONDS), _:
            return _seconds(parameter, value)
        case _:
            return _text(parameter, value)


def _whole(parameter: Parameter, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _LARGEST:
        raise _wrong(parameter, value, "a whole number")
    return value


def _seconds(parameter: Parameter, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise _wrong(parameter, value, "seconds, 0 or more")
    return float(value)


def _text(parameter: Parameter, value: object) -> str:
    if parameter.choices and value not in parameter.choices:
        raise _wrong(parameter, value, " or ".join(parameter.choices))
    if not isinstance(value, str):
        raise _wrong(parameter, value, "a text")
    return value


def _wrong(parameter: Parameter, value: object, wanted: str) -> Invalid:
    return Invalid(f"{parameter.name} must be {wanted} (got {shown(value)})")
