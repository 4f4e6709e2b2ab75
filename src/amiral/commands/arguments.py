"""Pure: the argument list of the terminal, read by the command table's own declarations."""

import math
import re
from collections.abc import Mapping, Sequence

from amiral.base.errors import Invalid
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line
from amiral.commands.parameter import Kind, Parameter, Value, option, switch
from amiral.commands.registry import Command, Parsed, Table

_GLOBAL = (switch("--json"), switch("--help"), option("--project", "NAME"))
_SHORT = {"-h": "--help", "-p": "--project"}
_OPEN_ENDED = "--"
_LONGEST_NAME = 2
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def parse_argv(argv: Sequence[str], table: Table) -> Parsed:
    """Read what was typed after `amiral`.

    `--json`, `-p/--project NAME` and `-h/--help` may stand anywhere before `--`, which ends the
    options. Raises Invalid with the nearest known name or the command's usage.
    """
    if (group := _group_asked(argv, table)) is not None:
        return Parsed(group, wants_help=True, as_json=wants_json(argv))
    first = _command_places(argv)
    row, places = _find_command([argv[place] for place in first], first, table)
    rest = [token for place, token in enumerate(argv) if place not in places]
    words, options = _part(rest, row)
    known = {name: value for name, value in options.items() if name in _GLOBAL_NAMES}
    if "help" in known:
        return Parsed(row.name, wants_help=True, as_json="json" in known)
    arguments = {name: value for name, value in options.items() if name not in _GLOBAL_NAMES}
    arguments |= _take_words(words, row, table)
    project = str(known.get("project", ""))
    return Parsed(row.name, arguments, project, "json" in known)


def wants_json(argv: Sequence[str]) -> bool:
    """Tell whether `--json` is asked for, whatever else is wrong with what was typed."""
    return "--json" in argv[: argv.index(_OPEN_ENDED) if _OPEN_ENDED in argv else None]


def usage(row: Command) -> str:
    """Write the usage line of a command: `amiral gate ID approve|reject [--note TEXT]`."""
    return " ".join(("amiral", row.name, *(parameter.usage() for parameter in row.parameters)))


_GLOBAL_NAMES = frozenset(parameter.name for parameter in _GLOBAL)


def _command_places(argv: Sequence[str]) -> list[int]:
    """Find the first two words; only options known everywhere may stand before or between them."""
    places: list[int] = []
    place = 0
    while place < len(argv) and len(places) < _LONGEST_NAME:
        token = argv[place]
        if not _is_option(token):
            places.append(place)
        elif _SHORT.get(token, token) == "--project":
            place += 1
        elif token == _OPEN_ENDED or _spelling(token) not in {p.spelling for p in _GLOBAL}:
            break
        place += 1
    return places


def _group_asked(argv: Sequence[str], table: Table) -> str | None:
    """Give the first word of several commands when help is asked for it alone."""
    words = [argv[place] for place in _command_places(argv)]
    before = argv[: argv.index(_OPEN_ENDED) if _OPEN_ENDED in argv else None]
    is_alone = len(words) == 1 and {"-h", "--help"}.intersection(before)
    is_group = is_alone and words[0] not in table.by_name() and table.of_word(words[0])
    return words[0] if is_group else None


def _find_command(
    words: Sequence[str], places: Sequence[int], table: Table
) -> tuple[Command, Sequence[int]]:
    if not words:
        raise Invalid("no command given", "`amiral --help` lists them")
    names = table.by_name()
    for length in (2, 1):
        row = names.get(" ".join(words[:length]))
        if row is not None:
            return row, places[:length]
    first = one_line(words[0], 40)
    seconds = [name.partition(" ")[2] for name in names if name.startswith(f"{words[0]} ")]
    if not seconds:
        hint = did_you_mean(words[0], names)
        raise Invalid(f"no command `{first}`{hint}", "`amiral --help` lists them")
    hint = did_you_mean(words[1], seconds) if len(words) > 1 else ""
    message = f"`{first}` needs one of: {', '.join(seconds)}{hint}"
    raise Invalid(message, "`amiral --help` lists all commands")


def _part(tokens: Sequence[str], row: Command) -> tuple[list[str], dict[str, Value]]:
    """Part words from options; options carry their values."""
    options = [*_GLOBAL, *(parameter for parameter in row.parameters if parameter.is_option)]
    known = {parameter.spelling: parameter for parameter in options}
    words: list[str] = []
    found: dict[str, Value] = {}
    left = list(tokens)
    while left:
        token = left.pop(0)
        if token == _OPEN_ENDED:
            return words + left, found
        if not _is_option(token):
            words.append(token)
            continue
        parameter = known.get(_spelling(token))
        if parameter is None:
            hint = did_you_mean(token, known)
            text = "put `--` before a text that begins with a dash"
            raise Invalid(f"`{row.name}` has no option {one_line(token)}{hint}", text)
        _note(found, parameter, _option_value(token, parameter, left))
    return words, found


def _is_option(token: str) -> bool:
    return len(token) > 1 and token.startswith("-")


def _spelling(token: str) -> str:
    name = token.partition("=")[0]
    return _SHORT.get(name, name)


def _option_value(token: str, parameter: Parameter, left: list[str]) -> Value:
    _, equals, value = token.partition("=")
    if parameter.kind is Kind.SWITCH:
        if equals:
            raise Invalid(f"{parameter.spelling} takes no value")
        return True
    if not equals:
        if not left:
            raise Invalid(f"{parameter.spelling} needs a value: {parameter.shown}")
        value = left.pop(0)
    return _converted(value, parameter)


def _note(found: dict[str, Value], parameter: Parameter, value: Value) -> None:
    earlier = found.get(parameter.name)
    if parameter.many:
        before = earlier if isinstance(earlier, tuple) else ()
        found[parameter.name] = (*before, str(value))
    elif earlier is not None and earlier != value:
        raise Invalid(f"{parameter.spelling} is given twice")
    else:
        found[parameter.name] = value


def _take_words(words: Sequence[str], row: Command, table: Table) -> Mapping[str, Value]:
    found: dict[str, Value] = {}
    left = list(words)
    for parameter in row.parameters:
        if parameter.is_option:
            continue
        if not left:
            if parameter.needed:
                raise Invalid(f"`{row.name}` needs {parameter.usage()}", usage(row))
        elif parameter.many:
            found[parameter.name], left = tuple(left), []
        elif parameter.kind is Kind.WORDS:
            found[parameter.name], left = " ".join(left), []
        else:
            found[parameter.name] = _converted(left.pop(0), parameter)
    if left:
        names = [name for name in table.by_name() if name.startswith(f"{row.name} ")]
        hint = did_you_mean(f"{row.name} {left[0]}", names)
        raise Invalid(f"`{row.name}` takes no further {one_line(left[0], 40)!r}{hint}", usage(row))
    return found


def _converted(value: str, parameter: Parameter) -> Value:
    if parameter.choices and value not in parameter.choices:
        wanted = " or ".join(parameter.choices)
        raise Invalid(f"{parameter.spelling} must be {wanted} (got {one_line(value, 40)!r})")
    match parameter.kind:
        case Kind.NUMBER:
            if not _WHOLE.fullmatch(value):
                raise Invalid(f"{parameter.spelling} must be a whole number (got {value[:40]!r})")
            return int(value)
        case Kind.SECONDS:
            return _seconds(value, parameter)
        case _:
            return value


def _seconds(value: str, parameter: Parameter) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < math.inf:
        raise Invalid(f"{parameter.spelling} must be seconds, 0 or more (got {value[:40]!r})")
    return seconds
