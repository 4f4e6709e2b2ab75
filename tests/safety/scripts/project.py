"""Stands in for a project process: launches workers that stream and fork, and then sleeps.

`project.py HOME TAG PROJECT KIND…`: each worker prints the numbers of its processes; "ready" means
all run. A polite one ends its turn at the line `interrupt` and itself at the end of its input.
"""

import asyncio
import sys
import time
from pathlib import Path

from amiral.processes.answers import Order
from amiral.processes.pool import ShimPool
from amiral.processes.spawn import Spawner, base_environment
from amiral.store.brake import Brake
from amiral.store.files import ensure_private_folder

FORK = """
import os, signal, subprocess, sys, time
kind = sys.argv[1]
if kind == "polite":
    os.write(1, b"%d on " % os.getpid())
    for line in sys.stdin:
        os.write(1, line.encode())
    sys.exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b"%d " % os.getpid())
if kind == "setsid":
    subprocess.Popen(["sh", "-c", "trap '' TERM HUP; echo $$; while :; do sleep 1; done"],
                     start_new_session=True)
if kind == "double" and os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.write(1, b"%d " % os.getpid())
if kind == "bare":
    subprocess.Popen(["env", "-i", "/bin/sh", "-c",
                      "trap '' TERM; echo $$; while :; do sleep 1; done"], start_new_session=True)
if kind == "orphan" and os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execve("/bin/sh", ["sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1; done"], {})
os.write(1, b"on ")
while True:
    os.write(1, b".")
    time.sleep(0.01)
"""


async def main(home: Path, tag: str, project: str, *kinds: str) -> None:
    brake = Brake(home / "brake")
    brake.prepare()
    pool = ShimPool(Spawner(brake, f"{tag}:{project}"), home / "run", 1, size=1)
    for kind in kinds:
        folder = home / "projects" / project / "sessions" / kind
        ensure_private_folder(folder)
        (folder / "worker").write_text(f"worker-{kind}")
        argv = (sys.executable, "-I", "-S", "-c", FORK, kind)
        env, session = base_environment(), f"{tag}:{project}:{kind}"
        order = Order(kind, str(folder), argv, env, "/", session)
        await pool.launch(await pool.take(), order)
    print("ready", flush=True)  # noqa: T201
    time.sleep(600)


asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
