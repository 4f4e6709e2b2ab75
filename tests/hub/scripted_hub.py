"""Stands for a hub that can be killed: supervises the projects of HOME and writes what it tells.

scripted_hub.py HOME BEAT_S
"""

import asyncio
import sys
from pathlib import Path

from amiral.base.clock import SystemClock
from amiral.hub.supervisor import Supervisor
from amiral.processes.spawn import Spawner
from amiral.projects.store import Projects
from amiral.store.brake import Brake

CHILD = Path(__file__).with_name("scripted_child.py")


async def main(home: Path, beat: str) -> None:
    async def tell(event):
        with (home / "told").open("a") as told:
            told.write(f"{event}\n")

    supervisor = Supervisor(
        home,
        SystemClock(),
        Spawner(Brake(home / "brake"), ""),
        Projects(home, Path("/nowhere")).all,
        tell,
        float(beat),
        lambda one: [sys.executable, str(CHILD), str(home), one.id, one.name, one.path, beat],
        str,
    )
    await supervisor.run()


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
