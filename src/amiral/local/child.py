"""`amiral child`: serve one project in the foreground; the hub starts one such process each."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from amiral.app import App
from amiral.base.errors import Broken
from amiral.commands.output import print_reply
from amiral.commands.registry import Parsed, Reply
from amiral.config import find_home, load_settings
from amiral.local.choice import chosen_project, named_project, with_port
from amiral.local.drivers import described
from amiral.local.foreground import Banner, check_socket, run_in_foreground, stop_notice
from amiral.local.narrowing import narrowed_by
from amiral.local.owner import refuse_agents
from amiral.local.terminal import show
from amiral.projects.project import Project
from amiral.projects.served import served_by
from amiral.projects.store import Projects
from amiral.store.files import ensure_private_folder

_NAME_VARIABLE = "BOT_NAME"
_FAREWELL_S = 1.0


def run(argv: list[str]) -> int:
    """Start, print what a newcomer needs, and serve until the end."""
    return run_in_foreground(argv, _serve_one)


def _serve_one(parsed: Parsed, *, as_json: bool) -> Reply:
    home = find_home(os.environ)
    refuse_agents(home, "serve a project")
    settings = load_settings(home, os.environ)
    ensure_private_folder(home)
    name = str(parsed.arguments.get("name", "")) or os.environ.get(_NAME_VARIABLE, "")
    is_sample = bool(parsed.arguments.get("sample"))
    project = named_project(home, name) if name else chosen_project(home, "", is_sample=is_sample)
    check_socket(served_by(home, project))
    narrowed = narrowed_by(project, with_port(settings, parsed))
    registry = Projects(home, Path.home()).warning()
    warnings = (*_about(home, project, is_chosen=bool(name)), *narrowed.notices)
    app = App(home, project, narrowed.settings, (*warnings, *([registry] if registry else [])))
    app.has_page = bool(parsed.arguments.get("page")) or "port" in parsed.arguments
    asyncio.run(_serve(app, as_json=as_json))
    return Reply()


def _about(home: Path, project: Project, *, is_chosen: bool) -> Iterator[str]:
    """Tell what is served in place of this folder, and a stop under which nothing will start."""
    here = Path.cwd().resolve()
    if not is_chosen and not here.is_relative_to(project.path):
        yield f"{here} is no project: the sample is served; `amiral up .` serves this folder"
    yield from stop_notice(home)


async def _serve(app: App, *, as_json: bool) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, app.over.set)
    try:
        await app.start()
        show(print_reply(await _banner(app), as_json=as_json))
        sys.stdout.flush()
        await app.over.wait()
    finally:
        await app.close()
        await _let_answers_out()


async def _let_answers_out() -> None:
    """Whoever waits for an answer is told that the message is kept; it takes a moment to send."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=_FAREWELL_S)


async def _banner(app: App) -> Reply:
    # Starting every CLI for its version takes seconds, and of a hub's child nobody reads it.
    is_read = app.has_page or sys.stdout.isatty()
    clis = await app.installed.look(app.spawner) if is_read else ()
    found, url = [described(cli) for cli in clis], _url(app)
    notices, listening = app.notices(), str(app.socket_path)
    banner = Banner(app.home, [app.project], found, notices, url, listening)
    data = {
        "url": url,
        "socket": listening,
        "projects": [app.project],
        "clis": clis,
        "notices": notices,
    }
    return Reply(banner.text, data)


def _url(app: App) -> str:
    """Give the page's address, "" when there is no page: a notice says why."""
    try:
        return app.new_url()
    except Broken:
        return ""
