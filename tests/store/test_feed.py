"""A reader gets every event once and in order, wherever it starts and however slow it is."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from amiral.base.events import RoleChosen
from amiral.store import feed as feed_module
from amiral.store.codec import encode, stamp
from amiral.store.feed import Feed

DRAFT = encode(RoleChosen("a"), None)


class Source:
    """Stands for the journal's file."""

    def __init__(self, stored=0, payload=DRAFT):
        self.payload = payload
        self.stored = []
        self.reads = 0
        self.feed = Feed(self.read)
        self.stored = stamp([payload] * stored, 1, 0, "x")
        self.feed.last_seq = stored

    def read(self, since, limit):
        self.reads += 1
        return self.stored[since : since + limit]

    def grow(self, count):
        batch = stamp([self.payload] * count, len(self.stored) + 1, 0, "x")
        self.stored += batch
        self.feed.add(batch)


async def follow(feed, since, seen):
    while batch := await feed.after(since):
        seen += [one.seq for one in batch]
        since = batch[-1].seq


@given(
    stored=st.integers(0, 600),
    growth=st.lists(st.integers(1, 700), max_size=6),
    pauses=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    data=st.data(),
)
def test_from_any_place_every_event_comes_once_and_in_order(stored, growth, pauses, data):
    since = data.draw(st.integers(0, stored))

    async def run():
        source = Source(stored)
        seen: list[int] = []
        reader = asyncio.create_task(follow(source.feed, since, seen))
        for count, pause in zip(growth, pauses, strict=False):
            source.grow(count)
            for _ in range(pause):
                await asyncio.sleep(0)
        async with asyncio.timeout(5):
            while (seen[-1] if seen else since) < len(source.stored):
                await asyncio.sleep(0)
            source.feed.end()
            await reader
        assert seen == list(range(since + 1, len(source.stored) + 1))

    asyncio.run(run())


async def test_a_live_reader_never_needs_the_file():
    source = Source(10)
    seen: list[int] = []
    reader = asyncio.create_task(follow(source.feed, 10, seen))
    for _ in range(20):
        source.grow(100)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    source.feed.end()
    await reader
    assert seen == list(range(11, 2011))
    assert source.reads == 0


async def test_p11_what_is_remembered_is_bounded_in_number_and_in_bytes():
    source = Source()
    source.grow(10_000)
    assert len(source.feed._recent) == feed_module._MOST_EVENTS
    big = Source(payload=encode(RoleChosen("x" * 1_000_000), None))
    for _ in range(20):
        big.grow(1)
    assert len(big.feed._recent) == 8
    seen: list[int] = []
    big.feed.end()
    await follow(big.feed, 12, seen)
    assert seen == list(range(13, 21))


async def test_a_reader_of_long_history_lets_others_run():
    source = Source(3_000)
    seen: list[int] = []
    reader = asyncio.create_task(follow(source.feed, 0, seen))
    steps = 0
    while len(seen) < 3_000:
        await asyncio.sleep(0)
        steps += 1
    assert steps > 5
    source.feed.end()
    await reader


async def test_a_reader_that_is_cancelled_disturbs_no_other():
    source = Source()
    seen: list[int] = []
    lost: list[int] = []
    one = asyncio.create_task(follow(source.feed, 0, lost))
    two = asyncio.create_task(follow(source.feed, 0, seen))
    await asyncio.sleep(0)
    one.cancel()
    source.grow(3)
    await asyncio.sleep(0)
    source.feed.end()
    await two
    assert (seen, one.cancelled()) == ([1, 2, 3], True)
