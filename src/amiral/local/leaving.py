"""`amiral project remove`: ask three times, end the project's process, archive, delete."""

import asyncio
import contextlib
import sys
from pathlib import Path

from amiral.base.clock import SystemClock
from amiral.base.errors import AmiralError, Conflict, Invalid, NotFound
from amiral.base.ids import digest
from amiral.base.plain import one_line
from amiral.base.settings import ProjectSettings, Settings
from amiral.commands.registry import Parsed, Reply
from amiral.hub.asking import SOCKET, ask
from amiral.local.interview import typed
from amiral.local.serving import ended, refuse_busy
from amiral.processes.serving import Served, server_of
from amiral.processes.tree import tagged
from amiral.projects.project import Project
from amiral.projects.removal import Removal
from amiral.projects.store import Projects
from amiral.store.brake import Brake

_LONGEST = 200
_MOST_SHOWN = 5
_ANSWER_S = 10.0
_WORD = "remove"


def remove_project(
    home: Path, settings: Settings, removal: Removal, parsed: Parsed, told: tuple[str, ...]
) -> Reply:
    """Archive a project's state and take it out; raises why not, and then all is as it was."""
    projects = Projects(home, Path.home())
    try:
        project = projects.named(str(parsed.arguments["name"]))
    except NotFound:
        if told:
            return Reply("\n".join(f"✓ {one}" for one in told), {"notices": told})
        raise
    with_folder = bool(parsed.arguments.get("with_folder"))
    _check(home, settings, project)
    if with_folder:
        _check_folder(projects, removal, project)
    _confirm(project, str(parsed.arguments.get("yes_remove") or ""), with_folder=with_folder)
    archive, left = asyncio.run(_take_out(home, removal, project, with_folder=with_folder))
    notices = (*told, *left)
    lines = [f"✓ {project.name} is removed", f"  archive {archive}"]
    lines += [] if with_folder else [f"  its folder stays: {one_line(project.path, _LONGEST)}"]
    lines += [f"  notice  {one}" for one in notices]
    data = {"project": project, "archive": str(archive), "notices": notices}
    return Reply("\n".join(lines), data)


def _check(home: Path, settings: Settings, project: Project) -> None:
    name = project.name
    if settings.projects.get(name, ProjectSettings()).protected:
        raise Conflict(
            f"{name} is protected", f"take `protected` out of [projects.{name}] in amiral.toml"
        )
    with contextlib.suppress(FileNotFoundError):
        if Path.cwd().resolve().is_relative_to(project.path):
            raise Conflict(f"you stand in {name}'s folder", "go elsewhere first: cd")
    marks = Brake(home / "brake", project.id).here() if (home / "brake").exists() else []
    if marks:
        name, way_out = marks[0].name, marks[0].way_out
        raise Conflict(f"{name} is on: what was stopped is not thrown away", way_out)


def _check_folder(projects: Projects, removal: Removal, project: Project) -> None:
    if not removal.may_take_folder(project):
        raise Conflict(
            f"the folder of {project.name} was there before it", "leave --with-folder out"
        )
    for other in projects.all():
        if other != project and Path(other.path).is_relative_to(project.path):
            raise Conflict(f"the project {other.name} lies in it", f"remove {other.name} first")


def _confirm(project: Project, given: str, *, with_folder: bool) -> None:
    """Three answers on a terminal, or the name as the value of an option that says what it does."""
    name = project.name
    if given:
        if given != name:
            raise Invalid(f"--yes-remove must be {name} (got {one_line(given)})")
        return
    if not sys.stdin.isatty():
        raise Invalid("there is nobody to ask", f"say it in full: --yes-remove '{name}'")
    folder = " and its folder" if with_folder else ""
    sys.stdout.write(f"{name} ({one_line(project.path, _LONGEST)})\n")
    sys.stdout.write(f"Its state{folder} is archived, then deleted.\n")
    for prompt, wanted in (
        ("Type its name: ", name),
        ("Are you sure? [no] ", "yes"),
        (f"Type the word {_WORD}: ", _WORD),
    ):
        if typed(prompt).strip() != wanted:
            raise Conflict("that was not it: nothing was removed")


async def _take_out(
    home: Path, removal: Removal, project: Project, *, with_folder: bool
) -> tuple[Path, tuple[str, ...]]:
    unmerged = await removal.unmerged(project)
    if unmerged:
        raise Conflict(
            f"{project.name} has work that is not merged: {', '.join(unmerged)}",
            f"amiral -p {project.id} diff {unmerged[0]}; then merge or discard it",
        )
    served = Served(home, project.id, project.name, project.path)
    await refuse_busy(served)
    was_served = await server_of(served, SystemClock()) is not None
    claim = await ended(served)
    try:
        try:
            _refuse_agents(home, project)
            for one in (served.socket, served.socket.with_suffix(".http.sock")):
                one.unlink(missing_ok=True)
            return await removal.carry_out(project, with_folder=with_folder)
        finally:
            claim.release()
    except AmiralError as error:
        if was_served:
            error.next_step = "; ".join(
                filter(None, (error.next_step, await _again(home, project)))
            )
        raise


def _refuse_agents(home: Path, project: Project) -> None:
    running = tagged(f"{digest(str(home))}:{project.id}")
    if running:
        pids = ", ".join(str(one.pid) for one in running[:_MOST_SHOWN])
        raise Conflict(
            f"agents of {project.name} are running: process {pids}",
            "let them end (amiral up), or amiral emergency-stop and release it",
        )


async def _again(home: Path, project: Project) -> str:
    """Have the hub start again what was ended for nothing; without one, tell how a person does."""
    try:
        await ask(home / "run" / SOCKET, ["restart", project.id], _ANSWER_S)
    except AmiralError:
        return f"its process was ended, start it: amiral up {one_line(project.path, _LONGEST)}"
    return ""
