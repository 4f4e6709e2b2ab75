"""SQLite as the journal uses it: the only file that imports it."""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from amiral.base.errors import AmiralError, Broken

SqlError = sqlite3.Error

_WAIT_FOR_LOCK_S = 10.0
_KEPT_STATEMENTS = 256
_LARGEST_IDLE_WAL = 64 << 20

_MACHINE_CODES = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOTADB,
    }
)
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Rows(Protocol):
    """Reads the newest state: `rows("select … where id = ?", id)`."""

    def __call__(self, sql: str, *args: object) -> list[tuple[Any, ...]]:
        """Answer every row."""
        ...


class Database:
    """One connection, used by the thread that made it; transactions are begun and ended by hand."""

    def __init__(self, path: Path, *, writes: bool) -> None:
        self._connection = sqlite3.connect(
            path,
            timeout=_WAIT_FOR_LOCK_S,
            isolation_level=None,
            cached_statements=_KEPT_STATEMENTS,
        )
        try:
            for pragma in _pragmas(writes=writes):
                self._connection.execute(pragma)
        except SqlError:
            self._connection.close()
            raise

    @property
    def is_in_transaction(self) -> bool:
        """Whether a transaction is open; some failures end it by themselves."""
        return self._connection.in_transaction

    def rows(self, sql: str, *args: object) -> list[tuple[Any, ...]]:
        """Answer every row of a query; TypeError for a statement that is none."""
        cursor = self._connection.execute(sql, args)
        if cursor.description is None:
            raise TypeError(f"not a query: {sql}")
        return cursor.fetchall()

    def run(self, sql: str, args: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute one statement and answer its rows."""
        return self._connection.execute(sql, args).fetchall()

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute one statement for every row."""
        self._connection.executemany(sql, rows)

    def run_script(self, script: str) -> None:
        """Execute statements parted by semicolons, inside the transaction that is open."""
        statement = ""
        for piece in script.split(";"):
            statement += piece + ";"
            if sqlite3.complete_statement(statement):
                self.run(statement)
                statement = ""

    def checkpoint(self) -> None:
        """Carry what is in the WAL over to the database, without keeping anybody waiting."""
        self.rows("pragma wal_checkpoint(passive)")

    def close(self) -> None:
        """Close the connection; what was not committed is gone."""
        self._connection.close()


def is_machine_fault(error: BaseException) -> bool:
    """Whether the disk, memory or a lock failed, and not the statement."""
    return isinstance(error, SqlError) and _code(error) in _MACHINE_CODES


def explain(error: BaseException, path: Path) -> AmiralError:
    """What a failure at the journal means for a person."""
    if isinstance(error, AmiralError):
        return type(error)(error.message, error.next_step)
    code = _code(error)
    if not isinstance(error, SqlError):
        advice = "this is a defect of amiral: report it"
    elif code in _DAMAGED:
        advice = f"stop amiral, keep a copy of {path} and restore it from a backup"
    elif code == sqlite3.SQLITE_BUSY:
        advice = f"end the program that holds {path} locked, then repeat"
    else:
        advice = "free some space on its disk, or check it, then repeat: nothing stored is lost"
    return Broken(f"the journal {path} cannot be used: {error}", advice)


def _code(error: BaseException) -> int:
    """The primary code of SQLite; 0 when it gave none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _pragmas(*, writes: bool) -> tuple[str, ...]:
    if not writes:
        return ("pragma query_only = on",)
    return (
        "pragma synchronous = full",
        "pragma wal_autocheckpoint = 0",
        f"pragma journal_size_limit = {_LARGEST_IDLE_WAL}",
    )
