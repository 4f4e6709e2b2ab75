"""`amiral project new` and `amiral project remove`: set a project up, and take it out again."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from amiral.agents.worker import parse_registry
from amiral.base.clock import SystemClock
from amiral.base.errors import Broken, Conflict, Invalid, NotFound
from amiral.base.plain import one_line
from amiral.commands.registry import Parsed, Reply
from amiral.config import FILE, find_home, load_settings, read_settings
from amiral.installed import known_drivers
from amiral.local.interview import agreed, interview
from amiral.local.leaving import remove_project
from amiral.local.library import shipped_setup
from amiral.local.owner import refuse_agents
from amiral.local.terminal import answer
from amiral.processes.spawn import Spawner
from amiral.projects.blueprint import blueprint
from amiral.projects.git import Git
from amiral.projects.home_settings import HomeSettings
from amiral.projects.onboarding import RESERVED, Answers, Known, Question, questions, read_answers
from amiral.projects.project import project_at
from amiral.projects.removal import Removal
from amiral.projects.setup import Outcome, Setup
from amiral.projects.setup_plan import Plan, Shipped, plan_setup
from amiral.projects.skills import matching
from amiral.projects.tree_reading import list_tree, read_telling
from amiral.store.brake import Brake

_LARGEST = 256 * 1024
_LONGEST = 300

Asked = Callable[[str], tuple[Question, ...]]


def run(argv: Sequence[str]) -> int:
    """Carry out one of the two."""
    return answer(argv, partial(_carry_out, as_json="--json" in argv))


def _carry_out(parsed: Parsed, *, as_json: bool) -> Reply:
    home = find_home(os.environ)
    refuse_agents(home, "set up or remove a project")
    settings = load_settings(home, os.environ)
    table = HomeSettings(home, _check_settings)
    git, clock = Git(Spawner(Brake(home / "brake"), "")), SystemClock()
    setup = Setup(home, Path.home(), table, git, clock)
    logs = Path(settings.logs.dir).expanduser() if settings.logs.dir else home / "logs"
    removal = Removal(home, Path.home(), table, git, clock, logs)
    told = (*setup.recover(), *removal.recover())
    if parsed.command == "project remove":
        return remove_project(home, settings, removal, parsed, told)
    return _new(home, setup, parsed, told, may_ask=not as_json)


def _new(
    home: Path, setup: Setup, parsed: Parsed, told: tuple[str, ...], *, may_ask: bool
) -> Reply:
    name = str(parsed.arguments["name"])
    root = _root(str(parsed.arguments.get("path") or name))
    setup.check(name, root)
    if name.casefold() in RESERVED:
        raise Invalid(f"a project cannot be called {name}: it means all of them", "choose another")
    shipped, left_out = shipped_setup(home)
    asked_for = _asked_for(root, shipped)
    file = str(parsed.arguments.get("answers") or "")
    answers = _read(file, asked_for) if file else _ask(asked_for, may_ask=may_ask)
    plan = plan_setup(project_at(str(root), name), answers, shipped)
    if not file and not agreed(f"\n{_preview(plan)}\nMake it?"):
        raise Conflict("nothing was made", "amiral project new asks again")
    outcome = asyncio.run(setup.carry_out(plan))
    return _reply(plan, outcome, (*told, *left_out, *outcome.notices))


def _check_settings(text: str) -> None:
    """Raise Invalid for a text that nobody could start with."""
    read_settings(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), FILE, {})


def _root(path: str) -> Path:
    try:
        return Path(path).expanduser().resolve()
    except FileNotFoundError:
        raise NotFound("the folder you are in is gone", "go to a folder that exists") from None
    except (RuntimeError, OSError) as error:
        raise Invalid(f"{one_line(path)} is no path: {error}", "give a whole path") from None


def _asked_for(root: Path, shipped: Shipped) -> Asked:
    """Look at the folder once; give the questions for a purpose."""
    files = list_tree(root) if root.is_dir() else ()
    found = blueprint(files, read_telling(root, files))
    stack = (found.language.value, found.framework.value)
    clis = (*known_drivers(),)
    workers = tuple(one.id for one in parse_registry(shipped.registry, "shipped").workers)
    known = Known(clis, workers, tuple(s.name for s in shipped.skills), tuple(shipped.rights))
    may_init = _may_init(root)

    def asked(purpose: str) -> tuple[Question, ...]:
        fitting = matching(shipped.skills, stack, files, purpose)
        return questions(known, found, fitting, may_init=may_init)

    return asked


def _may_init(root: Path) -> bool:
    """An empty folder in no repository gets one of its own, where there is git."""
    is_inside = any(os.path.lexists(folder / ".git") for folder in (root, *root.parents))
    is_empty = not root.exists() or not any(root.iterdir())
    return is_empty and not is_inside and shutil.which("git") is not None


def _read(file: str, asked_for: Asked) -> Answers:
    path = Path(file)
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except FileNotFoundError:
        raise NotFound(f"there is no file {one_line(file)}") from None
    except OSError as error:
        raise Broken(f"cannot read {one_line(file)}: {os.strerror(error.errno or 0)}") from None
    if len(data) > _LARGEST:
        raise Invalid(f"{path.name} is larger than {_LARGEST // 1024} KiB", "answers are short")
    text = data.decode("utf-8", "replace")
    about = read_answers(text, path.name, asked_for("")).about
    return read_answers(text, path.name, asked_for(about))


def _ask(asked_for: Asked, *, may_ask: bool) -> Answers:
    if not may_ask or not sys.stdin.isatty():
        raise Invalid("there is nobody to ask", "answer in a file: --answers FILE")
    return interview(asked_for)


def _preview(plan: Plan) -> str:
    lines = [f"{plan.project.name} in {one_line(plan.project.path, _LONGEST)}"]
    lines += [f"  {one.file}" for one in plan.files]
    lines += ["  .git/ with one commit"] if plan.makes_repository else []
    lines += [f"  [projects.{plan.project.name}] of {FILE}: {', '.join(plan.settings)}"]
    return "\n".join([*lines, "What is there already stays as it is."])


def _reply(plan: Plan, outcome: Outcome, notices: tuple[str, ...]) -> Reply:
    project = plan.project
    where = one_line(project.path, _LONGEST)
    done = f"{project.name} is set up in {where}"
    first = f"✓ {done}" if outcome.made else f"✓ {done} already, nothing changed"
    lines = [first, *(f"  made    {one}" for one in outcome.made)]
    lines += [f"  kept    {one}: it was there, with other content" for one in outcome.kept]
    lines += [f"  notice  {one}" for one in notices]
    lines += [f"  next    amiral up {where}"]
    data = {
        "project": project,
        "changed": bool(outcome.made),
        "made": outcome.made,
        "kept": outcome.kept,
        "notices": notices,
    }
    return Reply("\n".join(lines), data)
