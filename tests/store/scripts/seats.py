"""A table as the product has them, shared by the tests and the programs they kill."""

from amiral.base.events import RoleChosen
from amiral.store.journal import Table


def count_choice(write, stamped):
    match stamped.event:
        case RoleChosen(worker):
            write(
                "insert into seats values (?, 1, ?)"
                " on conflict (worker) do update set times = times + 1, last = excluded.last",
                (worker, stamped.seq),
            )
        case _:
            pass


TABLES = (
    Table(
        "seats",
        "create table if not exists seats"
        " (worker text primary key, times integer, last integer) without rowid;",
        count_choice,
    ),
)
