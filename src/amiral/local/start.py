"""`amiral up`: serve one project in the foreground, or in the background with `--detach`."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from amiral import __version__
from amiral.agents.clis import CliState
from amiral.app import App, socket_path
from amiral.base.clock import SystemClock
from amiral.base.errors import Broken, Conflict, Invalid
from amiral.base.settings import Settings
from amiral.commands.output import print_reply
from amiral.commands.registry import Parsed, Reply
from amiral.config import FILE, find_home, load_settings, narrow
from amiral.local.sample import sample_project
from amiral.local.terminal import answer, show
from amiral.processes.peer import peer_of
from amiral.processes.spawn import Spawner, Stdio
from amiral.projects.project import Project
from amiral.projects.project_files import FOLDER, Found, Unusable, read_file
from amiral.projects.store import Projects
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder

_START_TIMEOUT_S = 30.0
_LOOK_S = 0.05
_NO_LOGIN = " (login needed: set CLAUDE_CODE_OAUTH_TOKEN or ANTHROPIC_API_KEY)"


def run(argv: list[str]) -> int:
    """Start, print what a newcomer needs, and serve until the end."""
    return answer(argv, lambda parsed: _up(parsed, as_json="--json" in argv))


def _up(parsed: Parsed, *, as_json: bool) -> Reply:
    home = find_home(os.environ)
    settings = load_settings(home, os.environ)
    ensure_private_folder(home)
    paths = parsed.arguments.get("path", ())
    if isinstance(paths, tuple) and len(paths) > 1:
        raise Invalid("this version serves one project a process", "run `amiral up` in each folder")
    path = str(paths[0]) if isinstance(paths, tuple) and paths else ""
    project = _project(home, path, is_sample=bool(parsed.arguments.get("sample")))
    asyncio.run(_refuse_second(home, project))
    if parsed.arguments.get("detach"):
        return asyncio.run(_detach(home, project))
    narrowed, warnings = _narrowed(settings, project)
    registry = Projects(home, Path.home()).warning()
    app = App(home, project, narrowed, (*warnings, *([registry] if registry else [])))
    asyncio.run(_serve(app, as_json=as_json))
    return Reply()


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


def _project(home: Path, path: str, *, is_sample: bool) -> Project:
    """Choose the project: PATH, the one we are in, this folder if it looks like one, the sample."""
    projects = Projects(home, Path.home())
    if is_sample:
        return projects.register(sample_project(home), "shop")
    if path:
        return projects.register(Path(path))
    here = Path.cwd()
    known = projects.find(here)
    if known is not None:
        return known
    if (here / ".git").exists() or (here / FOLDER).is_dir():
        return projects.register(here)
    return projects.register(sample_project(home), "shop")


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


async def _banner(app: App) -> Reply:
    clis = await app.clis()
    home, project = app.home, app.project
    lines = [
        f"amiral {__version__} · home {home}",
        f"found   {' · '.join(_described(cli) for cli in clis)}",
        f"project {project.name} ({project.path})",
        *(f"notice  {notice}" for notice in app.notices()),
        f"socket  {app.socket_path}",
        f'chat    {_command()} say -p "{project.name}" "/c what does this project do?"',
    ]
    data = {
        "url": "",
        "socket": str(app.socket_path),
        "projects": [project],
        "clis": clis,
        "notices": app.notices(),
    }
    return Reply("\n".join(lines), data)


def _described(cli: CliState) -> str:
    if cli.problem:
        return f"{cli.driver} (not installed)" if not cli.version else cli.problem
    login = "" if cli.driver == "scripted" else " (logged in)" if cli.is_logged_in else _NO_LOGIN
    return f"{cli.driver} {cli.version}{login}"


async def _refuse_second(home: Path, project: Project) -> None:
    """Raise Conflict naming the process that serves this project already."""
    server = await _server_of(socket_path(home, project))
    if server is not None:
        who = f"process {server}" if server else "another process"
        raise Conflict(f"{project.name} is served by {who} already", "end it first: amiral down")


async def _detach(home: Path, project: Project) -> Reply:
    """Start the same in the background and wait until it answers."""
    log = home / "projects" / project.id / "logs" / "process.log"
    ensure_private_folder(log.parent)
    argv = (sys.executable, "-m", "amiral", "up", project.path, "--json")
    with log.open("ab") as output:
        spawner = Spawner(Brake(home / "brake"), "")
        stdio = Stdio(stdout=output.fileno(), stderr=output.fileno())
        child = spawner.start(argv, kind="own", env=dict(os.environ), cwd="/", stdio=stdio)
    clock = SystemClock()
    until_s = clock.monotonic_s() + _START_TIMEOUT_S
    while clock.monotonic_s() < until_s and not child.has_ended:
        if await _server_of(socket_path(home, project)) in (child.pid, 0):
            told = {"url": "", "pid": child.pid, "projects": [project]}
            return Reply(f"✓ {project.name} is served by process {child.pid}", told)
        await clock.sleep(_LOOK_S)
    raise Broken(f"{project.name} did not start", f"see {log}")


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
