"""Ends the projects' processes when a person says so, agents too if asked, and tells what is left.

A wish first, then a signal, then a kill: what is durable is on disk before it is told, so that a
kill costs a project nothing. Every process is signalled by its identity, never by a number alone.
"""

import asyncio
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.base.home import home_tag
from amiral.hub.asking import ask
from amiral.hub.child_state import ChildState
from amiral.hub.tended import gone
from amiral.processes.serving import UNNAMED, server_of
from amiral.processes.tree import send
from amiral.projects.project import Project
from amiral.projects.served import served_by
from amiral.safety.ending import end
from amiral.safety.scope import Place, Scope
from amiral.safety.working import working

_ANSWER_S = 5.0
_FAREWELL_S = 15.0
_DEATH_S = 5.0


@dataclass(frozen=True)
class Left:
    """What did not end: the name of its project, what is true of it, and what a person can do."""

    project: str
    what: str
    next_step: str


def left_text(left: Iterable[Left]) -> str:
    """Write it for people."""
    told = (f"  {one.project}: {one.what}: {one.next_step}" for one in left)
    return "\n".join(("✗ amiral goes down, and not all of it ends", *told))


class Farewell:
    """The end of all projects' processes of one home; `with_agents` says whether theirs end too."""

    def __init__(self, home: Path, clock: Clock, *, with_agents: bool) -> None:
        self._home, self._clock, self._with_agents = home, clock, with_agents
        self._words = ["down", "--agents"] if with_agents else ["down"]

    async def say(self, states: Iterable[ChildState]) -> tuple[Left, ...]:
        """End them, all at once; gives what is left. Takes some 30 s when one hangs."""
        found = await asyncio.gather(*(self._part(state) for state in states))
        return tuple(one for left in found for one in left)

    async def _part(self, state: ChildState) -> list[Left]:
        has_obeyed = await self._end(state)
        left = await self._still_served(state.project)
        if self._with_agents:
            # One that hung or was dead has ended nobody; it comes first, or it would start more.
            left += await asyncio.to_thread(self._end_agents, state.project, has_obeyed)
        return left

    async def _end(self, state: ChildState) -> bool:
        """End a project's process; tells whether it ended of itself, as it was asked to."""
        if state.process is None:
            return False
        try:
            await ask(served_by(self._home, state.project).socket, self._words, _ANSWER_S)
            has_answered = True
        except AmiralError:
            has_answered = False
            send(state.process, signal.SIGTERM)
        if await gone(state.process, self._clock, _FAREWELL_S):
            return has_answered
        send(state.process, signal.SIGKILL)
        await gone(state.process, self._clock, _DEATH_S)
        return False

    async def _still_served(self, project: Project) -> list[Left]:
        """Look whether anybody serves it still, whether the hub knew of that one or not."""
        try:
            server = await server_of(served_by(self._home, project), self._clock)
        except AmiralError as error:
            return [Left(project.name, error.message, error.next_step)]
        if server is None:
            return []
        if server.identity == UNNAMED:
            told = "a process that does not tell its number serves it still"
            return [Left(project.name, told, "amiral doctor")]
        pid = server.identity.pid
        return [Left(project.name, f"process {pid} does not end", f"kill -KILL {pid}")]

    def _end_agents(self, project: Project, has_obeyed: bool) -> list[Left]:  # noqa: FBT001 one call
        """End what is left of a project's agents."""
        place = Place(str(self._home), home_tag(str(self._home)))
        scope = Scope(project.id, "", project.name)
        if has_obeyed and not any(one.is_running for one in working(place, scope)):
            return []
        survivors = len(end(place, scope).survivors)
        if not survivors:
            return []
        told = f"{survivors} processes of its agents do not end"
        return [Left(project.name, told, f"amiral emergency-stop {project.id}")]
