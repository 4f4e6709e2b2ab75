"""`amiral deploy`: run the owner's deploy command of one project, or of each that has one."""

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from amiral.base.clock import SystemClock
from amiral.base.errors import AmiralError, Conflict, Invalid, NotFound
from amiral.base.ids import digest
from amiral.base.plain import one_line, plain
from amiral.base.settings import ProjectSettings, Settings
from amiral.commands.registry import Parsed, Reply
from amiral.config import find_home, load_settings
from amiral.local.interview import typed
from amiral.local.owner import refuse_agents
from amiral.local.terminal import answer
from amiral.processes.spawn import Child, Spawner, Stdio, base_environment
from amiral.projects.own_tests import configured
from amiral.projects.project import Project
from amiral.projects.store import Projects
from amiral.store.brake import Brake

EVERY = "all"

_LONGEST_S = 3600.0
_AFTER_S = 0.5
_MOST_SHOWN = 1 << 20
_TAIL = 4000
_CHUNK = 1 << 16
_LONGEST = 300
_HANDED_ON = ("SSH_AUTH_SOCK",)


@dataclass(frozen=True)
class Deployed:
    """How one deploy ended: `code` is negative for a signal, `why` says what kept it from running.

    `tail` is the last of what it printed.
    """

    project: str
    command: str
    ok: bool
    code: int | None
    seconds: float
    tail: str
    why: str = ""


def run(argv: Sequence[str]) -> int:
    """Deploy; what the command prints is shown as it comes."""
    return answer(argv, partial(_deploy, as_json="--json" in argv))


def _deploy(parsed: Parsed, *, as_json: bool) -> Reply:
    home = find_home(os.environ)
    refuse_agents(home, "deploy")
    settings = load_settings(home, os.environ)
    wanted = str(parsed.arguments["name"])
    chosen = _chosen(home, settings, wanted)
    if not parsed.arguments.get("yes"):
        _confirm(chosen, may_ask=not as_json)
    done = asyncio.run(_each(home, chosen, is_shown=not as_json))
    lines = [_line(one) for one in done]
    is_ok = all(one.ok for one in done)
    return Reply("\n".join(lines), {"ok": is_ok, "deploys": done}, 0 if is_ok else 1)


def _chosen(home: Path, settings: Settings, wanted: str) -> tuple[tuple[Project, str], ...]:
    """Give the projects meant, each with its command."""
    projects = Projects(home, Path.home())
    known = projects.all() if wanted == EVERY else (projects.named(wanted),)
    commands = ((one, _command(settings, one)) for one in known)
    chosen = tuple((one, command) for one, command in commands if command)
    if not chosen:
        what = "no project" if wanted == EVERY else known[0].name
        raise NotFound(
            f"{what} has a deploy command" if wanted == EVERY else f"{what} has no deploy command",
            "set it in amiral.toml: [projects.NAME] deploy",
        )
    return chosen


def _command(settings: Settings, project: Project) -> str:
    return settings.projects.get(project.name, ProjectSettings()).deploy.strip()


def _confirm(chosen: Sequence[tuple[Project, str]], *, may_ask: bool) -> None:
    if not may_ask or not sys.stdin.isatty():
        raise Invalid("there is nobody to ask", "add --yes")
    for project, command in chosen:
        where = one_line(project.path, _LONGEST)
        sys.stdout.write(f"{project.name}: {one_line(command, _LONGEST)}   in {where}\n")
    if typed("Run it? [no] ").strip().casefold() not in ("y", "yes", "o", "oui"):
        raise Conflict("nothing was deployed")


async def _each(
    home: Path, chosen: Sequence[tuple[Project, str]], *, is_shown: bool
) -> list[Deployed]:
    """Deploy one after the other; one that fails keeps no other from its turn, a stop does."""
    done = []
    for project, command in chosen:
        brake = Brake(home / "brake", project.id)
        brake.prepare()
        spawner = Spawner(brake, f"{digest(str(home))}:{project.id}")
        is_alone = len(chosen) == 1
        if is_shown and not is_alone:
            sys.stdout.write(f"{project.name}\n")
        one = await _one(spawner, project, command, is_shown=is_shown, is_alone=is_alone)
        done.append(one)
    return done


