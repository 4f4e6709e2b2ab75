"""`amiral up` and `amiral hub`: hub, guard and one process a project, here or with `--detach`."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from amiral import __version__
from amiral.base.clock import SystemClock
from amiral.base.errors import AmiralError, Broken, Conflict, Invalid
from amiral.base.home import home_folder
from amiral.base.plain import one_line
from amiral.commands.output import print_reply
from amiral.commands.registry import Parsed, Reply
from amiral.config import find_home, load_settings
from amiral.hub.app import SOCKET, Hub
from amiral.hub.asking import Silent, ask
from amiral.local.background import start_in_background
from amiral.local.choice import chosen_project, with_port
from amiral.local.owner import refuse_agents
from amiral.local.terminal import answer, show
from amiral.processes.spawn import Spawner
from amiral.projects.project import Project
from amiral.projects.served import served_by
from amiral.safety.reviving import want, want_no_more
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder

_LONGEST_SOCKET = 100
_LONGEST_SHOWN = 300
_START_S = 30.0
_ANSWER_S = 5.0
_LOOK_S = 0.1
_CLIS_S = 30.0
_NOT_YET = ("starting", "waiting", "not started")
_AT_REST = ("ended", "parked")


Seen = tuple[str, str]
"""A project's state, and why."""

_Notices = tuple[list[str], list[str]]
"""What a person should know, and which projects do not run."""


@dataclass(frozen=True)
class _Wish:
    """What is asked for: these projects, at this port."""

    home: Path
    projects: tuple[Project, ...]
    port: int | None

    def options(self) -> tuple[str, ...]:
        """Write it as words of `up`."""
        port = () if self.port is None else ("--port", str(self.port))
        return (*(project.path for project in self.projects), *port)


def run(argv: list[str]) -> int:
    """Start, print what a newcomer needs, and serve until the end."""
    return answer(argv, lambda parsed: _start(parsed, as_json="--json" in argv))


def _start(parsed: Parsed, *, as_json: bool) -> Reply:
    """Say in one line what of the machine stands in the way: a disk, its rights, a network."""
    try:
        return _up(parsed, as_json=as_json)
    except OSError as error:
        why = error.strerror or str(error)
        what = f"{error.filename}: {why}" if error.filename else why
        fix = f"check the disk and the rights of {home_folder()}"
        raise Broken(f"amiral cannot run: {what}", fix) from error


def _up(parsed: Parsed, *, as_json: bool) -> Reply:
    home = find_home(os.environ)
    refuse_agents(home, "start amiral")
    settings = with_port(load_settings(home, os.environ), parsed)
    ensure_private_folder(home)
    port = parsed.arguments.get("port")
    wish = _Wish(home, _projects(home, parsed), port if isinstance(port, int) else None)
    _check_sockets(wish)
    running = asyncio.run(_running_hub(wish))
    if running is not None and parsed.command == "hub":
        raise Conflict("a hub serves this home already", "end it first: amiral down")
    if running is not None:
        return running
    if parsed.arguments.get("detach"):
        return asyncio.run(start_in_background(home, wish.options()))
    asyncio.run(_serve(Hub(home, settings), wish, as_json=as_json))
    return Reply()


def _projects(home: Path, parsed: Parsed) -> tuple[Project, ...]:
    if parsed.command == "hub":
        return ()
    paths = parsed.arguments.get("path", ())
    named = paths if isinstance(paths, tuple) else (paths,)
    is_sample = bool(parsed.arguments.get("sample"))
    if not named:
        return (chosen_project(home, "", is_sample=is_sample),)
    found = [chosen_project(home, str(path), is_sample=False) for path in named]
    return tuple(dict.fromkeys(found))


def _check_sockets(wish: _Wish) -> None:
    for project in wish.projects:
        path = served_by(wish.home, project).socket
        if len(os.fsencode(path)) > _LONGEST_SOCKET:
            raise Invalid(f"{path} is too long for a socket", "choose a shorter AMIRAL_HOME")


async def _running_hub(wish: _Wish) -> Reply | None:
    """Let a hub that runs take the projects up; None when there is none."""
    path = wish.home / "run" / SOCKET
    try:
        told = await ask(path, ["url"], _ANSWER_S)
    except Silent:
        return None
    except AmiralError as error:
        told = {"url": "", "notice": error.message}

    async def states() -> Mapping[str, Seen]:
        seen = await ask(path, ["watchdog"], _ANSWER_S)
        rows = seen["children"]
        return {str(one["name"]): (str(one["state"]), str(one["reason"])) for one in rows}

    async def restart(name: str) -> object:
        return await ask(path, ["restart", "--", name], _ANSWER_S)

    notices = [str(told["notice"])] if "notice" in told else []
    if wish.port is not None:
        notices.append("the hub runs already: its port stays as it is (amiral down, amiral up)")
    missing = await _await_started(wish, states, restart)
    text, data = _told(wish, str(told["url"]), (notices, missing), ())
    return Reply(text, data, exit_code=1 if missing else 0)


