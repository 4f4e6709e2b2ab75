"""Many streams of one journal: shared while they keep up, on their own when they do not (P11)."""

import asyncio
import contextlib
import gc
import os
import re
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amiral.base.events import RoleChosen, WarningRaised
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock
from amiral.web import frames
from amiral.web.fanout import PING_S, Fanout

BIG = 4 << 10
EVENTS = 20_000
MB = 1 << 20
PATIENCE_S = 30


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def journal(tmp_path, clock):
    opened = await Journal.open(tmp_path / "journal.db", clock, [])
    yield opened
    await opened.close()


def numbers(data):
    return [int(seq) for seq in re.findall(rb'^data: \{"seq":(\d+),', data, re.MULTILINE)]


async def take_until(stream, last):
    found: list[int] = []
    async with asyncio.timeout(PATIENCE_S):
        while not found or found[-1] < last:
            found += numbers(await stream.take())
    return found


async def grow(journal, count, size=10):
    for _ in range(count):
        await journal.append(RoleChosen("x" * size))


async def test_two_streams_share_what_was_encoded_once(journal, clock):
    fanout = Fanout(journal, clock)
    one, other = fanout.join(0), fanout.join(0)
    await grow(journal, 1)
    assert await one.take() is await other.take()
    fanout.close()


@given(
    starts=st.lists(st.integers(0, 20), min_size=1, max_size=5),
    sizes=st.lists(st.integers(1, 400_000), min_size=1, max_size=12),
    groups=st.lists(st.integers(1, 5), min_size=12, max_size=12),
)
@settings(max_examples=25)
def test_from_any_place_each_event_comes_once_in_order_whatever_its_size(
    starts, sizes, groups, tmp_path_factory
):
    async def run():
        path = tmp_path_factory.mktemp("fan") / "journal.db"
        journal = await Journal.open(path, FakeClock(), [])
        await journal.append(*(RoleChosen(str(number)) for number in range(20)))
        fanout = Fanout(journal, FakeClock())
        streams = [(start, fanout.join(start)) for start in starts]
        left = list(sizes)
        for group in groups:
            batch, left = left[:group], left[group:]
            await journal.append(*(RoleChosen("x" * size) for size in batch))
        last = 20 + len(sizes)
        for start, stream in streams:
            assert await take_until(stream, last) == list(range(start + 1, last + 1))
        fanout.close()
        await journal.close()

    asyncio.run(run())


async def test_a_stream_that_waits_is_pinged_every_fifteen_seconds(journal, clock):
    fanout = Fanout(journal, clock)
    stream = fanout.join(0)
    taking = asyncio.create_task(stream.take())
    await clock.advance(PING_S - 1)
    assert not taking.done()
    await clock.advance(1)
    assert await taking == frames.PING
    taking = asyncio.create_task(stream.take())
    await clock.advance(PING_S)
    assert await taking == frames.PING
    fanout.close()


async def test_with_the_last_stream_the_reader_of_the_journal_rests_and_begins_anew(journal, clock):
    before = asyncio.all_tasks()
    fanout = Fanout(journal, clock)
    for _ in range(3):
        stream = fanout.join(journal.last_seq)
        assert len(asyncio.all_tasks() - before) == 2
        await grow(journal, 2)
        assert len(await take_until(stream, journal.last_seq)) == 2
        fanout.leave(stream)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
        await grow(journal, 1)


async def test_a_closed_fanout_ends_who_waits_and_who_comes(journal, clock):
    fanout = Fanout(journal, clock)
    waiting = asyncio.create_task(fanout.join(0).take())
    await asyncio.sleep(0)
    fanout.close()
    assert await waiting == b""
    assert await fanout.join(0).take() == b""


async def test_a_journal_that_closes_ends_the_streams(tmp_path, clock):
    journal = await Journal.open(tmp_path / "journal.db", clock, [])
    stream = Fanout(journal, clock).join(0)
    waiting = asyncio.create_task(stream.take())
    await asyncio.sleep(0)
    await journal.close()
    assert await waiting == b""


# ------------------------------------------------------------------ slow clients


def resident_mb():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MB


async def write(journal, count=EVENTS):
    event = WarningRaised("slow", "y" * BIG)
    for _ in range(count // 100):
        await journal.append(*[event] * 100)


async def read_all(reader):
    seqs: list[int] = []
    with contextlib.suppress(asyncio.IncompleteReadError):
        while len(seqs) < EVENTS:
            seqs += [event.seq for event in reader.parser.feed(await reader.chunk())]
    return seqs


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to see memory")
async def test_a_client_that_never_reads_costs_little_and_slows_nobody(served):
    """80 MB pass a client that reads none of it: at most 8 MB more, and the other gets them all."""
    await write(served.journal)
    loop = asyncio.get_running_loop()

    async def timed():
        path = f"/api/stream?after={served.journal.epoch}:{served.journal.last_seq}"
        reading = asyncio.create_task(read_all(await served.listen(None, path)))
        began, first = loop.time(), served.journal.last_seq + 1
        await write(served.journal)
        seqs = await asyncio.wait_for(reading, PATIENCE_S)
        assert seqs == list(range(first, first + EVENTS))
        return loop.time() - began

    alone = await timed()
    before = resident_mb()
    deaf = await connect_deaf(served)
    beside = await timed()
    grown = resident_mb() - before
    assert grown <= 8, f"{grown:.1f} MB"
    assert beside < alone * 2 + 0.5, f"{beside:.2f} s beside it, {alone:.2f} s alone"
    deaf.close()


async def connect_deaf(served):
    """A client whose socket fills up at once: nobody ever reads it."""
    deaf = socket.create_connection(("127.0.0.1", served.port))
    place = f"{served.journal.epoch}:{served.journal.last_seq}"
    head = f"GET /api/stream?after={place} HTTP/1.1\r\nHost: {served.host}\r\n"
    deaf.sendall(f"{head}Cookie: {served.cookie}\r\n\r\n".encode())
    async with asyncio.timeout(5):
        while not served.streams:
            await asyncio.sleep(0.01)
    return deaf


async def test_one_who_reads_again_after_a_long_while_misses_nothing(served):
    slow = await served.listen()
    first = served.journal.last_seq + 1
    await write(served.journal, 4000)
    found = [event.seq for event in await slow.take(4000)]
    assert found == list(range(first, first + 4000))
    slow.cut()


async def test_a_server_that_closes_does_not_wait_for_one_who_never_reads(served):
    deaf = await connect_deaf(served)
    await write(served.journal, 4000)
    async with asyncio.timeout(5):
        await served.web.close()
    deaf.close()
