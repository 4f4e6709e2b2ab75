"""What a stop of 50 trees costs, to verified empty, beside killpg, psutil and tmux kill-session.

`python -m benchmarks.stop --runs 100`: the stop of the command line so many times, each with all
that must be gone counted. A tree is five processes that ignore TERM: the root, a child, one in a
session of its own, one that ignores HUP too, and an orphan by double fork.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from benchmarks.figures import Figure, spread

from amiral.base.home import home_tag
from amiral.processes import cgroup, tree
from amiral.processes.answers import Order
from amiral.processes.pool import ShimPool
from amiral.processes.spawn import Spawner, base_environment
from amiral.store.brake import Brake

TREES, EACH, ROUNDS = 50, 5, 5
PATIENCE_S = 60.0
BYSTANDERS = 10
TREE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
out = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
kinds = iter(("child", "setsid", "nohup", "double"))
for kind in kinds:
    if os.fork() == 0:
        if kind in ("setsid", "double"):
            os.setsid()
        if kind == "double" and os.fork():
            os._exit(0)
        if kind == "nohup":
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        break
else:
    os.wait()
os.write(out, b"%d\\n" % os.getpid())
while True:
    time.sleep(1000)
"""
BOMB = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
out = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
for _ in range(200):
    if os.fork() == 0:
        break
os.write(out, b"%d\\n" % os.getpid())
while True:
    time.sleep(1000)
