"""`permissions set`: change the project's policy by the owner's own word, and trust the result."""

from hashlib import sha256
from pathlib import Path

from amiral.agents.declared import POLICY
from amiral.agents.roster import Roster
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import Conflict, Denied, Invalid
from amiral.commands.registry import Caller, Reply, command
from amiral.permissions.policy import parse_policy, with_rule, write_policy
from amiral.permissions.rules import Capability, Policy, Posture, Rule, sound
from amiral.projects.project import Project
from amiral.projects.project_files import FOLDER
from amiral.projects.trust import Trust
from amiral.store.files import write_atomic
from amiral.store.journal import Journal


class PermissionCommands:
    """What is set holds from the next question of any worker on."""

    def __init__(
        self,
        project: Project,
        trust: Trust,
        roster: Roster,
        journal: Journal,
        clock: Clock,
    ) -> None:
        self._project, self._trust, self._journal = project, trust, journal
        self._roster, self._clock = roster, clock

    @command("permissions set")
    async def set(
        self, caller: Caller, posture: str, capability: str, match: str, worker: str = ""
    ) -> Reply:
        """Write one rule into permissions.json; a file that is new allows what no rule is about."""
        rule = Rule(Capability(capability), match, Posture(posture), POLICY.rpartition("/")[2])
        if (flaws := sound([rule])[1]) and flaws:
            raise Invalid(flaws[0], "see docs/reference/permissions.md for what a pattern may be")
        who = self._roster.find(worker).id if worker else ""
        text = write_policy(with_rule(self._policy(), rule, who))
        write_atomic(self._file(), text)
        content = sha256(text.encode()).hexdigest()
        self._trust.trust(self._project, POLICY, content, self._clock.now_ms())
        await self._journal.append(ev.FileTrusted(POLICY, content), by=caller.id)
        await self._roster.refresh()
        whose = who or "every worker"
        data = {"worker": who, "posture": posture, "capability": capability, "match": match}
        return Reply(f"✓ {whose}: {posture} {capability} {match}", data)

    def _file(self) -> Path:
        """Make the folder; Denied where a link in the repository leads elsewhere."""
        root = Path(self._project.path).resolve()
        file = root / FOLDER / POLICY
        if file.parent.resolve() != file.parent:
            raise Denied(f"{file.parent} is a link", "put a folder in its place")
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def _policy(self) -> Policy:
        """Give the policy in force; Conflict while another one waits for trust."""
        file = self._trust.in_force(self._project, POLICY)
        if file.found != file.text:
            raise Conflict(
                "config/permissions.json is not as you trusted it",
                "amiral trust permissions.json, or put it back",
            )
        return parse_policy(file.text, POLICY)[0] if file.text else Policy(Posture.ALLOW)
