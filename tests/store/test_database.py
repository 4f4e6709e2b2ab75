"""SQLite as the journal uses it."""

import sqlite3

import pytest

from amiral.base.errors import Broken, Conflict
from amiral.store.database import Database, explain, is_machine_fault


@pytest.fixture
def database(tmp_path):
    opened = Database(tmp_path / "x.db", writes=True)
    yield opened
    opened.close()


def test_what_is_committed_is_on_disk_before_the_commit_returns(database):
    assert database.rows("pragma synchronous") == [(2,)]
    assert database.rows("pragma wal_autocheckpoint") == [(0,)]


def test_a_script_is_parted_at_the_ends_of_statements_only(database):
    database.run("begin")
    database.run_script(
        "create table a (x default ';'); -- a comment; with one\n"
        "create trigger t after insert on a begin delete from a; select 1; end;"
        " insert into a values ('b')"
    )
    assert database.is_in_transaction
    assert database.rows("select name from sqlite_master order by name") == [("a",), ("t",)]


def test_a_reader_cannot_write(tmp_path, database):
    reader = Database(tmp_path / "x.db", writes=False)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.run("create table a (x)")
    reader.close()


def test_a_statement_that_is_no_query_is_refused(database):
    with pytest.raises(TypeError, match="not a query"):
        database.rows("create table a (x)")


def test_a_mistake_in_a_statement_is_no_fault_of_the_machine(database):
    with pytest.raises(sqlite3.Error) as caught:
        database.run("insert into nowhere values (1)")
    assert not is_machine_fault(caught.value)
    assert not is_machine_fault(ValueError())


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (sqlite3.SQLITE_FULL, "free some space"),
        (sqlite3.SQLITE_IOERR | (4 << 8), "free some space"),
        (sqlite3.SQLITE_BUSY, "end the program"),
        (sqlite3.SQLITE_CORRUPT, "restore it from a backup"),
        (sqlite3.SQLITE_NOTADB, "restore it from a backup"),
    ],
)
def test_a_fault_of_the_machine_is_told_with_what_to_do(tmp_path, code, advice):
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorcode = code
    told = explain(error, tmp_path)
    assert is_machine_fault(error)
    assert isinstance(told, Broken)
    assert "what SQLite says" in told.message
    assert advice in told.next_step


def test_an_error_of_ours_stays_what_it_is_and_any_other_is_a_defect(tmp_path):
    error = Conflict("a", "b")
    told = explain(error, tmp_path)
    assert (type(told), told.message, told.next_step) == (Conflict, "a", "b")
    assert told is not error
    assert "defect" in explain(KeyError("x"), tmp_path).next_step
