"""The stream: every event once and in order, whatever happens to the connection (R52)."""

import asyncio
import random

import pytest

from amiral.base.events import RoleChosen

EVENTS = 10_000


async def append(journal, count, start=0, step=50):
    for first in range(start, start + count, step):
        last = min(first + step, start + count)
        await journal.append(*(RoleChosen(str(number)) for number in range(first, last)))


async def test_an_event_comes_as_the_journal_holds_it(served):
    reader = await served.listen()
    await served.journal.append(RoleChosen("dévelöper\n\u202e"), by="an\nowner")
    (event,) = await reader.take(1)
    (stored,) = served.journal.read(served.journal.last_seq - 1)
    assert event.type == "RoleChosen"
    assert event.id == f"{served.journal.epoch}:{stored.seq}"
    told = event.json()
    assert list(told) == ["seq", "ts", "by", "name", "version", "payload"]
    assert (told["seq"], told["by"], told["name"]) == (stored.seq, "an\nowner", "RoleChosen")
    assert told["payload"] == {"worker": "dévelöper\n\u202e"}
    assert stored.payload.decode() in event.data, "the stored bytes, spliced"
    assert told["ts"].endswith("Z")
    reader.cut()


async def write_for_seconds(journal, seconds):
    """Append all events in 100 parts over this time."""
    for part in range(100):
        await append(journal, EVENTS // 100, part * EVENTS // 100)
        await asyncio.sleep(seconds / 100)


async def test_r52_ten_thousand_events_with_the_connection_cut_every_second(served, parser):
    """No gap, no double, though cuts fall inside events; a second tab reads on undisturbed."""
    first, cuts = parser(), 0
    seen: list[int] = []
    values: list[str] = []
    path = f"/api/stream?after={served.journal.epoch}:{served.journal.last_seq}"
    tab = asyncio.create_task((await served.listen()).take(EVENTS))
    writing = asyncio.create_task(write_for_seconds(served.journal, 5))
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(50):
        while len(seen) < EVENTS:
            reader = await served.listen(first, path)
            until = loop.time() + 1
            while len(seen) < EVENTS:
                data = await reader.chunk()
                is_last = loop.time() > until
                for event in first.feed(data[: random.randrange(len(data))] if is_last else data):
                    seen.append(event.seq)
                    values.append(event.json()["payload"]["worker"])
                if is_last:
                    break
            reader.cut()
            cuts += 1
    await writing
    last = served.journal.last_seq
    assert seen == list(range(last - EVENTS + 1, last + 1))
    assert values == [str(number) for number in range(EVENTS)]
    assert cuts >= 4
    assert [event.seq for event in await tab] == seen


async def test_r52_a_server_that_starts_again_goes_on_where_the_reader_was(
    serving, short_path, parser
):
    at = parser()
    async with serving(short_path) as served:
        reader = await (await served.log_in()).listen(at)
        await append(served.journal, 5)
        assert [event.json()["payload"]["worker"] for event in await reader.take(5)] == [*"01234"]
        cookie = served.cookie
        await append(served.journal, 2, 5)
    async with serving(short_path) as again:
        again.cookie = cookie
        await append(again.journal, 1, 7)
        reader = await again.listen(at)
        assert [event.json()["payload"]["worker"] for event in await reader.take(3)] == [*"567"]
        reader.cut()


async def test_the_first_thing_told_is_the_place_and_how_soon_to_come_back(served, parser):
    at = parser()
    reader = await served.listen(at)
    list(at.feed(await reader.chunk()))
    assert at.last_id == f"{served.journal.epoch}:{served.journal.last_seq}"
    assert at.retry == "1000"
    assert "text/event-stream" in reader.head
    assert "content-length" not in reader.head
    reader.cut()
    await append(served.journal, 3)
    reader = await served.listen(at)
    assert len(await reader.take(3)) == 3, "nothing is lost though no event had come yet"
    reader.cut()


@pytest.mark.parametrize(
    "place",
    ["garbage", "x:1", "{epoch}:", "{epoch}:999999", "{epoch}:-1", "{epoch}:1.0", "otherepoch:1"]
    + ["{epoch}:" + "9" * 400, ":", "{epoch}:1\u00e9"],
)
async def test_r52_a_place_that_means_nothing_is_one_resync_and_then_from_now(
    served, parser, place
):
    await append(served.journal, 3)
    at = parser(last_id=place.format(epoch=served.journal.epoch))
    reader = await served.listen(at)
    (resync,) = await reader.take(1)
    now = served.journal.last_seq
    assert resync.type == "resync"
    assert resync.json() == {"epoch": served.journal.epoch, "seq": now}
    await append(served.journal, 2)
    assert [event.seq for event in await reader.take(2)] == [now + 1, now + 2]
    reader.cut()


async def test_the_header_wins_over_the_address_which_a_browser_keeps_for_ever(served, parser):
    await append(served.journal, 4)
    last = served.journal.last_seq
    path = f"/api/stream?after={served.journal.epoch}:{last - 3}"
    reader = await served.listen(None, path)
    assert [event.seq for event in await reader.take(3)] == [last - 2, last - 1, last]
    reader.cut()
    at = parser(last_id=f"{served.journal.epoch}:{last - 1}")
    reader = await served.listen(at, path)
    assert [event.seq for event in await reader.take(1)] == [last]
    reader.cut()


async def test_everything_can_be_read_from_the_first_event_on(served):
    await append(served.journal, 700)
    reader = await served.listen(None, f"/api/stream?after={served.journal.epoch}:0")
    found = await reader.take(701)
    assert [event.seq for event in found] == list(range(1, 702))
    assert found[0].type == "WebSessionOpened"
    reader.cut()


async def test_a_reader_that_hangs_up_is_forgotten_at_once(served):
    readers = [await served.listen() for _ in range(3)]
    assert served.streams == 3
    for reader in readers:
        reader.cut()
    async with asyncio.timeout(5):
        while served.streams:
            await asyncio.sleep(0.01)


async def test_asking_for_the_head_alone_opens_no_stream(served):
    answer = await served.ask("HEAD", "/api/stream", {"cookie": served.cookie})
    assert (answer.status, answer.body, served.streams) == (200, b"", 0)


async def test_streams_end_when_the_server_does(serving, short_path):
    async with serving(short_path) as served:
        reader = await (await served.log_in()).listen()
        reading = asyncio.create_task(reader.rest())
        await append(served.journal, 1)
        async with asyncio.timeout(5):
            while not reader.parser.last_id.endswith(f":{served.journal.last_seq}"):
                await asyncio.sleep(0.01)
    assert [event.type for event in await reading] == ["RoleChosen"]
