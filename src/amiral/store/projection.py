"""Keyed tables as projections of events: set up, filled, and filled again from the start."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from amiral.base.errors import Broken, Conflict
from amiral.base.ids import digest, new_id
from amiral.store.codec import Stamped, known_events, read_row, to_row
from amiral.store.database import Database, is_machine_fault

Write = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
"""Executes one SQL statement with its parameters; answers the rows of a query."""

_LAYOUT = 1
_PAGE = 1000
_EVENTS = """
create table event (
    seq integer primary key, ts_ms integer not null, "by" text not null,
    name text not null, version integer not null, payload blob not null);
create table meta (key text primary key, value text not null) without rowid;
"""
_INSERT = "insert into event values (?, ?, ?, ?, ?, ?)"
SELECT_AFTER = "select * from event where seq > ? order by seq limit ?"


@dataclass(frozen=True)
class Table:
    """Rows that follow from events alone.

    `ddl` holds `create … if not exists` statements. `apply` writes what one event changes; it knows
    nothing but the event and the rows, and never meets an event that this amiral cannot read.
    All tables are emptied and filled again when any `ddl` differs from the last time, so a change
    of `apply` must change its `ddl` too: a comment in it is enough.
    """

    name: str
    ddl: str
    apply: Callable[[Write, Stamped], object]


def prepare(database: Database, tables: Sequence[Table]) -> int:
    """Make the file ready for these tables and answer the last seq; Conflict when it is too new."""
    layout = database.rows("pragma user_version")[0][0]
    if layout > _LAYOUT:
        raise Conflict(
            f"the journal has layout {layout}, this amiral knows up to {_LAYOUT}",
            "run the newer amiral that wrote it",
        )
    database.rows("pragma journal_mode = wal")
    database.run("begin immediate")
    if layout < _LAYOUT:
        database.run_script(_EVENTS)
        database.run("insert into meta values ('epoch', ?)", (new_id(),))
        database.run(f"pragma user_version = {_LAYOUT}")
    shape = _shape(tables)
    if database.rows("select value from meta where key = 'tables'") != [(shape,)]:
        project_again(database, tables)
        database.run("insert or replace into meta values ('tables', ?)", (shape,))
    database.run("commit")
    return int(database.rows("select coalesce(max(seq), 0) from event")[0][0])


def store(database: Database, tables: Sequence[Table], batch: Sequence[Stamped]) -> None:
    """Insert events and what they change, inside the transaction that is open."""
    database.run_many(_INSERT, map(to_row, batch))
    _apply(database, tables, batch)


def project_again(database: Database, tables: Sequence[Table]) -> None:
    """Empty every table and fill it from the events, inside the transaction that is open."""
    for name, kind in database.rows(
        "select name, type from pragma_table_list where schema = 'main'"
        " and type in ('table', 'virtual', 'view') and name not in ('event', 'meta')"
        " and name not like 'sqlite!_%' escape '!'"
    ):
        database.run(f'drop {"view" if kind == "view" else "table"} "{name}"')
    for table in tables:
        database.run_script(table.ddl)
    seq = 0
    while rows := database.rows(SELECT_AFTER, seq, _PAGE):
        _apply(database, tables, map(read_row, rows))
        seq = rows[-1][0]


def _apply(database: Database, tables: Sequence[Table], batch: Iterable[Stamped]) -> None:
    for stamped in batch:
        if stamped.event is None:
            continue
        for table in tables:
            try:
                table.apply(database.run, stamped)
            except Exception as error:
                if is_machine_fault(error):
                    raise
                what = f"{stamped.name} (event {stamped.seq})"
                raise Broken(
                    f"the table {table.name} cannot take {what}: {error!r}",
                    "this is a defect of amiral: report it",
                ) from error


def _shape(tables: Sequence[Table]) -> str:
    """Changes whenever the tables, or the events they may be filled from, do."""
    return digest(json.dumps([[(one.name, one.ddl) for one in tables], known_events()]), 32)
