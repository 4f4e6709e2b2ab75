"""What an idle amiral takes: memory and processor time of a project process.

`python -m benchmarks footprint`. Measured after some turns, when nothing is left to do.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure

from amiral.testbench.rig import Rig, scripted_config

TURNS = 20
WATCHED_S = 10.0
# What the process would weigh if it held nothing but these; each is measured in its own process.
PARTS = {
    "a bare Python": "pass",
    "and asyncio": "import asyncio",
    "and msgspec, sqlite3, entry points": "import asyncio, msgspec, sqlite3, importlib.metadata",
    "and all of amiral": "import amiral.local.child",
    "and starlette, uvicorn": (
        "import amiral.local.child, starlette.applications, starlette.routing, uvicorn"
    ),
}
TELL = "; print(open('/proc/self/status').read().partition('VmRSS:')[2].split()[0])"


def memory_mb(pid: int) -> float:
    """The resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def processor_ms(pid: int) -> float:
    """The processor time a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def of_part(code: str) -> float:
    """Megabytes of an interpreter that has imported this and nothing else."""
    command = [sys.executable, "-c", code + TELL]
    return int(subprocess.check_output(command)) / 1024


def figures() -> list[Figure]:
    """Measure all of it."""
    parts = [Figure(f"memory of {name}", of_part(code), "MB") for name, code in PARTS.items()]
    with tempfile.TemporaryDirectory(prefix="amiral-bench-") as name:
        rig = Rig(Path(name).resolve(), scripted_config()).start()
        try:
            fresh = memory_mb(rig.pid)
            for number in range(TURNS):
                rig.ask("say", f"/c message {number}")
            before_ms = processor_ms(rig.pid)
            time.sleep(WATCHED_S)
            idle_ms = processor_ms(rig.pid) - before_ms
            return [
                Figure("project process, started", fresh, "MB"),
                Figure(f"project process, idle after {TURNS} turns", memory_mb(rig.pid), "MB", 60),
                Figure("project process, idle, of one core", idle_ms / WATCHED_S / 10, "%"),
                *parts,
            ]
        finally:
            rig.stop()
