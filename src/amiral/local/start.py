"""`amiral up` and `amiral hub`: hub, guard and one process a project, here or with `--detach`."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from amiral.base.clock import SystemClock
from amiral.base.errors import AmiralError, Broken, Conflict
from amiral.commands.output import print_reply
from amiral.commands.registry import Parsed, Reply
from amiral.config import find_home, load_settings
from amiral.hub.app import Hub
from amiral.hub.asking import SOCKET, Silent, ask
from amiral.hub.farewell import left_text
from amiral.local.background import start_in_background
from amiral.local.choice import chosen_project, with_port
from amiral.local.foreground import Banner, check_socket, run_in_foreground, stop_notice
from amiral.local.owner import refuse_agents
from amiral.local.terminal import show
from amiral.processes.spawn import Spawner
from amiral.projects.project import Project
from amiral.projects.served import served_by
from amiral.safety.reviving import want, want_no_more
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder

_START_S = 30.0
_ANSWER_S = 5.0
_LOOK_S = 0.1
_CLIS_S = 30.0
_NOT_YET = ("starting", "waiting", "not started")
_AT_REST = ("ended", "parked")


Seen = tuple[str, str]
"""A project's state, and why."""


@dataclass(frozen=True)
class _Clis:
    """The CLIs there are, in a few words each, and what a person should know of them."""

    found: tuple[str, ...]
    notices: tuple[str, ...]


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
    return run_in_foreground(argv, _up)


def _up(parsed: Parsed, *, as_json: bool) -> Reply:
    home = find_home(os.environ)
    refuse_agents(home, "start amiral")
    settings = with_port(load_settings(home, os.environ), parsed)
    ensure_private_folder(home)
    port = parsed.arguments.get("port")
    wish = _Wish(home, _projects(home, parsed), port if isinstance(port, int) else None)
    for project in wish.projects:
        check_socket(served_by(home, project))
    running = asyncio.run(_running_hub(wish))
    if running is not None and parsed.command == "hub":
        raise Conflict("a hub serves this home already", "end it first: amiral down")
    if running is not None:
        return running
    if parsed.arguments.get("detach"):
        return asyncio.run(start_in_background(home, wish.options()))
    return asyncio.run(_serve(Hub(home, settings), wish, as_json=as_json))


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
    clis = asyncio.create_task(_clis(wish.home))
    missing = await _await_started(wish, states, restart)
    banner = _banner(wish, str(told["url"]), notices, missing, await clis)
    return replace(banner, exit_code=1 if missing else 0)


async def _serve(hub: Hub, wish: _Wish, *, as_json: bool) -> Reply:
    """Serve until told to end: Ctrl-C ends everything, SIGTERM the hub alone (as at a restart).

    Gives what there is to say at the end: which process did not.
    """
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
        notices = [*hub.notices(), *stop_notice(wish.home)]
        missing = await _await_started(wish, states, restart)
        banner = _banner(wish, _url(hub), notices, missing, await clis)
        show(print_reply(banner, as_json=as_json))
        sys.stdout.flush()
        await hub.over.wait()
        want_no_more(str(wish.home))
        if not is_whole.is_set():
            return Reply()
        left = await hub.end_children()
        hub.guarding.end()
        return Reply(left_text(left), {"left": left}, exit_code=1) if left else Reply()
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


async def _clis(home: Path) -> _Clis:
    """Have the CLIs looked at in a process of its own: the hub holds no agent code."""
    argv = [sys.executable, "-m", "amiral", "drivers", "--json"]
    spawner = Spawner(Brake(home / "brake"), "")
    env = dict(os.environ)
    ran = await spawner.run(argv, kind="own", env=env, cwd="/", timeout_s=_CLIS_S)
    try:
        told = json.loads(ran.out)
        return _Clis(tuple(map(str, told["found"])), tuple(map(str, told["notices"])))
    except (ValueError, LookupError, TypeError):
        return _Clis((), ("which agent CLIs there are is not known: amiral drivers",))


def _url(hub: Hub) -> str:
    try:
        return hub.new_url()
    except Broken:
        return ""


def _banner(
    wish: _Wish, url: str, notices: Sequence[str], missing: Sequence[str], clis: _Clis
) -> Reply:
    told = [*clis.notices, *notices, *missing]
    data = {
        "url": url,
        "pid": os.getpid(),
        "projects": wish.projects,
        "found": clis.found,
        "notices": told,
        "missing": missing,
    }
    return Reply(Banner(wish.home, wish.projects, clis.found, told, url).text, data)
