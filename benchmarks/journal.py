"""What durability costs: the journal beside the limit of the same disk, in the same run."""

import argparse
import asyncio
import json
import os
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from amiral.base.clock import SystemClock
from amiral.base.events import Event, MessageQueued, TurnEnded
from amiral.store.journal import Journal, Stamped, Table, Write
from amiral.store.redact import Redactor

EVENTS = 20_000
SINGLES = 400
ROUNDS = 3
GOAL_PER_S = 100_000
GOAL_MS = 0.35


def take_message(write: Write, stamped: Stamped) -> None:
    """A table as the product has them: one row for most events."""
    match stamped.event:
        case MessageQueued(message, worker):
            write("insert or replace into inbox values (?, ?, 'queued')", (message, worker))
        case TurnEnded(_, message):
            write("update inbox set state = 'done' where message = ?", (message,))
        case _:
            pass


TABLE = Table(
    "inbox",
    "create table if not exists inbox (message text primary key, worker text, state text);",
    take_message,
)


def make_events(count: int) -> list[Event]:
    """Messages of about 600 bytes."""
    return [
        MessageQueued(f"m{number:015}", "developer", "main", "word " * 100, "owner", "telegram")
        for number in range(count)
    ]


def measure_fdatasync(folder: Path) -> float:
    """Milliseconds of one append and fdatasync, median: the limit of one durable event."""
    descriptor = os.open(folder / "limit", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    durations = []
    for _ in range(SINGLES):
        began = time.perf_counter()
        os.write(descriptor, b"x" * 4096)
        os.fdatasync(descriptor)
        durations.append(time.perf_counter() - began)
    os.close(descriptor)
    return statistics.median(durations) * 1e3


def measure_raw_rows(folder: Path) -> float:
    """Rows a second that SQLite alone stores in one transaction: the limit of a batch."""
    payload = json.dumps({"message": "m" * 16, "text": "word " * 100}).encode()
    rows = [(n, 1, "amiral", "MessageQueued", 1, payload) for n in range(EVENTS)]
    connection = sqlite3.connect(folder / "raw.db", isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute("create table event (seq integer primary key, a, b, c, d, e)")
    began = time.perf_counter()
    connection.execute("begin")
    connection.executemany("insert into event values (?, ?, ?, ?, ?, ?)", rows)
    connection.execute("commit")
    connection.close()
    return EVENTS / (time.perf_counter() - began)


async def measure_singles(journal: Journal) -> list[float]:
    """Milliseconds of each of many durable appends, one after the other."""
    durations = []
    for event in make_events(SINGLES):
        began = time.perf_counter()
        await journal.append(event)
        durations.append((time.perf_counter() - began) * 1e3)
    return durations


async def measure_one_append(journal: Journal) -> float:
    """Durable events a second when one append brings many."""
    events = make_events(EVENTS)
    began = time.perf_counter()
    await journal.append(*events)
    return EVENTS / (time.perf_counter() - began)


async def measure_many_tasks(journal: Journal, each: int) -> float:
    """Durable events a second when 200 tasks append `each` events at a time, over and over."""
    tasks = 200
    events = make_events(each)

    async def work() -> None:
        for _ in range(EVENTS // tasks // each):
            await journal.append(*events)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(tasks):
            group.create_task(work())
    return EVENTS / (time.perf_counter() - began)


async def measure_rows(journal: Journal) -> float:
    """Microseconds of one read of a row by key."""
    began = time.perf_counter()
    for _ in range(5000):
        journal.rows("select state from inbox where message = ?", "m000000000000007")
    return (time.perf_counter() - began) / 5000 * 1e6


async def measure_history(journal: Journal) -> float:
    """Events a second that a subscriber reads from the file."""
    began = time.perf_counter()
    wanted = journal.last_seq
    async for stamped in journal.subscribe(0):
        if stamped.seq == wanted:
            break
    return wanted / (time.perf_counter() - began)


async def measure_rebuild(journal: Journal) -> float:
    """Events a second that fill the tables again."""
    began = time.perf_counter()
    await journal.rebuild()
    return journal.last_seq / (time.perf_counter() - began)


async def run_round(folder: Path, tables: list[Table], redact: Redactor | None) -> dict[str, float]:
    """Every figure once, on a fresh journal."""
    folder.mkdir()
    journal = await Journal.open(folder / "journal.db", SystemClock(), tables, redact=redact)
    figures = {
        "one_append_per_s": await measure_one_append(journal),
        "tasks_by_1_per_s": await measure_many_tasks(journal, 1),
        "tasks_by_10_per_s": await measure_many_tasks(journal, 10),
    }
    singles = await measure_singles(journal)
    figures |= {
        "raw_rows_per_s": measure_raw_rows(folder),
        "fdatasync_ms": measure_fdatasync(folder),
        "single_p50_ms": statistics.median(singles),
        "single_p99_ms": statistics.quantiles(singles, n=100)[98],
        "history_per_s": await measure_history(journal),
        "rebuild_per_s": await measure_rebuild(journal),
    }
    if tables:
        figures["rows_us"] = await measure_rows(journal)
    await journal.close()
    return figures


def run(rounds: int) -> dict[str, dict[str, float]]:
    """Median figures of three set-ups, interleaved."""
    secrets = [f"secret-number-{number}-{'aB3' * 10}" for number in range(5)]
    setups: dict[str, tuple[list[Table], Redactor | None]] = {
        "events only": ([], None),
        "one table": ([TABLE], None),
        "one table, redacted": ([TABLE], Redactor(secrets)),
    }
    results: dict[str, list[dict[str, float]]] = {name: [] for name in setups}
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        for number in range(rounds):
            for name, (tables, redact) in setups.items():
                place = Path(folder, f"{number}-{len(results[name])}-{len(name)}")
                results[name].append(asyncio.run(run_round(place, tables, redact)))
    return {name: _medians(rows) for name, rows in results.items()}


def _medians(rows: list[dict[str, float]]) -> dict[str, float]:
    medians = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    medians["one_append_over_raw"] = medians["one_append_per_s"] / medians["raw_rows_per_s"]
    medians["single_over_fdatasync"] = medians["single_p50_ms"] / medians["fdatasync_ms"]
    return medians


def main(arguments: list[str] | None = None) -> int:
    """Print a table, or JSON with --json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(arguments)
    results = run(options.rounds)
    if options.json:
        print(json.dumps(results))
        return 0
    names = list(results)
    keys = dict.fromkeys(key for figures in results.values() for key in figures)
    print(f"{'':24}" + "".join(f"{name:>22}" for name in names))
    for key in keys:
        figures = [results[name].get(key) for name in names]
        print(
            f"{key:24}" + "".join(f"{'' if one is None else f'{one:,.3f}':>22}" for one in figures)
        )
    print(f"goals: {GOAL_PER_S:,} durable events/s in batches, one durable append in {GOAL_MS} ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
