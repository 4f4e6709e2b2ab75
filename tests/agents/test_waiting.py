"""Waiting for something or for time, whichever comes first."""

import asyncio

import pytest

from amiral.agents.waiting import comes_first, happens
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


async def test_work_is_cut_off_by_an_event_that_comes_first():
    event, lock = asyncio.Event(), asyncio.Lock()
    await lock.acquire()
    waiting = asyncio.create_task(comes_first(lock.acquire(), event))
    await asyncio.sleep(0)
    event.set()
    assert not await waiting
    lock.release()
    assert await comes_first(lock.acquire(), asyncio.Event())
    assert lock.locked()


async def test_work_that_fails_says_so():
    async def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await comes_first(fail(), asyncio.Event())
