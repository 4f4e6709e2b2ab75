"""What an idle fleet takes, and how soon a dead child is seen and served again.

`python -m benchmarks fleet`: one hub, one guard, twenty projects, their ready shims counted in.
"""

import json
import os
import signal
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.footprint import memory_mb, processor_ms

from amiral.testbench.rig import Rig, scripted_config, until

PROJECTS = 20
KILLS = 5
SETTLE_S, WATCHED_S = 5.0, 20.0


def figures() -> list[Figure]:
    """Measure all of it."""
    with tempfile.TemporaryDirectory(prefix="amiral-bench-") as name:
        rig = Rig(Path(name).resolve(), scripted_config())
        paths = [rig.project.with_name(f"p{number}") for number in range(PROJECTS)]
        for path in paths:
            path.mkdir()
        began = time.monotonic()
        up = rig.run("up", *map(str, paths), "--detach", "--json", cwd=Path("/"))
        up_s = time.monotonic() - began
        if up.code != 0:
            raise RuntimeError(up.err or up.out)
        try:
            return [Figure(f"up of {PROJECTS} projects", up_s, "s"), *_idle(rig), *_deaths(rig)]
        finally:
            rig.run("down", "--agents", cwd=Path("/"))
            rig.run("emergency-stop", cwd=Path("/"))


def _children(rig: Rig) -> dict[str, dict[str, object]]:
    told = rig.run("watchdog", "--json", cwd=Path("/")).json()["children"]
    return {one["name"]: one for one in told}


def _idle(rig: Rig) -> list[Figure]:
    time.sleep(SETTLE_S)
    hub = int((rig.home / "hub" / "lock").read_text())
    guard = json.loads((rig.home / "guard" / "beat.json").read_text())["pid"]
    children = [int(str(one["pid"])) for one in _children(rig).values()]
    every = [hub, guard, *children, *rig.agents()]
    before = sum(map(processor_ms, every))
    time.sleep(WATCHED_S)
    used_ms = sum(map(processor_ms, every)) - before
    return [
        Figure("hub", memory_mb(hub), "MB", 55),
        Figure("guard", memory_mb(guard), "MB", 14),
        Figure(f"{PROJECTS} idle projects", sum(map(memory_mb, children)), "MB", 1200),
        Figure("with hub, guard and ready shims", sum(map(memory_mb, every)), "MB"),
        Figure("all of them idle, of one core", used_ms / WATCHED_S / 10, "%", 2),
    ]


def _deaths(rig: Rig) -> list[Figure]:
    seen, served = [], []
    for number in range(KILLS):
        name = f"p{number}"
        pid = int(str(_children(rig)[name]["pid"]))
        began = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        until(partial(_is_gone, rig, name, pid), "its death seen")
        seen.append(time.monotonic() - began)
        until(partial(_runs, rig, name), "its return")
        served.append(time.monotonic() - began)
    middle = KILLS // 2
    return [
        Figure("a dead child is seen (asked by the command line)", sorted(seen)[middle], "s", 2),
        Figure("and served again", sorted(served)[middle], "s"),
    ]


def _is_gone(rig: Rig, name: str, pid: int) -> bool:
    return _children(rig)[name]["pid"] != pid


def _runs(rig: Rig, name: str) -> bool:
    return _children(rig)[name]["state"] == "running"
