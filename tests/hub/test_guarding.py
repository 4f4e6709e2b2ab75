"""The hub keeps a guard: started where none runs, replaced when it hangs, left for the agents."""

import asyncio
import contextlib
import os
import signal
import tempfile
from pathlib import Path

import pytest

from amiral.base.clock import SystemClock
from amiral.base.home import home_tag
from amiral.hub.guarding import Guarding
from amiral.processes.spawn import Spawner
from amiral.processes.tree import identify, is_alive
from amiral.safety.pulse import pulse_of
from amiral.store.brake import Brake

PATIENCE_S = 30


@pytest.fixture
async def guarding():
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        home = Path(folder).resolve() / "home"
        home.mkdir(mode=0o700)
        Brake(home / "brake").prepare()
        one = Guarding(home, Spawner(Brake(home / "brake"), ""), SystemClock())
        task = asyncio.create_task(one.run())
        yield home, one
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        one.end()
        await until(lambda: not pulse_of(str(home)).is_held and is_reaped())


def is_reaped():
    """Whether no ended guard is left to be taken note of."""
    with contextlib.suppress(ChildProcessError):
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    return True


async def until(is_so):
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.05)


async def test_a_guard_is_started_and_a_killed_one_replaced(guarding):
    home, one = guarding
    await until(one.is_guarded)
    first = pulse_of(str(home)).pid
    os.kill(first, signal.SIGKILL)
    await until(lambda: one.is_guarded() and pulse_of(str(home)).pid != first)


async def test_what_the_guard_prints_is_kept_within_bounds():
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        log = Path(folder) / "guard" / "guard.log"
        log.parent.mkdir(mode=0o700)
        log.write_bytes(b"x" * (5 << 20) + b"\nthe last line\n")
        guarding = Guarding(Path(folder), Spawner(Brake(folder), ""), SystemClock())
        os.close(guarding.output.open())
        assert log.stat().st_size == 0
        assert log.with_suffix(".log.1").read_bytes().endswith(b"the last line\n")


async def test_the_guard_stays_as_long_as_agents_of_this_home_run(guarding):
    home, one = guarding
    await until(one.is_guarded)
    guard = identify(pulse_of(str(home)).pid)
    tag = f"{home_tag(str(home))}:shop:s1"
    spawner = Spawner(Brake(home / "brake"), tag)
    agent = spawner.start(["sleep", "60"], kind="shim", env={}, cwd="/")
    try:
        one.end()
        assert guard is not None
        assert is_alive(guard)
        await asyncio.sleep(0)
        assert one.is_guarded()
    finally:
        agent.drop()
