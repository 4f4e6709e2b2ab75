"""The clock whose time a test moves."""

import asyncio
import threading

import pytest

from amiral.base.clock import Clock
from amiral.testbench.fake_clock import FakeClock

Woken = list[tuple[float, float]]


def start_sleepers(clock: Clock, woken: Woken, *seconds: float) -> list[asyncio.Task]:
    async def sleep(time_s: float) -> None:
        await clock.sleep(time_s)
        woken.append((time_s, clock.monotonic_s()))

    return [asyncio.create_task(sleep(time_s)) for time_s in seconds]


async def test_nobody_wakes_before_the_time_and_all_wake_in_its_order():
    clock = FakeClock()
    woken: Woken = []
    tasks = start_sleepers(clock, woken, 3, 1, 2, 2)
    await clock.advance(0.5)
    assert clock.sleeping == 4
    assert len(woken) == 0
    await clock.advance(2)
    assert woken == [(1, 1.0), (2, 2.0), (2, 2.0)]
    await clock.advance(10)
    assert woken[3:] == [(3, 3.0)]
    assert clock.monotonic_s() == 12.5
    await asyncio.gather(*tasks)


async def test_a_loop_that_sleeps_again_is_woken_at_each_of_its_times():
    clock, ticks = FakeClock(), []

    async def tick() -> None:
        while True:
            await clock.sleep(30)
            ticks.append(clock.monotonic_s())

    task = asyncio.create_task(tick())
    await clock.advance(3600)
    assert ticks == [30.0 * number for number in range(1, 121)]
    task.cancel()


async def test_a_cancelled_sleeper_is_forgotten():
    clock = FakeClock()
    woken: Woken = []
    (task,) = start_sleepers(clock, woken, 1)
    await clock.advance(0)
    task.cancel()
    await asyncio.wait([task])
    assert clock.sleeping == 0
    await clock.advance(2)
    assert (woken, clock.monotonic_s()) == ([], 2.0)


@pytest.mark.parametrize("seconds", [0, -1])
async def test_no_time_to_sleep_needs_no_time_to_be_moved(seconds):
    clock = FakeClock()
    async with asyncio.timeout(10):
        await clock.sleep(seconds)
    assert clock.monotonic_s() == 0


async def test_wall_time_goes_with_monotonic_time_and_jumps_alone():
    clock = FakeClock(start_ms=1_000_000, monotonic_s=50.0)
    woken: Woken = []
    tasks = start_sleepers(clock, woken, 10)
    assert clock.now_ms() == 1_000_000
    await clock.advance(1.5)
    assert clock.now_ms() == 1_001_500
    clock.jump(8 * 3_600_000)
    assert (clock.now_ms(), clock.monotonic_s(), woken) == (29_801_500, 51.5, [])
    clock.jump(-9 * 3_600_000)
    await clock.advance(10)
    assert woken == [(10, 60.0)]
    await asyncio.gather(*tasks)


async def test_a_test_can_wait_for_a_sleeper_that_a_thread_brings():
    clock = FakeClock()
    woken: Woken = []
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task] = []

    def bring() -> None:
        loop.call_soon_threadsafe(lambda: tasks.extend(start_sleepers(clock, woken, 1)))

    threading.Timer(0.05, bring).start()
    await clock.until_sleeping(1)
    await clock.advance(1)
    assert woken == [(1, 1.0)]
    await asyncio.gather(*tasks)


async def test_waiting_for_a_sleeper_that_never_comes_ends():
    with pytest.raises(TimeoutError):
        await FakeClock().until_sleeping(1, patience_s=0.05)
