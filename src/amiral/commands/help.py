"""Pure: help, written from the command table alone."""

from amiral.base.errors import NotFound
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line
from amiral.commands.arguments import usage
from amiral.commands.grammar import NAMED, SEATS
from amiral.commands.registry import Caller, Command, Reply, Table, command

_ADDRESSING = (
    ("/c TEXT", "ask the consultant"),
    ("/d TEXT", "give the developer a task"),
    ("/w:NAME TEXT", "speak to any worker; text alone goes to the active one"),
)


class Help:
    """Answers `/help` in chat."""

    def __init__(self, table: Table) -> None:
        self._table = table

    @command("help")
    async def help(self, caller: Caller, command: str = "") -> Reply:
        """Explain one command, or list those the caller may use; raises NotFound."""
        if command:
            return Reply(explain(self._table, command))
        return Reply(chat_help(self._table, caller))


def overview(table: Table, version: str) -> str:
    """List the commands of the terminal, by group; what this version lacks is left out."""
    lines = [f"amiral {version} · usage: amiral COMMAND … [-p PROJECT] [--json] [--help]"]
    for group in table.groups:
        rows = [row for row in group.commands if not row.later]
        if rows:
            lines += ["", group.title, *(f"  {row.name:<18} {row.help}" for row in rows)]
    return "\n".join([*lines, "", "amiral COMMAND --help explains one; -- ends the options."])


def explain(table: Table, name: str) -> str:
    """Explain one command by its name in the terminal or in chat, or all that begin with a word.

    Raises NotFound.
    """
    if name in (*SEATS, NAMED):
        return _list(_ADDRESSING)
    rows = table.by_name()
    if name not in rows and (several := table.of_word(name)):
        return "\n".join(map(explain_row, several))
    row = rows.get(name) or rows.get(table.by_chat_name().get(name.removeprefix("/"), ""))
    if row is None:
        hint = did_you_mean(name, rows)
        raise NotFound(f"no command `{one_line(name, 40)}`{hint}", "`amiral --help` lists them")
    return explain_row(row)


def explain_row(row: Command) -> str:
    """Write usage, help and the spelling in chat of one command."""
    lines = [usage(row), f"  {row.help}"]
    if row.chat:
        lines.append(f"  in chat: /{row.chat[0]}")
    if row.later:
        lines.append("  not available in this version")
    return "\n".join(lines)


def chat_help(table: Table, caller: Caller) -> str:
    """List what the caller may send in chat."""
    rows = [row for row in table if row.chat and not row.later and caller.role in row.roles]
    return _list((*_ADDRESSING, *((f"/{row.chat[0]}", row.help) for row in rows)))


def _list(rows: tuple[tuple[str, str], ...]) -> str:
    return "\n".join(f"{name} · {text}" for name, text in rows)
