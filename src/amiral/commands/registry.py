"""Pure: what a command is, who may call it, and the one door through which all are called."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from amiral.base.errors import AmiralError, Broken, Denied
from amiral.commands.parameter import Parameter, Value

Handler = Callable[..., Awaitable["Reply"]]
HandlerT = TypeVar("HandlerT", bound=Handler)


class Role(StrEnum):
    """Who is calling. An agent is a worker's CLI, whatever it claims (spec: who is calling)."""

    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"
    AGENT = "agent"


OWNERS = frozenset({Role.OWNER})
MEMBERS = OWNERS | {Role.MEMBER}
VIEWERS = MEMBERS | {Role.VIEWER}
EVERYBODY = VIEWERS | {Role.AGENT}
AGENTS = OWNERS | {Role.AGENT}


class Runs(StrEnum):
    """Where a command is carried out; EITHER asks the project process and does without it."""

    PROJECT = "project"
    LOCAL = "local"
    EITHER = "either"


@dataclass(frozen=True)
class Command:
    """One row of the command table.

    `chat` holds its spellings in chat, the one shown first; `chat_rest` is the spelling of the
    parameter that takes what is left of a chat message; `later` marks what this version lacks.
    """

    name: str
    help: str
    parameters: tuple[Parameter, ...] = ()
    roles: frozenset[Role] = OWNERS
    chat: tuple[str, ...] = ()
    chat_rest: str = ""
    aliases: tuple[str, ...] = ()
    runs: Runs = Runs.PROJECT
    later: bool = False


@dataclass(frozen=True)
class Group:
    """Commands that stand together in help."""

    title: str
    commands: tuple[Command, ...]


@dataclass(frozen=True)
class Table:
    """All commands, in the order of help."""

    groups: tuple[Group, ...]

    def __iter__(self) -> Iterator[Command]:
        return (command for group in self.groups for command in group.commands)

    def by_name(self) -> Mapping[str, Command]:
        """Names and aliases of one or two words."""
        return {name: command for command in self for name in (command.name, *command.aliases)}

    def of_word(self, word: str) -> tuple[Command, ...]:
        """Give the commands that can be called by two words of which this is the first."""
        called = (row for name, row in self.by_name().items() if name.startswith(f"{word} "))
        return tuple({row.name: row for row in called}.values())

    def by_chat_name(self) -> Mapping[str, str]:
        """Spellings in chat and the names they stand for."""
        return {spelling: command.name for command in self for spelling in command.chat}


@dataclass(frozen=True)
class Parsed:
    """A call as the table understands it: `arguments` by the names of the handler's parameters."""

    command: str
    arguments: Mapping[str, Value] = field(default_factory=dict)
    project: str = ""
    as_json: bool = False
    wants_help: bool = False


@dataclass(frozen=True)
class Caller:
    """Who asks, and from which surface (`console`, `telegram`, `web`, `mcp`)."""

    id: str
    role: Role
    surface: str

    @property
    def is_chatting(self) -> bool:
        """Whether commands are written as in chat (`/approve`) and not as in a terminal."""
        return self.surface != "console"


@dataclass(frozen=True)
class Reply:
    """`text` for people, `data` (what JSON can hold, dataclasses too) for `--json`.

    A streamed reply gives its further parts as `items`, each with its own text and data.
    """

    text: str = ""
    data: object = None
    exit_code: int = 0
    items: AsyncIterator["Reply"] | None = None


class Unavailable(AmiralError):
    """The command is declared and not there in this version."""

    kind = "unavailable"


def command(name: str) -> Callable[[HandlerT], HandlerT]:
    """Declare a method as what carries out the table's command `name`.

    The method takes the caller and, by name, the parameters the table declares; those that may be
    left out have a default.
    """

    def mark(handler: HandlerT) -> HandlerT:
        handler.command = name  # type: ignore[attr-defined]
        return handler

    return mark


class Commands:
    """The handlers of a table: rights and availability are judged here and nowhere else."""

    def __init__(self, table: Table, *topics: object) -> None:
        """Bind every marked method of `topics`; Broken when one does not fit the table."""
        self.table = table
        self._rows = {row.name: row for row in table}
        self._handlers: dict[str, Handler] = {}
        for topic in topics:
            for name, handler in _marked_methods(topic):
                self._bind(name, handler)

    def offered(self) -> Iterator[Command]:
        """Give the rows that something here carries out."""
        return (row for name, row in self._rows.items() if name in self._handlers)

    async def dispatch(self, caller: Caller, parsed: Parsed) -> Reply:
        """Call one command; raises Denied, Unavailable or what the handler raises."""
        row = self._rows[parsed.command]
        if caller.role not in row.roles:
            who = " or ".join(sorted(row.roles))
            raise Denied(f"`{row.name}` is for: {who}; you are {caller.role}", "ask the owner")
        handler = self._handlers.get(row.name)
        if handler is None and not row.later and row.runs is Runs.LOCAL:
            raise Unavailable(f"`{row.name}` runs in a terminal", f"amiral {row.name} --help")
        if handler is None and not row.later:
            raise Unavailable(f"`{row.name}` is not answered here", "name a project: -p NAME")
        if handler is None:
            raise Unavailable(f"`{row.name}` is not available in this version")
        return await handler(caller, **parsed.arguments)

    def _bind(self, name: str, handler: Handler) -> None:
        row = self._rows.get(name)
        if row is None:
            raise Broken(f"a handler is declared for `{name}`, which the command table lacks")
        if row.later or name in self._handlers:
            raise Broken(f"`{name}` has two handlers or is marked as coming later")
        _check_signature(row, handler)
        self._handlers[name] = handler


def _marked_methods(topic: object) -> Iterator[tuple[str, Handler]]:
    for attribute in dir(type(topic)):
        name = getattr(inspect.getattr_static(type(topic), attribute), "command", None)
        if isinstance(name, str):
            yield name, getattr(topic, attribute)


def _check_signature(row: Command, handler: Handler) -> None:
    _, *taken = inspect.signature(handler).parameters.values()
    declared = {parameter.name: parameter for parameter in row.parameters}
    for parameter in taken:
        known = declared.pop(parameter.name, None)
        if known is None:
            raise Broken(f"`{row.name}`: the table declares no parameter {parameter.name}")
        may_lack = known.is_option or not known.needed
        if may_lack and parameter.default is inspect.Parameter.empty:
            raise Broken(f"`{row.name}`: {parameter.name} may be left out and has no default")
    if declared:
        raise Broken(f"`{row.name}`: the handler takes no {', '.join(declared)}")
