"""Real agent CLIs under test: where they are, and that they can reach nothing but this machine."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from amiral.agents.clearing import clear_away, opened
from amiral.agents.driver import Asked, Finished, Input, Seat, Signal
from amiral.agents.framing import Framer, Line
from amiral.agents.needs import program_folder
from amiral.permissions.sandbox import Mode, compile_plan
from amiral.permissions.tree import read_tree
from amiral.processes.fence import (
    DELETE,
    DEVICE,
    EXECUTE,
    LEAST_ABI,
    LIST,
    READ,
    WRITE,
    Fence,
    abi,
    system_grants,
)
from amiral.testbench.netns import is_isolated, isolating

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0


def pytest_configure(config):
    config.addinivalue_line("markers", "real_cli: drives a real agent CLI, without any network")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test of a real CLI in a network of its own: in a pytest that sees the loopback only.

    `python -m amiral.testbench.netns -- pytest -m real_cli` runs them all in one such process.
    """
    if pyfuncitem.get_closest_marker("real_cli") is None or is_isolated():
        return None
    plain = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *plain, pyfuncitem.nodeid]
    inner = subprocess.run(
        isolating(command), cwd=ROOT, capture_output=True, text=True, check=False
    )
    if inner.returncode != 0:
        pytest.fail(inner.stdout + inner.stderr, pytrace=False)
    return True


@pytest.fixture
def claude(clis):
    """The pinned Claude Code."""
    return f"{clis('claude')}/node_modules/.bin/claude"


@pytest.fixture
def codex(clis):
    """The pinned Codex."""
    return f"{clis('codex')}/node_modules/.bin/codex"


BECOME = """
import json, os, sys
from amiral.processes.fence import Fence, apply
apply(Fence.from_json(json.loads(sys.argv[1])))
os.execvp(sys.argv[2], sys.argv[2:])
"""


def fenced(argv: list[str], fence: Fence | None) -> list[str]:
    """Give the command line of a program that goes behind the fence and becomes this one."""
    if fence is None:
        return argv
    return [sys.executable, "-I", "-c", BECOME, json.dumps(fence.as_json()), *argv]


BITS = {"read": READ, "list": LIST, "write": WRITE, "delete": DELETE}
OWN = READ | WRITE | DELETE | EXECUTE


def whole_fence(seat: Seat, port: int | None = None, more=()) -> Fence:
    """Give the fence around a CLI: all of the project, nothing of a person's home, one port.

    The project is granted as the seat's permissions compile, as a whole when it has none; `more`
    are paths with what is granted of each.
    """
    plan, grants, fenced = None, [(seat.cwd, OWN)], OWN | DEVICE
    if seat.permissions is not None:
        tree = read_tree(seat.cwd)
        plan = compile_plan(seat.permissions, tree, mode=Mode.SNAPSHOT, asks_first=True)
    if plan is not None:
        grants = [(grant.path, bits(grant.access)) for grant in plan.grants]
        fenced = bits(plan.fenced) | DEVICE
    folder = program_folder(os.path.realpath(seat.command[0]))
    grants += [(seat.config_home, OWN), (seat.tmp, OWN), *system_grants("", [folder])]
    grants += [(path, bits(access)) for path, access in more]
    return Fence(tuple(grants), fenced, None if port is None else (port,))


def bits(access) -> int:
    """Give the bits of what a plan grants or fences."""
    return sum(BITS[str(one)] for one in access)


@pytest.fixture
def fence():
    """Give `fence(seat, …)`, where the kernel can hold one."""
    if abi() < LEAST_ABI:
        pytest.skip(f"Landlock ABI {abi()} holds no fence: run on Linux 6.2 or later")
    return whole_fence


class Talk:
    """One process of a CLI, started as its driver plans it, heard through framer and driver."""

    process: Any  # has pipes for all three streams

    def __init__(self, driver, seat: Seat, *, extra=(), without=(), allow=None, fence=None):
        self.driver, self.seat = driver, seat
        self.state, self.launch = driver.open(seat)
        kept = [arg for arg in self.launch.argv if not arg.startswith(tuple(without) or "\0")]
        self.argv = [*kept, *extra]
        self.allow, self.fence = allow, fence
        self.heard: list[Signal] = []
        self.lines: list[bytes] = []
        self._framer = Framer()
        self._fresh: list[Signal] = []

    async def __aenter__(self):
        for folder in (self.seat.config_home, self.seat.tmp, self.seat.cwd):
            Path(folder).mkdir(parents=True, exist_ok=True)
        self._remove_what_is_owned()
        for file in self.launch.files:
            path = Path(self.seat.config_home) / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            found = path.read_text() if file.is_merged and path.exists() else ""
            path.write_text(self.driver.merged(found, file.text) if found else file.text)
        self.process = await asyncio.create_subprocess_exec(
            *fenced(self.argv, self.fence),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.launch.cwd,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **self.launch.env},
            start_new_session=True,
        )
        await self.write(self.launch.inputs)
        return self

    def _remove_what_is_owned(self):
        home, written = Path(self.seat.config_home), {file.path for file in self.launch.files}
        found = (path for pattern in self.driver.owned for path in home.glob(pattern))
        for path in found:
            if str(path.relative_to(home)) not in written:
                with opened(str(path.parent)) as folder:
                    clear_away(path.name, folder)

    async def __aexit__(self, *_):
        await self.kill()

    async def kill(self):
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, 9)
        await self.process.communicate()

    async def write(self, inputs: tuple[Input, ...]):
        for one in inputs:
            self.process.stdin.write(one.data.encode())
        await self.process.stdin.drain()

    async def say(self, message: str, text: str):
        await self.write(self.driver.say(self.state, message, text))

    async def until(self, *kinds: type) -> Any:
        """Give the next signal of one of these kinds; permissions are answered on the way."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                while self._fresh:
                    signal = self._fresh.pop(0)
                    self.heard.append(signal)
                    if isinstance(signal, Asked) and self.allow is not None:
                        await self._answer(signal)
                    if isinstance(signal, kinds):
                        return signal
                await self._hear()

    async def turn(self, message: str, text: str) -> Finished:
        await self.say(message, text)
        finished = await self.until(Finished)
        assert isinstance(finished, Finished)
        return finished

    async def _hear(self):
        chunk = await self.process.stdout.read(65536)
        if not chunk:
            error = (await self.process.stderr.read()).decode()
            pytest.fail(f"the CLI ended: {error} {self.heard}")
        for line in self._framer.feed(chunk):
            assert isinstance(line, Line)
            self.lines.append(line.data)
            read = self.driver.read(self.state, line.data)
            self.state = read.state
            self._fresh += read.signals
            await self.write(read.inputs)

    async def _answer(self, asked: Asked):
        allow = self.allow(asked) if callable(self.allow) else self.allow
        reason = "" if allow else "the owner said no"
        lines = self.driver.answer(self.state, asked, allow=allow, reason=reason)
        await self.write(lines)

    def all(self, kind: type) -> list:
        return [signal for signal in self.heard if isinstance(signal, kind)]


@pytest.fixture
def talk():
    """Give `talk(driver, seat, …)`: an async context, inside it a CLI that runs."""
    return Talk
