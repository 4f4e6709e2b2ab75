"""On a small disk: fill it, see what fails and how, make room, see it heal; print it as JSON."""

import asyncio
import errno
import json
import os
import runpy
import sys
from pathlib import Path

from amiral.base.clock import SystemClock
from amiral.base.errors import Broken
from amiral.base.events import NoiseRead, RoleChosen
from amiral.store.brake import Brake
from amiral.store.files import write_atomic
from amiral.store.journal import Journal
from amiral.store.log import Log
from amiral.store.redact import Redactor

TABLES = runpy.run_path(str(Path(__file__).with_name("seats.py")))["TABLES"]
HOME = Path(sys.argv[1])
FILLER = HOME / "filler"


def fill():
    with FILLER.open("ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


def refused(action):
    try:
        action()
    except Broken as error:
        return error.message
    return ""


async def is_refused(waiting):
    try:
        await waiting
    except Broken:
        return True
    return False


async def try_journal(found):
    journal = await Journal.open(HOME / "journal" / "journal.db", SystemClock(), TABLES)
    acked = [await journal.append(RoleChosen("before"))]
    fill()
    big = NoiseRead("s", "w", (1, 1), "x" * 200_000)
    waiting = [journal.append(RoleChosen("full"), big), journal.append(RoleChosen("full"), big)]
    found["refused"] = await asyncio.gather(*map(is_refused, waiting))
    found["rows_while_full"] = journal.rows("select worker, times from seats")
    FILLER.unlink()
    acked.append(await journal.append(RoleChosen("after")))
    found["acked"] = acked
    found["stored"] = [(one.seq, getattr(one.event, "worker", "")) for one in journal.read(0)]
    found["rows"] = journal.rows("select worker, times, last from seats order by last")
    await journal.rebuild()
    found["rebuilt"] = journal.rows("select worker, times, last from seats order by last")
    await journal.close()


def try_files(found):
    path = HOME / "state.json"
    write_atomic(path, "old")
    fill()
    found["file_refused"] = refused(lambda: write_atomic(path, "new" * 4096))
    found["file"] = path.read_text()
    found["files_beside"] = sorted(one.name for one in HOME.glob(".state*"))
    FILLER.unlink()
    write_atomic(path, "new")
    found["file_after"] = path.read_text()


def try_log(found):
    log = Log(HOME / "logs", "web", SystemClock(), Redactor())
    log.write({"number": 1})
    fill()
    for number in range(2, 200):
        log.write({"number": number, "padding": "x" * 100})
    found["log_dropped"] = log.dropped
    FILLER.unlink()
    log.write({"number": 200})
    (path,) = (HOME / "logs").glob("web-*.jsonl")
    found["log_lines"] = path.read_text().strip().split("\n")


def try_brake(found):
    brake = Brake(HOME / "brake")
    brake.prepare()
    fill()
    stop = brake.engage("the disk is full", "owner", 1_800_000_000_000)
    found["stop"] = [stop.stop_id, stop.reason, brake.state() == stop]
    brake.release(stop.stop_id)
    found["released"] = brake.state() is None
    FILLER.unlink()


os.environ["SQLITE_TMPDIR"] = str(HOME)
report: dict[str, object] = {}
try_brake(report)
try_files(report)
try_log(report)
asyncio.run(try_journal(report))
sys.stdout.write(json.dumps(report))
