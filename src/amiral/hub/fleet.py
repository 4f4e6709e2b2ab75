"""What one can ask of the whole fleet: each project answers for itself, in parallel."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amiral.base.errors import AmiralError, NotFound
from amiral.base.nearest import did_you_mean
from amiral.commands.registry import Caller, Reply, command
from amiral.hub.asking import ask
from amiral.hub.farewell import Left, left_text
from amiral.hub.marks import RUNNING, sign_of
from amiral.hub.supervisor import ChildState, Supervisor
from amiral.projects.project import Project
from amiral.safety.report import mark_line
from amiral.store.brake import Brake

_PATIENCE_S = 1.0


@dataclass(frozen=True)
class Ways:
    """What the hub hands to its commands: each does one thing to it."""

    socket_of: Callable[[Project], Path]
    is_guarded: Callable[[], bool]
    new_url: Callable[[], str]
    go_down: Callable[[bool], Awaitable[Sequence[Left]]]


class Fleet:
    """`status`, `list`, `health`, `watchdog`, `projects`, `restart`, `url`, `down`."""

    def __init__(self, supervisor: Supervisor, brake: Brake, ways: Ways) -> None:
        self._supervisor, self._brake, self._ways = supervisor, brake, ways

    @command("status")
    async def status(self, caller: Caller) -> Reply:
        """What needs the person first, then what runs and waits, project by project."""
        del caller
        told = await self._told()
        lines = [mark_line(mark) for mark in self._brake.every()]
        lines += [f"{one['name']}: {need}" for one in told for need in one.get("needs", ())]
        lines += [line for one in told for line in _lines(one)]
        return Reply("\n".join(lines) or _NOTHING, {"projects": told})

    @command("list")
    async def list(self, caller: Caller) -> Reply:
        """All projects and their workers."""
        del caller
        told = await self._told()
        lines = [f"{one['name']}  {', '.join(_workers(one)) or one['state']}" for one in told]
        return Reply("\n".join(lines) or _NOTHING, {"projects": told})

    @command("health")
    async def health(self, caller: Caller) -> Reply:
        """What is well and what is not: hub, guard, every project's process."""
        del caller
        states, marks = self._supervisor.states(), self._brake.every()
        ill = [state for state in states if state.state not in ("running", "ended")]
        is_guarded = self._ways.is_guarded()
        data = {
            "ok": not ill and not marks and is_guarded,
            "stop_id": marks[0].stop_id if marks else "",
            "guard": is_guarded,
            "children": [_row(state) for state in states],
        }
        lines = [mark_line(mark) for mark in marks]
        lines += [] if is_guarded else ["✗ the guard does not run: amiral guard"]
        lines += [_line(state) for state in ill]
        return Reply("\n".join(lines) or f"✓ {len(states)} projects are well", data)

    @command("watchdog")
    async def watchdog(self, caller: Caller) -> Reply:
        """The process of every project, what was healed, and what waits for a person."""
        del caller
        states, is_guarded = self._supervisor.states(), self._ways.is_guarded()
        lines = [_line(state) for state in states]
        lines += ["✓ guard" if is_guarded else "✗ the guard does not run: amiral guard"]
        return Reply(
            "\n".join(lines), {"guard": is_guarded, "children": [_row(state) for state in states]}
        )

    @command("projects")
    async def projects(self, caller: Caller) -> Reply:
        """The registered projects."""
        del caller
        every = [state.project for state in self._supervisor.states()]
        text = "\n".join(f"{one.name}  {one.path}" for one in every)
        return Reply(text or _NOTHING, {"projects": [asdict(one) for one in every]})

    @command("restart")
    async def restart(self, caller: Caller, name: str) -> Reply:
        """End a project's process at once and start it again; its agents go on meanwhile."""
        del caller
        project = self._named(name)
        await self._supervisor.restart(project.id)
        return Reply(f"✓ {project.name} is started again", {"project": project.name})

    @command("url")
    async def url(self, caller: Caller) -> Reply:
        """A new address of the page, valid once."""
        del caller
        url = self._ways.new_url()
        return Reply(url, {"url": url})

    @command("down")
    async def down(self, caller: Caller, *, agents: bool = False) -> Reply:
        """End the hub and every project's process; agents go on unless `agents`."""
        del caller
        left = await self._ways.go_down(agents)
        data = {"projects": [s.project.name for s in self._states()], "left": left}
        if left:
            return Reply(left_text(left), data, exit_code=1)
        return Reply("✓ amiral goes down", data)

    def _states(self) -> Sequence[ChildState]:
        return self._supervisor.states()

    def _named(self, name: str) -> Project:
        known = [state.project for state in self._states()]
        for project in known:
            if name in (project.name, project.id):
                return project
        hint = did_you_mean(name, [project.name for project in known])
        raise NotFound(f"no project {name!r}{hint}", "`amiral projects` lists them")

    async def _told(self) -> Sequence[Mapping[str, Any]]:
        return await asyncio.gather(*map(self._ask, self._states()))

    async def _ask(self, state: ChildState) -> Mapping[str, Any]:
        """Have a project tell of itself; of one that does not, tell what is seen from outside."""
        if state.pid:
            try:
                path = self._ways.socket_of(state.project)
                told = await ask(path, ["status"], _PATIENCE_S)
                return dict(told["projects"][0])
            except (AmiralError, LookupError, TypeError):
                pass
        seen = "silent" if state.state == RUNNING else state.state
        notices = [state.reason] if state.reason else []
        return {**_row(state), "state": seen, "workers": [], "notices": notices}


_NOTHING = "no project is registered: amiral up PATH"


def _row(state: ChildState) -> dict[str, Any]:
    return {
        "name": state.project.name,
        "state": state.state,
        "pid": state.pid,
        "heartbeat_age_s": state.heartbeat_age_s,
        "restarts": state.restarts,
        "reason": state.reason,
        "next_s": state.next_s,
    }


def _line(state: ChildState) -> str:
    parts = [f"{sign_of(state.state)} {state.project.name}", state.state]
    parts += [f"pid {state.pid}"] if state.pid else []
    parts += [f"heartbeat {state.heartbeat_age_s} s"] if state.heartbeat_age_s is not None else []
    parts += [f"started again {state.restarts} times"] if state.restarts else []
    parts += [f"next in {state.next_s} s"] if state.state == "waiting" else []
    return " · ".join(parts + ([state.reason] if state.reason else []))


def _lines(told: Mapping[str, Any]) -> list[str]:
    head = f"{sign_of(str(told['state']))} {told['name']} · {told['state']}"
    return [head, *(f"  {line}" for line in _workers(told))]


def _workers(told: Mapping[str, Any]) -> list[str]:
    return [f"{one['id']} {one['state']}" for one in told.get("workers", ())]
