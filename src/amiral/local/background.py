"""`amiral up --detach`: the same process in the background, awaited until it tells that it serves.

What it prints comes back through a pipe: its one-time code is written to no file.
"""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from amiral.base.clock import SystemClock
from amiral.base.errors import Broken
from amiral.commands.registry import Reply
from amiral.hub.asking import complaint
from amiral.hub.output import Output
from amiral.processes.spawn import Child, Spawner, Stdio
from amiral.safety.reviving import log_path
from amiral.store.brake import Brake

_TIMEOUT_S = 60.0
_LOOK_S = 0.05
_MOST_BYTES = 1 << 16


async def start_in_background(home: Path, options: tuple[str, ...]) -> Reply:
    """Start it with these words of `up`; raises what it complains of, or Broken."""
    output = Output(Path(log_path(str(home))))
    argv = (sys.executable, "-m", "amiral", "up", "--json", *options)
    reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "wb") as pipe, os.fdopen(output.open(), "ab") as log:
            spawner = Spawner(Brake(home / "brake"), "")
            stdio = Stdio(stdout=pipe.fileno(), stderr=log.fileno())
            child = spawner.start(argv, kind="own", env=dict(os.environ), cwd="/", stdio=stdio)
        told = _document(await _first_line(reading, child))
    finally:
        os.close(reading)
    if not told:
        raise Broken("amiral did not start", f"see {output.path}")
    if "error" in told:
        raise complaint(told["error"], await child.exited())
    return _reply(told, child.pid)


async def _first_line(reading: int, child: Child) -> bytes:
    """Read until a line is whole, the program has ended, or patience has."""
    os.set_blocking(reading, False)
    clock = SystemClock()
    until_s = clock.monotonic_s() + _TIMEOUT_S
    told = b""
    while b"\n" not in told and clock.monotonic_s() < until_s:
        has_ended = child.has_ended
        with contextlib.suppress(BlockingIOError):
            told += os.read(reading, _MOST_BYTES)
        if has_ended:
            break
        await clock.sleep(_LOOK_S)
    return told


def _document(line: bytes) -> dict[str, Any]:
    """Read what it told, nothing when that is no document."""
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _reply(told: dict[str, Any], pid: int) -> Reply:
    names = ", ".join(project["name"] for project in told["projects"])
    lines = [f"✓ amiral serves {names}: process {pid}"]
    lines += [f"  found {' · '.join(told['found'])}"] if told["found"] else []
    lines += [f"  open {told['url']}   (valid once, 10 minutes)"] if told["url"] else []
    lines += [f"  notice {notice}" for notice in told["notices"]]
    return Reply("\n".join(lines), {**told, "pid": pid}, exit_code=1 if told["missing"] else 0)
