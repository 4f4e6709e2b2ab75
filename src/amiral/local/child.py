"""`amiral child`: serve one project in the foreground; the hub starts one such process each."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from amiral import __version__
from amiral.app import App
from amiral.base.errors import Broken, Conflict, Invalid
from amiral.base.home import home_folder
from amiral.base.plain import one_line
from amiral.base.settings import Settings
from amiral.commands.output import print_reply
from amiral.commands.registry import Parsed, Reply
from amiral.config import FILE, find_home, load_settings, narrow
from amiral.local.choice import chosen_project, named_project, with_port
from amiral.local.drivers import described
from amiral.local.owner import refuse_agents
from amiral.local.terminal import answer, show
from amiral.processes.peer import peer_of
from amiral.projects.project import Project
from amiral.projects.project_files import Found, Unusable, read_file
from amiral.projects.served import served_by
from amiral.projects.store import Projects
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder

_NAME_VARIABLE = "BOT_NAME"
_LONGEST_SOCKET = 100
_LONGEST_SHOWN = 300
_FAREWELL_S = 1.0


def run(argv: list[str]) -> int:
    """Start, print what a newcomer needs, and serve until the end."""
    return answer(argv, lambda parsed: _start(parsed, as_json="--json" in argv))


def _start(parsed: Parsed, *, as_json: bool) -> Reply:
    """Say in one line what of the machine stands in the way: a disk, its rights, a network."""
    try:
        return _serve_one(parsed, as_json=as_json)
    except OSError as error:
        why = error.strerror or str(error)
        what = f"{error.filename}: {why}" if error.filename else why
        fix = f"check the disk and the rights of {home_folder()}"
        raise Broken(f"amiral cannot run: {what}", fix) from error


def _serve_one(parsed: Parsed, *, as_json: bool) -> Reply:
    home = find_home(os.environ)
    refuse_agents(home, "serve a project")
    settings = load_settings(home, os.environ)
    ensure_private_folder(home)
    name = str(parsed.arguments.get("name", "")) or os.environ.get(_NAME_VARIABLE, "")
    is_sample = bool(parsed.arguments.get("sample"))
    project = named_project(home, name) if name else chosen_project(home, "", is_sample=is_sample)
    path_of_socket = served_by(home, project).socket
    if len(os.fsencode(path_of_socket)) > _LONGEST_SOCKET:
        told = f"{path_of_socket} is too long for a socket"
        raise Invalid(told, "choose a shorter AMIRAL_HOME")
    asyncio.run(_refuse_second(home, project))
    narrowed, warnings = _narrowed(with_port(settings, parsed), project)
    registry = Projects(home, Path.home()).warning()
    warnings = (*_about(home, project, is_chosen=bool(name)), *warnings)
    app = App(home, project, narrowed, (*warnings, *([registry] if registry else [])))
    app.has_page = bool(parsed.arguments.get("page")) or "port" in parsed.arguments
    asyncio.run(_serve(app, as_json=as_json))
    return Reply()


def _about(home: Path, project: Project, *, is_chosen: bool) -> Iterator[str]:
    """Tell what is served in place of this folder, and a stop under which nothing will start."""
    here = Path.cwd().resolve()
    if not is_chosen and not here.is_relative_to(project.path):
        yield f"{here} is no project: the sample is served; `amiral up .` serves this folder"
    stop = Brake(home / "brake").state() if (home / "brake").exists() else None
    if stop is not None:
        yield f"stop {stop.stop_id} is on, nothing starts: amiral release {stop.stop_id}"


def _narrowed(settings: Settings, project: Project) -> tuple[Settings, tuple[str, ...]]:
    """Apply the project's own amiral.toml, which may only take power away."""
    found = read_file(Path(project.path), f"config/{FILE}")
    match found:
        case Found():
            narrowed = narrow(settings, project.name, found.text, FILE)
            return narrowed.settings, narrowed.notices
        case Unusable(file, reason):
            raise Invalid(f"{file} cannot be used: {reason}", "put a plain file there")
        case None:
            return settings, ()


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
    home, project = app.home, app.project
    url = _url(app)
    lines = [
        f"amiral {__version__} · home {home}",
        f"found   {' · '.join(described(cli) for cli in clis)}",
        f"project {project.name} ({one_line(project.path, _LONGEST_SHOWN)})",
        *(f"notice  {notice}" for notice in app.notices()),
        *([f"open    {url}   (valid once, 10 minutes)"] if url else []),
        f"socket  {app.socket_path}",
        f'chat    {_command()} say -p {quote(project.name)} "/c what does this project do?"',
    ]
    data = {
        "url": url,
        "socket": str(app.socket_path),
        "projects": [project],
        "clis": clis,
        "notices": app.notices(),
    }
    return Reply("\n".join(lines), data)


def _url(app: App) -> str:
    """Give the page's address, "" when there is no page: a notice says why."""
    try:
        return app.new_url()
    except Broken:
        return ""


async def _refuse_second(home: Path, project: Project) -> None:
    """Raise Conflict naming the process that serves this project already."""
    server = await _server_of(served_by(home, project).socket)
    if server is not None:
        who = f"process {server}" if server else "another process"
        raise Conflict(f"{project.name} is served by {who} already", "end it first: amiral down")


async def _server_of(path: Path) -> int | None:
    """Give the process that listens, 0 where the system does not tell, None when none does."""
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except OSError:
        return None
    server = peer_of(writer.get_extra_info("socket"), "").pid
    writer.close()
    return server


def _command() -> str:
    """Name the command as this person can type it."""
    program = Path(sys.argv[0])
    on_path = any(
        Path(folder, "amiral").exists() for folder in os.environ.get("PATH", "").split(":")
    )
    return "amiral" if on_path or program.name != "amiral" else os.path.relpath(program)
