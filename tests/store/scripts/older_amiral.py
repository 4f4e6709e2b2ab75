"""Open a journal as an amiral that never heard of RoleChosen; print what its table holds."""

import asyncio
import runpy
import sys
from pathlib import Path

from amiral.base import events
from amiral.base.clock import SystemClock

vars(events)["ALL"] = tuple(kind for kind in events.ALL if kind is not events.RoleChosen)
Journal = runpy.run_module("amiral.store.journal")["Journal"]
TABLES = runpy.run_path(str(Path(__file__).with_name("seats.py")))["TABLES"]


async def main():
    opened = await Journal.open(Path(sys.argv[1]), SystemClock(), TABLES)
    sys.stdout.write(f"{opened.rows('select * from seats')} {opened.read(0)[0].event}")
    await opened.close()


asyncio.run(main())