"""


class Yard:
    """A home with trees in it; `pids` are all that must end."""

    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="amiral-")).resolve()
        self.tag = home_tag(str(self.home))
        self.brake = Brake(self.home / "brake")
        self.brake.prepare()
        self.list = self.home / "pids"
        self.list.touch()
        self.roots: list[subprocess.Popen] = []
        env = {"PATH": os.environ["PATH"], "AMIRAL_TAG": f"{self.tag}0:shop:s1"}
        sleep = ["sleep", "1000"]
        self.bystanders = [subprocess.Popen(sleep, env=env) for _ in range(BYSTANDERS)]

    def argv(self, code=TREE) -> list[str]:
        return [sys.executable, "-I", "-S", "-c", code, str(self.list)]

    def plain(self):
        """Trees without a shim: nothing but a tag, and a process group each."""
        for number in range(TREES):
            env = {**base_environment(), "AMIRAL_TAG": f"{self.tag}:shop:s{number}"}
            self.roots.append(subprocess.Popen(self.argv(), env=env, start_new_session=True))
        return self.ready(TREES * EACH)

    def in_tmux(self):
        """Trees in a session of tmux each, as the seeds have it."""
        socket = str(self.home / "tmux")
        for number in range(TREES):
            command = ["tmux", "-S", socket, "new-session", "-d", "-s", f"s{number}", *self.argv()]
            subprocess.run(command, check=True)
        return self.ready(TREES * EACH)

    async def under_shims(self, trees=TREES, code=TREE, count=TREES * EACH):
        """Trees as the product starts them: a shim and a cgroup each."""
        (self.home / "run").mkdir(mode=0o700)
        pool = ShimPool(Spawner(self.brake, f"{self.tag}:shop"), self.home / "run", 1, size=0)
        for number in range(trees):
            folder = self.home / "projects" / "shop" / "sessions" / f"s{number}"
            folder.mkdir(parents=True)
            (folder / "worker").write_text("dev")
            argv, env = tuple(self.argv(code)), base_environment()
            order = Order(f"s{number}", str(folder), argv, env, "/", f"{self.tag}:shop:s{number}")
            await pool.launch(await pool.take(), order)
        return await asyncio.to_thread(self.ready, count)

    def ready(self, count):
        by = time.monotonic() + PATIENCE_S
        while len(self.pids()) < count:
            assert time.monotonic() < by, "the trees do not grow"
            time.sleep(0.02)
        return self

    def pids(self) -> list[int]:
        return [int(line) for line in self.list.read_text().split("\n") if line]

    def left(self) -> int:
        """Count what lives of it by the numbers its processes wrote down themselves."""
        found = [tree.identify(pid) for pid in self.pids()]
        return sum(one is not None and tree.is_alive(one) for one in found)

    def struck(self) -> int:
        return sum(one.poll() is not None for one in self.bystanders)

    def clear(self):
        with contextlib.suppress(OSError):
            subprocess.run(
                ["tmux", "-S", str(self.home / "tmux"), "kill-server"],
                stderr=subprocess.DEVNULL,
                check=False,
            )
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        tree.kill_tree((), self.tag, None, PATIENCE_S)
        for folder in cgroup.cgroups_under(self.tag):
            cgroup.remove_cgroup(folder)
        for one in (*self.bystanders, *self.roots):
            one.kill()
            one.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def by_command_line(yard):
    env = {**base_environment(), "AMIRAL_HOME": str(yard.home)}
    command = [sys.executable, "-m", "amiral", "emergency-stop", "--json"]
    ran = subprocess.run(command, env=env, capture_output=True, check=True)
    assert json.loads(ran.stdout)["survivors"] == 0, ran.stdout


def by_killpg(yard):
    for root in yard.roots:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(root.pid, signal.SIGKILL)
    for root in yard.roots:
        root.wait()


def by_psutil(yard):
    found = [psutil.Process(root.pid) for root in yard.roots]
    found += [child for one in found for child in one.children(recursive=True)]
    for one in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(found, timeout=PATIENCE_S)


def by_tmux(yard):
    """The sessions are killed one by one, as a list of children would have it."""
    for number in range(TREES):
        command = ["tmux", "-S", str(yard.home / "tmux"), "kill-session", "-t", f"s{number}"]
        subprocess.run(command, check=True)


def timed(yard, stop) -> tuple[float, int, int]:
    """Give milliseconds, survivors and bystanders struck of one stop."""
    began = time.perf_counter()
    stop(yard)
    took_ms = (time.perf_counter() - began) * 1000
    return took_ms, yard.left(), yard.struck()


def once(grow, stop) -> tuple[float, int, int]:
    yard = Yard()
    try:
        grown = grow(yard)
        if asyncio.iscoroutine(grown):
            asyncio.run(grown)
        return timed(yard, stop)
    finally:
        yard.clear()


def bomb(yard):
    return yard.under_shims(1, BOMB, 201)


SETUPS = {
    "50 trees under shims, `amiral emergency-stop`": (Yard.under_shims, by_command_line, 80),
    "50 bare trees, `amiral emergency-stop`": (Yard.plain, by_command_line, 80),
    "50 bare trees, killpg": (Yard.plain, by_killpg, None),
    "50 bare trees, psutil": (Yard.plain, by_psutil, None),
    "50 trees, tmux kill-session": (Yard.in_tmux, by_tmux, None),
    "fork bomb of 200, `amiral emergency-stop`": (bomb, by_command_line, None),
}


def figures() -> list[Figure]:
    """Each of them in each round, taking turns."""
    found: dict[str, list[tuple[float, int, int]]] = {name: [] for name in SETUPS}
    names = [name for name in SETUPS if "tmux" not in name or shutil.which("tmux")]
    for _ in range(ROUNDS):
        for name in names:
            found[name].append(once(*SETUPS[name][:2]))
    return [_figure(name, runs, SETUPS[name][2]) for name, runs in found.items() if runs]


def _figure(name, runs, goal) -> Figure:
    left, struck = (max(run[at] for run in runs) for at in (1, 2))
    note = f"{left} survivors, {struck} bystanders struck"
    return spread(name, [run[0] for run in runs], "ms", goal, note)


def main() -> int:
    """Stop again and again; the exit code is 1 when anything was left or struck."""
    parser = argparse.ArgumentParser(prog="benchmarks.stop", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    runs = [once(Yard.under_shims, by_command_line) for _ in range(options.runs)]
    took = [run[0] for run in runs]
    left, struck = sum(run[1] for run in runs), sum(run[2] for run in runs)
    middle, worst = statistics.median(took), max(took)
    print(f"{len(runs)} stops · {middle:.0f} ms, at worst {worst:.0f} ms", end=" · ")
    print(f"{left} survivors · {struck} bystanders struck")
    return 1 if left or struck else 0


if __name__ == "__main__":
    raise SystemExit(main())
