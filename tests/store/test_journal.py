"""The journal: durable before it counts, in order, and nothing half done."""

import asyncio
import gc
import os
import sqlite3
import stat
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amiral.base.errors import Broken, Conflict, Denied, Invalid
from amiral.base.events import NoiseRead, RoleChosen, WorkersLoaded
from amiral.store.journal import Journal, Table
from amiral.store.redact import REDACTED, Redactor
from amiral.testbench.fake_clock import FakeClock


async def take(source, count):
    taken = []
    async for stamped in source:
        taken.append(stamped.seq)
        if len(taken) == count:
            break
    await source.aclose()
    return taken


async def test_p01_an_append_answers_its_place_and_reads_back(journal, clock):
    assert await journal.append(RoleChosen("a"), by="owner") == 1
    clock.jump(250)
    assert await journal.append(RoleChosen("b"), WorkersLoaded(("a", "b"), "x")) == 3
    first, second, third = journal.read(0)
    assert (first.seq, first.by, first.name, first.version) == (1, "owner", "RoleChosen", 1)
    assert (first.event, second.event) == (RoleChosen("a"), RoleChosen("b"))
    assert third.event == WorkersLoaded(("a", "b"), "x")
    assert (second.by, second.ts_ms - first.ts_ms) == ("amiral", 250)


async def test_reading_begins_after_a_place_and_ends_at_a_limit(journal):
    await journal.append(*map(RoleChosen, "abcde"))
    assert [one.seq for one in journal.read(1, limit=3)] == [2, 3, 4]
    assert journal.read(5) == []


async def test_table_rows_come_with_their_events(journal):
    await journal.append(RoleChosen("a"), RoleChosen("b"), RoleChosen("a"))
    assert journal.rows("select * from seats order by worker") == [("a", 2, 3), ("b", 1, 2)]
    assert journal.rows("select last from seats where worker = ?", "a") == [(3,)]


async def test_appending_nothing_answers_the_last_place(journal):
    await journal.append(RoleChosen("a"))
    assert await journal.append() == 1


async def test_many_tasks_get_places_without_gap_or_double(journal):
    places = await asyncio.gather(*(journal.append(RoleChosen(f"w{n}")) for n in range(2_000)))
    assert sorted(places) == list(range(1, 2_001))
    assert [one.seq for one in journal.read(0, limit=5_000)] == list(range(1, 2_001))
    assert [journal.read(place - 1, 1)[0].event.worker for place in places[:5]] == [
        f"w{n}" for n in range(5)
    ]


async def test_what_was_stored_is_there_after_opening_again(tmp_path, clock, tables):
    path = tmp_path / "journal.db"
    for number in range(1, 4):
        journal = await Journal.open(path, clock, tables)
        assert await journal.append(RoleChosen("a")) == number
        await journal.close()
    journal = await Journal.open(path, clock, tables)
    assert journal.last_seq == 3
    assert journal.rows("select times from seats") == [(3,)]
    await journal.close()


async def test_the_journal_is_private(tmp_path, journal):
    await journal.append(RoleChosen("a"))
    folder = tmp_path / "project"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes == dict.fromkeys(
        ["journal.db", "journal.db-shm", "journal.db-wal", "journal.db.lock"], 0o600
    )


async def test_a_second_writer_is_refused_and_told_who_the_first_is(tmp_path, journal, tables):
    path = tmp_path / "project" / "journal.db"
    with pytest.raises(Conflict, match=f"in use by process {os.getpid()}"):
        await Journal.open(path, FakeClock(), tables)
    assert await journal.append(RoleChosen("a")) == 1


async def test_queries_cannot_write(journal):
    await journal.append(RoleChosen("a"))
    with pytest.raises(Broken):
        journal.rows("delete from seats returning *")
    assert journal.rows("select count(*) from seats") == [(1,)]


async def test_a_mistaken_query_is_not_blamed_on_the_disk(journal):
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        journal.rows("select * from nowhere")


