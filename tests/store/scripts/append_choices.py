"""Append events to a journal and print, unbuffered, what was acknowledged and what was refused."""

import asyncio
import os
import runpy
import sys
from pathlib import Path

from amiral.base.clock import SystemClock
from amiral.base.errors import Broken
from amiral.base.events import RoleChosen
from amiral.store.journal import Journal

TABLES = runpy.run_path(str(Path(__file__).with_name("seats.py")))["TABLES"]


def tell(line):
    os.write(1, f"{line}\n".encode())


async def append(journal, *workers):
    try:
        last = await journal.append(*[RoleChosen(worker) for worker in workers])
    except Broken:
        tell(f"refused {' '.join(workers)}")
        return
    for offset, worker in enumerate(reversed(workers)):
        tell(f"acked {last - offset} {worker}")


async def main():
    journal = await Journal.open(Path(sys.argv[1]), SystemClock(), TABLES)
    await append(journal, "first")
    await asyncio.gather(append(journal, "second", "third"), append(journal, "fourth"))
    await append(journal, "last")
    await journal.close()


asyncio.run(main())
