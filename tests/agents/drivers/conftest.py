"""Real agent CLIs under test: where they are, and that they can reach nothing but this machine."""

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from amiral.agents.driver import Asked, Finished, Input, Seat, Signal
from amiral.agents.framing import Framer, Line
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


class Talk:
    """One process of a CLI, started as its driver plans it, heard through framer and driver."""

    process: Any  # has pipes for all three streams

    def __init__(self, driver, seat: Seat, *, extra=(), without=(), allow=None):
        self.driver, self.seat = driver, seat
        self.state, self.launch = driver.open(seat)
        kept = [arg for arg in self.launch.argv if not arg.startswith(tuple(without) or "\0")]
        self.argv = [*kept, *extra]
        self.allow = allow
        self.heard: list[Signal] = []
        self.lines: list[bytes] = []
        self._framer = Framer()
        self._fresh: list[Signal] = []

    async def __aenter__(self):
        for folder in (self.seat.config_home, self.seat.tmp, self.seat.cwd):
            Path(folder).mkdir(parents=True, exist_ok=True)
        for file in self.launch.files:
            (Path(self.seat.config_home) / file.path).write_text(file.text)
        self.process = await asyncio.create_subprocess_exec(
            *self.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.launch.cwd,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **self.launch.env},
            start_new_session=True,
        )
        await self.write(self.launch.inputs)
        return self

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
        reason = "" if self.allow else "the owner said no"
        lines = self.driver.answer(self.state, asked, allow=self.allow, reason=reason)
        await self.write(lines)

    def all(self, kind: type) -> list:
        return [signal for signal in self.heard if isinstance(signal, kind)]


@pytest.fixture
def talk():
    """Give `talk(driver, seat, …)`: an async context, inside it a CLI that runs."""
    return Talk