async def test_a_cancelled_append_is_stored_and_troubles_nobody(journal):
    loop_errors = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: loop_errors.append(told))
    task = asyncio.create_task(journal.append(RoleChosen("a")))
    await asyncio.sleep(0)
    task.cancel()
    assert await journal.append(RoleChosen("b")) == 2
    assert [one.event.worker for one in journal.read(0)] == ["a", "b"]
    assert task.cancelled()
    del task
    gc.collect()
    assert loop_errors == []


async def test_closing_carries_out_what_was_asked_before(tmp_path, clock, tables):
    path = tmp_path / "journal.db"
    journal = await Journal.open(path, clock, tables)
    tasks = [asyncio.create_task(journal.append(RoleChosen("a"))) for _ in range(1_500)]
    await asyncio.sleep(0)
    await journal.close()
    await asyncio.sleep(0)
    assert all(task.done() for task in tasks)
    assert [await task for task in tasks] == list(range(1, 1_501))
    again = await Journal.open(path, clock, tables)
    assert again.last_seq == 1_500
    await again.close()


async def test_a_closed_journal_says_so_and_may_be_closed_again(journal):
    await journal.close()
    await journal.close()
    for waiting in (journal.append(RoleChosen("a")), journal.rebuild()):
        with pytest.raises(Conflict, match="is closed"):
            await waiting
    with pytest.raises(Conflict, match="is closed"):
        journal.read(0)


async def test_no_thread_is_left_behind(tmp_path, clock, tables):
    journal = await Journal.open(tmp_path / "journal.db", clock, tables)
    await journal.close()
    deadline = asyncio.get_running_loop().time() + 5
    while any("journal.db" in thread.name for thread in threading.enumerate()):
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.001)


@settings(max_examples=25)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.data())
def test_a_subscription_from_any_place_has_history_then_news(tmp_path_factory, sizes, data):
    total = sum(sizes)
    since = data.draw(st.integers(0, sizes[0]))

    async def run():
        folder = tmp_path_factory.mktemp("journal")
        journal = await Journal.open(folder / "journal.db", FakeClock(), [])
        await journal.append(*[RoleChosen("a")] * sizes[0])
        reader = asyncio.create_task(take(journal.subscribe(since), total - since))
        for size in sizes[1:]:
            await journal.append(*[RoleChosen("a")] * size)
        async with asyncio.timeout(10):
            seen = await reader if since < total else []
        reader.cancel()
        await journal.close()
        assert seen == list(range(since + 1, total + 1))

    asyncio.run(run())


async def test_p11_a_reader_far_behind_reads_the_file_and_misses_nothing(journal):
    source = journal.subscribe(0)
    await journal.append(RoleChosen("a"))
    assert (await anext(source)).seq == 1
    for _ in range(5):
        await journal.append(*[RoleChosen("a")] * 1_200)
    assert await take(source, 6_000) == list(range(2, 6_002))


async def test_batches_hold_what_subscriptions_hold(journal):
    await journal.append(*[RoleChosen("a")] * 700)
    seen = []
    async for batch in journal.batches(100):
        seen += [one.seq for one in batch]
        if seen[-1] == 700:
            break
    assert seen == list(range(101, 701))


async def test_a_subscription_ends_when_the_journal_closes(journal):
    await journal.append(RoleChosen("a"))
    source = journal.subscribe(0)
    assert (await anext(source)).seq == 1
    waiting = asyncio.create_task(anext(source, None))
    await asyncio.sleep(0)
    await journal.close()
    assert await waiting is None


async def test_r52_a_place_in_the_future_is_refused(journal):
    await journal.append(RoleChosen("a"))
    for source in (journal.subscribe(2), journal.batches(2)):
        with pytest.raises(Invalid, match="no event 2 yet, its last one is 1"):
            await anext(source)


