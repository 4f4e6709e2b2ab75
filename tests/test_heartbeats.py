"""The sign of life of a project's process: at once, in rounds, and a last word at its end."""

import asyncio
import contextlib

import pytest

from amiral.heartbeats import Heartbeats
from amiral.processes.heartbeat import Heartbeat, heartbeat_path, read
from amiral.projects.project import Project
from amiral.testbench.fake_clock import FakeClock

SHOP = Project("shop-1", "shop", "/shop")


@pytest.fixture
async def beating(tmp_path):
    clock = FakeClock()
    beats = Heartbeats(tmp_path, SHOP, clock, 60)
    task = asyncio.create_task(beats.run())
    await clock.until_sleeping(1)
    yield clock, beats
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def last(home, clock) -> Heartbeat:
    found = read(home, "shop", "shop-1", clock)
    assert isinstance(found, Heartbeat), found
    return found


async def test_s1_24_a_beat_is_left_at_once_and_in_each_round(tmp_path, beating):
    clock, beats = beating
    for number in (1, 2, 3):
        beat = last(tmp_path, clock)
        assert (beat.seq, beat.state, beats.age_s()) == (number, "running", 0)
        assert heartbeat_path(tmp_path, "shop", "shop-1").name == "heartbeat_shop.json"
        await clock.advance(59)
        assert beats.age_s() == 59
        await clock.advance(1)
        await clock.until_sleeping(1)


async def test_the_last_one_says_that_the_end_was_asked_for(tmp_path, beating):
    clock, beats = beating
    await beats.end()
    assert (last(tmp_path, clock).seq, last(tmp_path, clock).state) == (2, "ended")


async def test_s09_a_disk_that_refuses_a_beat_does_not_end_the_beating(tmp_path, beating):
    clock, _ = beating
    folder = tmp_path / "state"
    folder.rename(tmp_path / "away")
    folder.write_text("in the way")
    await clock.advance(60)
    await clock.until_sleeping(1)
    folder.unlink()
    await clock.advance(60)
    await clock.until_sleeping(1)
    assert last(tmp_path, clock).seq == 3
