"""What processes cost: shims, launches, starts from a small and a big parent, reaping, killing.

`python benchmarks/processes.py [--json]`. Every figure is a median in milliseconds unless it says
otherwise; compare the ratios, for the machine is shared.
"""

import argparse
import asyncio
import json
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from amiral.processes import cgroup, tree
from amiral.processes.answers import Lost, Order
from amiral.processes.pool import ShimPool, start_shim
from amiral.processes.spawn import Spawner, Stdio, base_environment
from amiral.store.brake import Brake

BARE = [sys.executable, "-I", "-S", "-c", "pass"]
PATIENCE_S = 2.0
TREE = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for kind in range(4):
    if os.fork() == 0:
        if kind > 1:
            os.setsid()
            if os.fork():
                os._exit(0)
        break
time.sleep(1000)
"""


class Bench:
    """One home, and the figures measured in it."""

    def __init__(self, home: Path, rounds: int):
        self.rounds = rounds
        self.run = home / "run"
        self.run.mkdir(mode=0o700)
        self.home = home
        brake = Brake(home / "brake")
        brake.prepare()
        self.tag = secrets.token_hex(6)
        self.spawner = Spawner(brake, f"{self.tag}:bench")
        self.figures: dict[str, float | str] = {}

    def note(self, name, values):
        self.figures[name] = round(statistics.median(values), 3)

    def order(self, *argv) -> Order:
        session = secrets.token_hex(6)
        folder = str(self.home / session)
        return Order(session, folder, argv, base_environment(), "/", f"{self.tag}:bench:{session}")

    async def shims(self):
        bare, fresh, launch, whole, rss = [], [], [], [], []
        pool = ShimPool(self.spawner, self.run, 1, size=1)
        for _ in range(self.rounds):
            bare.append(
                await timed(self.spawner.run(BARE, kind="own", env={}, cwd="/", timeout_s=9.0))
            )
            began = time.perf_counter()
            link = await start_shim(self.spawner, self.run, 1)
            fresh.append((time.perf_counter() - began) * 1000)
            rss.append(memory_mb(link.hello.pid))
            launch.append(await timed(pool.launch(link, self.order("/bin/true"))))
            await gone(link)
        for _ in range(self.rounds):
            await pool.fill()
            began = time.perf_counter()
            link = await pool.take()
            await pool.launch(link, self.order("/bin/true"))
            whole.append((time.perf_counter() - began) * 1000)
            await gone(link)
        await pool.close()
        self.note("bare interpreter, start to end", bare)
        self.note("fresh shim, start to hello", fresh)
        self.figures["fresh shim, best round"] = round(min(fresh), 3)
        self.note(
            "fresh shim / bare interpreter (ratio)",
            [f / b for f, b in zip(fresh, bare, strict=True)],
        )
        self.note("launch under a shim that is there", launch)
        self.note("ready shim taken and launched", whole)
        self.note("shim, idle, RSS (MB)", [one[0] for one in rss])
        self.note("shim, idle, PSS (MB)", [one[1] for one in rss])

    async def long_input(self):
        pool = ShimPool(self.spawner, self.run, 1, size=0)
        link = await pool.take()
        await pool.launch(link, self.order("sh", "-c", "exec cat > /dev/null"))
        data = "x" * (64 << 20)
        self.figures["input of 64 MB, asked to written"] = round(
            await timed(link.input("big", data)), 1
        )
        await link.input("small", "x\n")
        self.figures["shim after that input, RSS (MB)"] = memory_mb(link.hello.pid)[0]
        await link.kill()
        await gone(link)

    async def reaping(self):
        ours, theirs = [], []
        command = ["yes"]
        for _ in range(5):
            reading, writing = os.pipe()
            child = self.spawner.start(
                command, kind="own", env=base_environment(), cwd="/", stdio=Stdio(stdout=writing)
            )
            os.close(writing)
            began = time.perf_counter()
            child.kill()
            await child.exited()
            ours.append((time.perf_counter() - began) * 1000)
            os.close(reading)
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        await asyncio.sleep(0.2)
        process.kill()
        began = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await process.wait()
            theirs.append((time.perf_counter() - began) * 1000)
        except TimeoutError:
            self.figures["asyncio Process.wait(), output unread"] = f"hangs (> {PATIENCE_S:.0f} s)"
        await process.communicate()
        self.note("killed and reaped, output unread", ours)
        if theirs:
            self.note("asyncio Process.wait(), output unread", theirs)

    async def killing(self):
        took, survivors = [], 0
        for _ in range(3):
            env = {**base_environment(), tree.TAG_VARIABLE: f"{self.tag}:trees"}
            roots = [
                self.spawner.start([*BARE[:-1], TREE], kind="own", env=env, cwd="/")
                for _ in range(50)
            ]
            while len(tree.tagged(f"{self.tag}:trees")) < 250:
                await asyncio.to_thread(time.sleep, 0.02)
            killed = tree.kill_tree([], f"{self.tag}:trees", None, 10.0)
            took.append(killed.ms)
            survivors += len(killed.survivors)
            await asyncio.gather(*(root.exited() for root in roots))
        self.note("250 processes in 50 trees killed, verified", took)
        self.figures["survivors of that"] = survivors

    async def starting(self, ballast_mb: int):
        ballast = bytearray(ballast_mb << 20)
        ballast[:: os.sysconf("SC_PAGESIZE")] = b"x" * len(ballast[:: os.sysconf("SC_PAGESIZE")])
        ours, theirs, forked = [], [], []
        for _ in range(self.rounds):
            began = time.perf_counter()
            child = self.spawner.start(["/bin/true"], kind="own", env={}, cwd="/")
            await child.exited()
            ours.append((time.perf_counter() - began) * 1000)
            began = time.perf_counter()
            await (await asyncio.create_subprocess_exec("/bin/true")).wait()
            theirs.append((time.perf_counter() - began) * 1000)
            began = time.perf_counter()
            fork_and_exec()
            forked.append((time.perf_counter() - began) * 1000)
        self.note("spawner", ours)
        self.note("asyncio", theirs)
        self.note("fork and exec", forked)


def fork_and_exec():
    pid = os.fork()
    if pid == 0:
        os.execv("/bin/true", ["true"])
    os.waitpid(pid, 0)


async def timed(waiting) -> float:
    began = time.perf_counter()
    await waiting
    return (time.perf_counter() - began) * 1000


async def gone(link):
    ended = asyncio.Event()
    link.on_notice(lambda notice: ended.set() if isinstance(notice, Lost) else None)
    await ended.wait()


def memory_mb(pid: int) -> tuple[float, float]:
    fields = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n")[1:-1]:
        name, size, _ = line.split()
        fields[name] = round(int(size) / 1024, 1)
    return fields["Rss:"], fields["Pss:"]


async def measure(home: Path, rounds: int, ballast_mb: int | None) -> dict[str, float | str]:
    bench = Bench(home, rounds)
    if ballast_mb is not None:
        await bench.starting(ballast_mb)
        return bench.figures
    await bench.shims()
    await bench.long_input()
    await bench.reaping()
    await bench.killing()
    for size in (50, 1000):
        command = [sys.executable, __file__, "--json", "--ballast", str(size)]
        told = await asyncio.to_thread(subprocess.check_output, command)
        for name, figure in json.loads(told).items():
            bench.figures[f"/bin/true from a parent of {size} MB: {name}"] = figure
    own = cgroup.own_cgroup_folder()
    bench.figures["cgroup of its own for each session"] = str(bool(own and os.access(own, os.W_OK)))
    return bench.figures


def main():
    parser = argparse.ArgumentParser(description="Measure what processes cost.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ballast", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="amiral-"))
    try:
        figures = asyncio.run(measure(home, chosen.rounds, chosen.ballast))
    finally:
        shutil.rmtree(home)
    if chosen.json:
        print(json.dumps(figures, indent=2))
        return
    width = max(map(len, figures))
    for name, figure in figures.items():
        print(f"{name:<{width}}  {figure}")


if __name__ == "__main__":
    main()