async def _one(
    spawner: Spawner, project: Project, command: str, *, is_shown: bool, is_alone: bool
) -> Deployed:
    """Run one; what keeps it from starting is raised when there is no other to go on with."""
    clock = SystemClock()
    began_s = clock.monotonic_s()
    output = _Output(is_shown=is_shown)
    code, why = None, ""
    try:
        code = await _run(spawner, project, command, output)
        why = f"stopped after {_LONGEST_S:g} s" if code is None else ""
    except AmiralError as error:
        if is_alone:
            raise
        why = f"{error.message} ({error.next_step})" if error.next_step else error.message
    took_s = round(clock.monotonic_s() - began_s, 1)
    return Deployed(project.name, command, code == 0, code, took_s, output.tail(), why)


async def _run(spawner: Spawner, project: Project, command: str, output: "_Output") -> int | None:
    """Run one to its end and give its code, None when it took too long; nothing of it is left."""
    reading, writing = os.pipe()
    try:
        child = spawner.start(
            configured(command),
            kind="deploy",
            env=_environment(),
            cwd=project.path,
            stdio=Stdio(stdout=writing, stderr=writing),
        )
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    try:
        return await _followed(child, reading, output)
    finally:
        if not child.has_ended:
            child.drop()


async def _followed(child: Child, reading: int, output: "_Output") -> int | None:
    loop = asyncio.get_running_loop()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        transport, _ = await loop.connect_read_pipe(lambda: output, pipe)
        try:
            code = await _code_of(child)
            # What it leaves behind may hold the pipe open, and is ended as what a test leaves is.
            await asyncio.to_thread(child.kill)
            await asyncio.wait([output.ended], timeout=_AFTER_S)
        finally:
            transport.close()
    return code


async def _code_of(child: Child) -> int | None:
    try:
        return await asyncio.wait_for(child.exited(), _LONGEST_S)
    except TimeoutError:
        return None


def _environment() -> dict[str, str]:
    handed = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    return {**base_environment(), **handed}


class _Output(asyncio.Protocol):
    """Shows whole lines as they come, up to a bound, and keeps the last of them."""

    def __init__(self, *, is_shown: bool) -> None:
        self.ended = asyncio.get_running_loop().create_future()
        self._is_shown, self._shown = is_shown, 0
        self._line, self._kept = b"", b""

    def data_received(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-_TAIL:]
        whole, newline, rest = (self._line + data).rpartition(b"\n")
        if len(rest) > _CHUNK:
            whole, newline, rest = whole + newline + rest, b"\n", b""
        self._line = rest
        self._show(whole + newline)

    def connection_lost(self, _error: Exception | None) -> None:
        self._show(self._line + b"\n" if self._line else b"")
        self.ended.set_result(None)

    def tail(self) -> str:
        """Give the last of it as text."""
        return plain(self._kept.decode("utf-8", "replace")).strip()

    def _show(self, lines: bytes) -> None:
        if not lines or not self._is_shown or self._shown > _MOST_SHOWN:
            return
        self._shown += len(lines)
        sys.stdout.write(plain(lines.decode("utf-8", "replace")))
        if self._shown > _MOST_SHOWN:
            sys.stdout.write("… it prints more than is shown\n")
        sys.stdout.flush()


def _line(one: Deployed) -> str:
    if one.ok:
        return f"✓ {one.project} deployed · {one.seconds:g} s"
    ended = "" if one.code is None else f"ended by signal {-one.code}"
    how = one.why or (f"exit code {one.code}" if one.code and one.code > 0 else ended)
    return f"✗ {one.project} not deployed: {how}"
