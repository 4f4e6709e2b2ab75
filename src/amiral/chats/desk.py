"""What chats lead to, as they see it."""

from collections.abc import Collection
from typing import Protocol

from amiral.chats.quoting import Quotation
from amiral.commands.registry import Caller, Parsed, Reply, Table


class Desk(Protocol):
    """What a chat leads to: a project's workers and commands, or the fleet's commands alone."""

    table: Table
    project: str

    def workers(self) -> Collection[str]:
        """Give the ids of those one may talk to."""
        ...

    def active(self) -> str:
        """Name the worker of plain text, "" when there is none."""
        ...

    async def post(
        self, message: str, worker: str, text: str, sender: str, quoted: Quotation | None
    ) -> None:
        """Queue a message for a worker, once however often it is posted under its id."""
        ...

    async def dispatch(self, caller: Caller, parsed: Parsed) -> Reply:
        """Carry out a command."""
        ...

    async def said(self, message: str) -> str:
        """Give the answer to a message, "" while there is none."""
        ...
