"""The long tasks of a process."""

import asyncio

import pytest

from amiral.base import events as ev
from amiral.longtasks import LongTasks
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock


@pytest.fixture
async def journal(tmp_path):
    opened = await Journal.open(tmp_path / "j" / "journal.db", FakeClock(), ())
    yield opened
    await opened.close()


async def test_a_task_that_meets_a_fault_begins_anew_and_the_fault_is_told_once(journal):
    clock, runs, over = FakeClock(), [], asyncio.Event()

    async def work():
        runs.append(clock.monotonic_s())
        if len(runs) < 4:
            raise OSError("the disk is gone")
        over.set()

    tasks = LongTasks(journal, clock)
    tasks.run("mirrors", work)
    while not over.is_set():
        await clock.until_sleeping(1)
        await clock.advance(60)
    await asyncio.wait_for(over.wait(), 10)
    told = [one.event for one in journal.read(0) if isinstance(one.event, ev.WarningRaised)]
    assert [one.subject for one in told] == ["mirrors"]
    assert "the disk is gone" in told[0].text
    await tasks.close()


async def test_closing_ends_a_task_that_would_run_for_ever(journal):
    tasks = LongTasks(journal, FakeClock())
    ended = []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    tasks.run("upkeep", work)
    await asyncio.sleep(0)
    await tasks.close()
    assert ended == [True]