async def test_r52_a_journal_has_a_name_of_its_own_for_life(tmp_path, clock, tables):
    names = []
    for path in (tmp_path / "a" / "journal.db", tmp_path / "b" / "journal.db") * 2:
        journal = await Journal.open(path, clock, tables)
        names.append(journal.epoch)
        await journal.close()
    assert names[:2] == names[2:]
    assert names[0] != names[1]


async def test_r50_secrets_reach_neither_the_file_nor_its_tables(tmp_path, clock, tables):
    redact = Redactor(["open sesame"])
    path = tmp_path / "journal.db"
    journal = await Journal.open(path, clock, tables, redact=redact)
    noise = NoiseRead("s", "w", (1, 1), "it said: open sesame")
    await journal.append(RoleChosen("w"), noise)
    await journal.decide(lambda _: ([noise], None))
    files = b"".join(one.read_bytes() for one in tmp_path.glob("journal.db*"))
    told = [one.event for one in journal.read(0)]
    assert told[1:] == [NoiseRead("s", "w", (1, 1), f"it said: {REDACTED}")] * 2
    await journal.close()
    assert b"sesame" not in files + path.read_bytes()


async def test_an_event_that_cannot_be_stored_is_refused_and_nothing_with_it(journal):
    with pytest.raises(Invalid):
        await journal.append(RoleChosen("a"), RoleChosen(5))  # type: ignore[arg-type]
    assert journal.read(0) == []


async def test_a_damaged_file_is_told_plainly_and_can_be_replaced(tmp_path, clock, tables):
    path = tmp_path / "journal.db"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(Broken, match="cannot be used: file is not a database"):
        await Journal.open(path, clock, tables)
    path.unlink()
    journal = await Journal.open(path, clock, tables)
    await journal.close()


async def test_a_journal_of_a_newer_layout_is_left_alone(tmp_path, clock, tables):
    path = tmp_path / "journal.db"
    connection = sqlite3.connect(path)
    connection.execute("pragma user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(Conflict, match="layout 99"):
        await Journal.open(path, clock, tables)
    assert path.read_bytes() == before


async def test_a_folder_where_the_file_should_be_is_told_plainly(tmp_path, clock, tables):
    (tmp_path / "journal.db").mkdir()
    with pytest.raises(Broken, match="cannot open the journal"):
        await Journal.open(tmp_path / "journal.db", clock, tables)
    (tmp_path / "file").touch()
    with pytest.raises(Denied):
        await Journal.open(tmp_path / "file" / "journal.db", clock, tables)


async def test_r39_a_lock_held_by_another_program_delays_and_loses_nothing(tmp_path, journal):
    other = sqlite3.connect(tmp_path / "project" / "journal.db", isolation_level=None)
    other.execute("begin immediate")
    waiting = asyncio.gather(*(journal.append(RoleChosen("a")) for _ in range(50)))
    await asyncio.sleep(0.2)
    assert journal.rows("select count(*) from event") == [(0,)]
    other.execute("rollback")
    other.close()
    assert await waiting == list(range(1, 51))


async def test_the_log_of_changes_does_not_grow_without_end(tmp_path, clock, tables):
    journal = await Journal.open(tmp_path / "journal.db", clock, tables)
    for _ in range(60):
        await journal.append(NoiseRead("s", "w", (1, 1), "x" * 1_000_000))
    assert (tmp_path / "journal.db-wal").stat().st_size < 40_000_000
    await journal.close()
    assert (tmp_path / "journal.db").stat().st_size > 60_000_000


async def test_two_tables_keep_to_their_own(tmp_path, clock, tables):
    def note(write, stamped):
        write("insert into notes values (?)", (stamped.seq,))

    notes = Table("notes", "create table if not exists notes (seq integer primary key);", note)
    journal = await Journal.open(tmp_path / "journal.db", clock, [*tables, notes])
    await journal.append(RoleChosen("a"), WorkersLoaded((), "x"))
    assert journal.rows("select * from notes") == [(1,), (2,)]
    assert journal.rows("select worker from seats") == [("a",)]
    await journal.close()
