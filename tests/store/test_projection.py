"""Tables follow from events alone, and are filled again whenever that is in doubt."""

import sqlite3
from dataclasses import replace

import pytest

from amiral.base.errors import Broken
from amiral.base.events import RoleChosen
from amiral.store.journal import Journal, Table


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


def tamper(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


async def test_changes_are_kept_in_a_write_ahead_log(path, clock, tables):
    journal = await fill(path, clock, tables)
    assert journal.rows("pragma journal_mode") == [("wal",)]
    await journal.close()


def put_worker_in(table):
    def put(write, stamped):
        write(f"insert into {table} values (?)", (stamped.event.worker,))

    return put


async def fill(path, clock, tables, *workers):
    journal = await Journal.open(path, clock, tables)
    await journal.append(*map(RoleChosen, workers))
    return journal


async def test_tables_can_be_filled_again_from_the_events(path, clock, tables):
    journal = await fill(path, clock, tables, "a", "b", "a")
    before = journal.rows("select * from seats order by worker")
    tamper(path, "delete from seats", "insert into seats values ('ghost', 9, 9)")
    await journal.rebuild()
    assert journal.rows("select * from seats order by worker") == before
    await journal.close()


async def test_more_events_than_are_read_at_once_fill_them_the_same(path, clock, tables, dump):
    journal = await fill(path, clock, tables, *(f"w{number % 7}" for number in range(2_500)))
    before = dump(path)
    await journal.rebuild()
    assert dump(path) == before
    await journal.close()


async def test_a_table_added_later_has_the_history_too(path, clock, tables):
    await (await fill(path, clock, [], "a", "a")).close()
    journal = await fill(path, clock, tables, "a")
    assert journal.rows("select * from seats") == [("a", 3, 3)]
    await journal.close()


async def test_a_table_whose_shape_changed_is_filled_again(path, clock, tables):
    await (await fill(path, clock, tables, "a")).close()
    changed = Table(
        "seats",
        "create table if not exists seats (worker text); -- ; counts no more",
        put_worker_in("seats"),
    )
    journal = await fill(path, clock, [changed], "b")
    assert journal.rows("select * from seats") == [("a",), ("b",)]
    await journal.close()


async def test_a_comment_in_its_ddl_is_enough_to_fill_it_again(path, clock, tables):
    await (await fill(path, clock, tables, "a")).close()
    tamper(path, "delete from seats")
    await (await fill(path, clock, tables)).close()
    journal = await fill(path, clock, [replace(tables[0], ddl=f"-- 2\n{tables[0].ddl}")])
    assert journal.rows("select * from seats") == [("a", 1, 1)]
    await journal.close()


async def test_a_table_given_up_goes_with_its_indexes_views_and_searches(path, clock, tables, dump):
    extras = Table(
        "extras",
        """
        create table if not exists extra (text text unique);
        create index if not exists by_text on extra (text);
        create view if not exists seen as select * from extra;
        create virtual table if not exists searched using fts5 (text);
        create trigger if not exists copy after insert on extra begin
            insert into searched values (new.text); insert into searched values ('both');
        end;
        """,
        put_worker_in("extra"),
    )
    journal = await fill(path, clock, [extras], "a")
    assert journal.rows("select * from searched") == [("a",), ("both",)]
    await journal.rebuild()
    assert journal.rows("select * from searched") == [("a",), ("both",)]
    await journal.close()
    await (await fill(path, clock, tables)).close()
    assert set(dump(path)) == {"event", "meta", "seats"}


async def test_events_of_a_newer_amiral_are_kept_skipped_and_handed_on(path, clock, tables):
    await (await fill(path, clock, tables, "a")).close()
    tamper(
        path,
        "insert into event values (2, 5, 'x', 'Undreamt', 1, '{}')",
        "insert into event values (3, 5, 'x', 'RoleChosen', 9, '{}')",
    )
    seen = Table(
        "seen",
        "create table if not exists seen (seq integer);",
        lambda write, stamped: write("insert into seen values (?)", (stamped.seq,)),
    )
    journal = await fill(path, clock, [*tables, seen], "a")
    await journal.rebuild()
    assert journal.rows("select * from seats") == [("a", 2, 4)]
    assert journal.rows("select * from seen") == [(1,), (4,)]
    assert [one.event for one in journal.read(0)] == [RoleChosen("a"), None, None, RoleChosen("a")]
    assert journal.read(1)[0].name == "Undreamt"
    await journal.close()


async def test_after_an_older_amiral_the_tables_are_made_whole_again(
    path, clock, tables, run_script
):
    await (await fill(path, clock, tables, "a")).close()
    done = run_script("older_amiral.py", path)
    assert done.stdout == "[] None", done.stderr
    journal = await fill(path, clock, tables)
    assert journal.rows("select * from seats") == [("a", 1, 1)]
    await journal.close()


async def test_a_table_that_cannot_be_filled_keeps_the_journal_as_it_was(path, clock, tables, dump):
    def fail(_write, _stamped):
        raise ValueError("this table has a defect")

    await (await fill(path, clock, tables, "a")).close()
    before = dump(path)
    with pytest.raises(Broken, match="the table seats cannot take RoleChosen"):
        await Journal.open(path, clock, [replace(tables[0], ddl="-- new", apply=fail)])
    assert dump(path) == before


async def test_a_damaged_event_stops_the_filling_and_is_named(path, clock, tables):
    journal = await fill(path, clock, tables, "a")
    tamper(path, "update event set payload = '{'")
    with pytest.raises(Broken, match="event 1 of the journal"):
        await journal.rebuild()
    assert journal.rows("select * from seats") == [("a", 1, 1)]
    await journal.close()
