"""Pure: a chat message to what it asks for; what is unknown reaches no worker (S0.37, S07)."""

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from amiral.base.nearest import nearest
from amiral.base.plain import one_line
from amiral.commands.arguments import parse_argv
from amiral.commands.registry import Parsed, Table

STOP = "emergency-stop"
HELP = "help"
SEATS: Mapping[str, str] = {"c": "consultant", "d": "developer"}
NAMED = "w"

_DASHES = re.compile("[-_\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d]+")
_LONG_DASH = re.compile("(?:[\u2012-\u2015]|[-\u2010\u2011\u2212]{2})(?=[a-zA-Z])")
_EDGE = re.compile("[\\s\u200b-\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069]+")
_BOT = re.compile(r"[A-Za-z0-9_]{1,64}")
_BARE_STOP = re.compile(r"stop[.!]*", re.IGNORECASE)


class Route(StrEnum):
    """What a message is; only MESSAGE starts work of a worker."""

    COMMAND = "command"
    MESSAGE = "message"
    STOP = "stop"
    ERROR = "error"
    IGNORED = "ignored"


@dataclass(frozen=True)
class Routed:
    """Where a message goes. `suggestion` is a whole message, offered and never sent by itself."""

    kind: Route
    command: str = ""
    worker: str = ""
    args: str = ""
    error: str = ""
    suggestion: str = ""


@dataclass(frozen=True)
class _Head:
    """`/name[:seat][@bot]`, as it was written and folded."""

    written: str
    name: str
    seat: str | None
    bot: str


def route(
    text: str, workers: Collection[str], commands: Mapping[str, str], active: str, bot: str = ""
) -> Routed:
    """Decide what a chat message asks for; total on any text, and never a guess (P09).

    `workers` are the ids one may talk to, `commands` the spellings in chat with the names they
    stand for, `active` the worker of plain text, `bot` our own name, "" when there is none.
    """
    text = text[_end_of_edge(text) :].rstrip()
    if not text:
        return Routed(Route.IGNORED, error="The message is empty.")
    if _BARE_STOP.fullmatch(text):
        return Routed(Route.STOP, STOP)
    if unicodedata.normalize("NFKC", text[0]) != "/":
        return _to_worker(active, text, workers, "")
    written, *after = text.split(None, 1)
    head, args = _head(written), after[0] if after else ""
    if bot and head.bot and head.bot.casefold() != bot.removeprefix("@").casefold():
        return Routed(Route.IGNORED, error=f"That is for @{head.bot}.")
    return _route_slash(head, args, workers, {_folded(name): name for name in commands}, commands)


def describe(routed: Routed) -> str:
    """Write for people what would be done with a message."""
    match routed.kind:
        case Route.MESSAGE:
            return f"message to {routed.worker}: {routed.args}"
        case Route.COMMAND | Route.STOP:
            return f"{routed.kind} {routed.command} {routed.args}".rstrip()
        case _:
            return f"{routed.kind}: {routed.error}"


def as_data(routed: Routed) -> dict[str, str]:
    """Give the JSON of `amiral route`: `kind` and what is not empty."""
    return {name: str(value) for name, value in vars(routed).items() if value}


def parse_chat(routed: Routed, table: Table) -> Parsed:
    """Read the arguments of a routed command or stop by the table; Invalid as in the terminal.

    Phones write `—note` for `--note`; what is left of the message goes to the parameter that the
    table names for it.
    """
    row = table.by_name()[routed.command]
    words = routed.args.split()
    inner = table.by_name().get(f"{row.name} {words[0]}") if words else None
    if inner is not None:
        return parse_argv([*inner.name.split(), *map(_with_dashes, words[1:])], table)
    count = sum(not parameter.is_option for parameter in row.parameters)
    first, rest = words[:count], " ".join(routed.args.split(None, count)[count:])
    if row.chat_rest and rest and not _with_dashes(rest).startswith("--"):
        return parse_argv([*row.name.split(), *first, f"{row.chat_rest}={rest}"], table)
    return parse_argv([*row.name.split(), *map(_with_dashes, words)], table)


def _route_slash(
    head: _Head,
    args: str,
    workers: Collection[str],
    folded: Mapping[str, str],
    commands: Mapping[str, str],
) -> Routed:
    command = commands.get(folded.get(head.name, ""), "")
    if STOP in (command, head.name):
        return Routed(Route.STOP, STOP, args=_scope(f"{head.seat or ''} {args}".strip()))
    if head.name == NAMED:
        seat, words = (head.seat, args) if head.seat else _first_word(args)
        return _to_worker(seat, words, workers, NAMED)
    if head.seat is None and head.name in SEATS:
        return _to_worker(SEATS[head.name], args, workers, head.name)
    if head.seat is None and command:
        return Routed(Route.COMMAND, command, args=args)
    return _unknown_command(head, args, folded)


def _to_worker(seat: str, text: str, workers: Collection[str], name: str) -> Routed:
    """Address a worker; a name alone is a wish for help, and plain text has no name."""
    known = {_folded(worker): worker for worker in workers}
    worker = known.get(_folded(seat), "")
    if worker and text:
        return Routed(Route.MESSAGE, worker=worker, args=text)
    if name and not text and (worker or not seat):
        return Routed(Route.COMMAND, HELP, args=name)
    close = known.get(nearest(_folded(seat), known), "") if name == NAMED else ""
    suggestion = f"/{NAMED}:{close} {text}".rstrip() if close else ""
    question = f" Did you mean {one_line(suggestion)}?" if suggestion else ""
    error = f'No worker "{one_line(seat, 40)}". Known: {", ".join(sorted(workers))}.{question}'
    return Routed(Route.ERROR, error=error, suggestion=suggestion)


def _unknown_command(head: _Head, args: str, folded: Mapping[str, str]) -> Routed:
    known = {**folded, **{name: name for name in (*SEATS, NAMED)}}
    close = known.get(nearest(head.name, known), "")
    error = f"No command {one_line(head.written, 40)}."
    if not close:
        error += " /help lists them; a text for a worker begins with /c, /d or /w:NAME."
        return Routed(Route.ERROR, error=error)
    meant = " ".join(filter(None, (f"/{close}", head.seat, args)))
    error += f" Did you mean {one_line(meant)}?"
    return Routed(Route.ERROR, error=error, suggestion=f"/{close}")


def _head(written: str) -> _Head:
    body, at, bot = written[1:].rpartition("@")
    if not at or not _BOT.fullmatch(bot):
        body, bot = written[1:], ""
    name, colon, seat = body.partition(":")
    return _Head(written, _folded(name), seat if colon else None, bot)


def _scope(args: str) -> str:
    """A tap on `/emergency-stop` may send `/emergency` and leave `stop` or `-stop` behind."""
    first, rest = _first_word(args)
    return rest if _folded(first).strip("-") == "stop" else args


def _first_word(text: str) -> tuple[str, str]:
    first, *rest = text.split(None, 1) or [""]
    return first, rest[0] if rest else ""


def _folded(name: str) -> str:
    """Names are compared without case, kinds of dash and invisible characters."""
    wide = unicodedata.normalize("NFKC", name).casefold()
    seen = "".join(c for c in wide if unicodedata.category(c) != "Cf")
    return _DASHES.sub("-", seen)


def _with_dashes(word: str) -> str:
    return _LONG_DASH.sub("--", word, count=1) if _LONG_DASH.match(word) else word


def _end_of_edge(text: str) -> int:
    edge = _EDGE.match(text)
    return edge.end() if edge else 0
