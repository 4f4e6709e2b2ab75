"""The owner's upkeep of one project: trust its files, rebuild tables, end the process."""

from collections.abc import Callable

from amiral.agents.declared import POLICY
from amiral.agents.roster import Roster
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.commands.registry import Caller, Reply, command
from amiral.permissions.policy import parse_policy
from amiral.projects.project import Project
from amiral.projects.trust import Trust
from amiral.store.journal import Journal


class AdminCommands:
    """`trust`, `journal rebuild`, `down`, `projects`."""

    def __init__(
        self,
        project: Project,
        trust: Trust,
        roster: Roster,
        journal: Journal,
        clock: Clock,
        go_down: Callable[[bool], None],
    ) -> None:
        self._project, self._trust, self._journal = project, trust, journal
        self._roster, self._clock, self._go_down = roster, clock, go_down

    @command("trust")
    async def trust(self, caller: Caller, file: str = "") -> Reply:
        """List what waits for trust, or trust one file as it lies there, showing the change."""
        if not file:
            waiting = self._trust.waiting(self._project)
            files = [{"file": one.file, "state": str(one.state)} for one in waiting]
            text = "\n".join(f"{one.state:<8} {one.file}" for one in waiting)
            return Reply(text or "✓ nothing waits for trust", {"files": files})
        shown = self._trust.show(self._project, file)
        if shown.file == POLICY:
            # With a mistake in it nobody could start; Invalid names each one.
            parse_policy(shown.text, shown.file)
        self._trust.trust(self._project, shown.file, shown.sha256, self._clock.now_ms())
        await self._journal.append(ev.FileTrusted(shown.file, shown.sha256), by=caller.id)
        await self._roster.refresh()
        data = {"file": shown.file, "sha256": shown.sha256, "diff": shown.diff}
        return Reply(f"{shown.diff}\n✓ trusted {shown.file}", data)

    @command("journal rebuild")
    async def rebuild(self, caller: Caller) -> Reply:
        """Fill the tables again from the events."""
        del caller
        await self._journal.rebuild()
        return Reply("✓ tables rebuilt from the events", {"last_seq": self._journal.last_seq})

    @command("down")
    async def down(self, caller: Caller, *, agents: bool = False) -> Reply:
        """End this process; agents in mid turn go on under their shims unless `agents`."""
        del caller
        self._go_down(agents)
        return Reply(f"✓ {self._project.name} goes down", {"project": self._project.name})

    @command("projects")
    async def projects(self, caller: Caller) -> Reply:
        """The project served here."""
        del caller
        data = {"name": self._project.name, "id": self._project.id, "path": self._project.path}
        return Reply(f"{self._project.name}  {self._project.path}", {"projects": [data]})
