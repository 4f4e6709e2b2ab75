"""Each stop and each release is told once, across every restart of the process that tells."""

import asyncio
import contextlib
import os

import pytest

from amiral.base import events as ev
from amiral.base.clock import SystemClock
from amiral.brakewatch import brake_watcher
from amiral.store.brake import Brake
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock


class Watched:
    """A brake, a journal, and processes that watch one after the other."""

    def __init__(self, brake, journal):
        self.brake, self.journal = brake, journal

    @contextlib.asynccontextmanager
    async def process(self):
        """Let one live for a look, and for another one at the end."""
        clock = FakeClock()
        watching = asyncio.create_task(brake_watcher(self.brake, self.journal, clock)())
        await clock.until_sleeping(1)
        yield
        await clock.advance(1)
        await clock.until_sleeping(1)
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching

    def told(self):
        seen = (one.event for one in self.journal.read(0))
        return [
            (one.on, one.stop_id, one.scope, one.kind)
            for one in seen
            if isinstance(one, ev.BrakeSeen)
        ]


@pytest.fixture
async def watched(tmp_path):
    brake = Brake(tmp_path / "brake", "shop-1")
    brake.prepare()
    journal = await Journal.open(tmp_path / "j" / "journal.db", SystemClock(), ())
    yield Watched(brake, journal)
    await journal.close()


async def test_what_holds_over_a_restart_is_told_once(watched):
    stop = watched.brake.engage("a test", "owner", 0)
    for _ in range(3):
        async with watched.process():
            pass
    assert watched.told() == [(True, stop.stop_id, "all", "stop")]


async def test_what_came_and_what_went_while_no_process_ran_is_told_by_the_next(watched):
    stop = watched.brake.engage("a test", "owner", 0)
    async with watched.process():
        freeze = watched.brake.freeze("a pause", "owner", 0, "shop-1/developer")
    watched.brake.thaw("shop-1/developer")
    watched.brake.release(stop.stop_id)
    second = watched.brake.engage("another", "owner", 0)
    async with watched.process():
        pass
    first, *others = watched.told()
    assert first == (True, stop.stop_id, "all", "stop")
    assert others == [
        (True, freeze.stop_id, "shop-1/developer", "freeze"),
        (True, second.stop_id, "all", "stop"),
        (False, stop.stop_id, "all", "stop"),
        (False, freeze.stop_id, "shop-1/developer", "freeze"),
    ]


async def test_one_of_the_same_name_that_comes_again_is_told_again(watched):
    for _ in range(2):
        os.truncate(watched.brake._latch, 3)
        async with watched.process():
            pass
        watched.brake.release("unknown")
        async with watched.process():
            pass
    assert [one[:2] for one in watched.told()] == [(True, "unknown"), (False, "unknown")] * 2
