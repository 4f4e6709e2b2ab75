"""Waiting for something or for time, whichever comes first."""

import asyncio

from amiral.agents.waiting import happens
from amiral.testbench.fake_clock import FakeClock


async def test_what_has_happened_is_not_waited_for():
    event, clock = asyncio.Event(), FakeClock()
    event.set()
    assert await happens(event, clock, 60)
    assert clock.sleeping == 0


async def test_what_happens_in_time_ends_the_waiting():
    event, clock = asyncio.Event(), FakeClock()
    task = asyncio.create_task(happens(event, clock, 60))
    await clock.until_sleeping(1)
    await clock.advance(59)
    assert not task.done()
    event.set()
    assert await task
    assert clock.sleeping == 0


async def test_time_that_is_up_ends_the_waiting_too():
    event, clock = asyncio.Event(), FakeClock()
    task = asyncio.create_task(happens(event, clock, 60))
    await clock.until_sleeping(1)
    await clock.advance(60)
    assert await task is False


async def test_one_who_gives_up_leaves_nothing_waiting():
    event, clock = asyncio.Event(), FakeClock()
    task = asyncio.create_task(happens(event, clock, 60))
    await clock.until_sleeping(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.sleep(0)
    assert clock.sleeping == 0