async def _serve(hub: Hub, wish: _Wish, *, as_json: bool) -> None:
    """Serve until told to end: Ctrl-C ends everything, SIGTERM the hub alone (as at a restart)."""
    loop, is_whole = asyncio.get_running_loop(), asyncio.Event()

    def end_whole() -> None:
        is_whole.set()
        hub.over.set()

    loop.add_signal_handler(signal.SIGTERM, hub.over.set)
    loop.add_signal_handler(signal.SIGINT, end_whole)
    try:
        await hub.start()
        if wish.projects:
            want(str(wish.home), wish.port)

        async def states() -> Mapping[str, Seen]:
            return {one.project.name: (one.state, one.reason) for one in hub.supervisor.states()}

        async def restart(name: str) -> None:
            ids = {one.name: one.id for one in wish.projects}
            await hub.supervisor.restart(ids[name])

        clis = asyncio.create_task(_clis(wish.home))
        notices = [*hub.notices(), *_stop_notice(wish.home)]
        missing = await _await_started(wish, states, restart)
        show(print_reply(_banner(hub, wish, (notices, missing), await clis), as_json=as_json))
        sys.stdout.flush()
        await hub.over.wait()
        want_no_more(str(wish.home))
        if is_whole.is_set():
            await hub.end_children()
            hub.guarding.end()
    finally:
        await hub.close()


async def _await_started(
    wish: _Wish,
    states: Callable[[], Awaitable[Mapping[str, Seen]]],
    restart: Callable[[str], Awaitable[object]],
) -> list[str]:
    """Wait until every project asked for runs, and tell of those that do not.

    One at rest is started: it was ended by a person, or given up, and a person wants it now.
    """
    clock = SystemClock()
    by_s = clock.monotonic_s() + _START_S
    resting = {name for name, (state, _) in (await states()).items() if state in _AT_REST}
    for project in wish.projects:
        if project.name in resting:
            await restart(project.name)
    while True:
        now = await states()
        missing = {p.name: now.get(p.name, ("not started", "")) for p in wish.projects}
        missing = {name: seen for name, seen in missing.items() if seen[0] != "running"}
        is_settled = not any(state in _NOT_YET for state, _ in missing.values())
        if is_settled or clock.monotonic_s() > by_s:
            return [f"{name} does not run: {': '.join(seen)}" for name, seen in missing.items()]
        await clock.sleep(_LOOK_S)


def _stop_notice(home: Path) -> Iterable[str]:
    stop = Brake(home / "brake").state()
    if stop is not None:
        yield f"{stop.name} is on, nothing starts: {stop.way_out}"


async def _clis(home: Path) -> Sequence[str]:
    """Have the CLIs looked at in a process of its own: the hub holds no agent code."""
    argv = [sys.executable, "-m", "amiral", "drivers", "--json"]
    spawner = Spawner(Brake(home / "brake"), "")
    env = dict(os.environ)
    ran = await spawner.run(argv, kind="own", env=env, cwd="/", timeout_s=_CLIS_S)
    try:
        return [str(line) for line in json.loads(ran.out)["found"]]
    except (ValueError, LookupError, TypeError):
        return ()


def _banner(hub: Hub, wish: _Wish, notices: _Notices, clis: Sequence[str]) -> Reply:
    try:
        url = hub.new_url()
    except Broken:
        url = ""
    return Reply(*_told(wish, url, notices, clis))


def _told(
    wish: _Wish, url: str, notices: _Notices, clis: Sequence[str]
) -> tuple[str, dict[str, Any]]:
    lines = [f"amiral {__version__} · home {wish.home}"]
    lines += [f"found   {' · '.join(clis)}"] if clis else []
    lines += [f"project {p.name} ({one_line(p.path, _LONGEST_SHOWN)})" for p in wish.projects]
    told, missing = notices
    lines += [f"notice  {notice}" for notice in (*told, *missing)]
    lines += [f"open    {url}   (valid once, 10 minutes)"] if url else []
    lines += [
        f'chat    {_command()} say -p {quote(p.name)} "/c what does this project do?"'
        for p in wish.projects[:1]
    ]
    data: dict[str, Any] = {"url": url, "pid": os.getpid(), "projects": wish.projects}
    data |= {"notices": [*told, *missing], "missing": missing}
    return "\n".join(lines), data


def _command() -> str:
    """Name the command as this person can type it."""
    program = Path(sys.argv[0])
    on_path = any(
        Path(folder, "amiral").exists() for folder in os.environ.get("PATH", "").split(":")
    )
    return "amiral" if on_path or program.name != "amiral" else os.path.relpath(program)
