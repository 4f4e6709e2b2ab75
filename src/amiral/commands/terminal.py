"""Terminals of workers: open one, or end it."""

from amiral.agents.inbox import Inbox
from amiral.agents.roster import Roster
from amiral.commands.registry import Caller, Reply, command


class TerminalCommands:
    """`terminal`, `terminal close`."""

    def __init__(self, inbox: Inbox, roster: Roster) -> None:
        self._inbox, self._roster = inbox, roster

    @command("terminal")
    async def terminal(self, caller: Caller, worker: str) -> Reply:
        """Open a worker's CLI in a terminal, or find the open one, and tell how to get to it."""
        del caller
        found = self._roster.find(worker)
        attach = (await self._inbox.open_terminal(found)).attach
        text = (
            f"✓ the terminal of {found.id} is open; its messages wait until it ends\n"
            f"  {attach}\n"
            f"  amiral terminal close {found.id}"
        )
        return Reply(text, {"worker": found.id, "attach": attach})

    @command("terminal close")
    async def close(self, caller: Caller, worker: str) -> Reply:
        """End it with all that runs in there, also of a worker that is in no registry any more."""
        del caller
        known = worker.strip().lower()
        await self._inbox.close_terminal(known)
        return Reply(f"✓ the terminal of {known} is closed", {"worker": known})
