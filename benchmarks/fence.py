"""What the fence costs: a session, a program, and a plan of many single files, each beside none.

`python -m benchmarks fence`. Fenced and unfenced starts take turns; the cost is the median of the
differences, in milliseconds. Inside the shim means: from telling the child that was forked ahead
what to become until it has become it; the whole of a session's start beside it is mostly fsync.
"""

import asyncio
import json
import os
import secrets
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.figures import Figure, spread

import amiral
from amiral.processes.answers import Lost, Order
from amiral.processes.box import launcher
from amiral.processes.covers import KEPT, shared_folders
from amiral.processes.fence import DELETE, READ, WRITE, Fence, abi, system_grants
from amiral.processes.pool import ShimPool
from amiral.processes.probe import probe
from amiral.processes.spawn import Spawner, base_environment
from amiral.store.brake import Brake

ROUNDS = 25
COVERS = 100
ROUNDS_IN_SHIM = 100
FILES = 2000
IDLE_S = 0.12
ALL = READ | WRITE | DELETE

IN_SHIM = """
import json, sys, time
sys.path.append(sys.argv[1])
from amiral.processes.fence import Fence
from amiral.processes.shim import launch

fence = Fence.from_json(json.loads(sys.argv[3]))
pairs = []
for _ in range(int(sys.argv[2])):
    pair = []
    for one in (None, fence):
        held = launch.hold(sys.argv[4])
        time.sleep(0.01)
        began = time.perf_counter()
        launch.release(held, launch.Plan(["/bin/sleep", "9"], {}, "/", "", one))
        pair.append((time.perf_counter() - began) * 1000)
        held.verdict = -1
        launch.abandon(held)
    pairs.append(pair)
print(json.dumps(pairs))
"""


class Bench:
    """One home, and starts in it."""

    def __init__(self, home: Path):
        self.home = home
        self.inside = home / "in"
        self.run = home / "run"
        for folder in (self.inside, self.run):
            folder.mkdir(mode=0o700)
        brake = Brake(home / "brake")
        brake.prepare()
        self.tag = secrets.token_hex(6)
        self.spawner = Spawner(brake, f"{self.tag}:bench")

    def fence(self, *paths: str) -> Fence:
        system = system_grants(str(Path.home()), (sys.prefix, sys.base_prefix))
        folders = [str(self.inside), *paths]
        return Fence((*((path, ALL) for path in folders), *system), ALL, ports=(50_000,))

    def boxed(self, *covers: str) -> Fence:
        fence = self.fence()
        laid = (*shared_folders(), *((path, KEPT) for path in covers))
        return Fence(fence.grants, fence.fenced, fence.ports, covers=laid)

    def files(self) -> list[str]:
        paths = [self.inside / str(number) for number in range(FILES)]
        for path in paths:
            path.touch()
        return list(map(str, paths))

    async def session(self, pool: ShimPool, fence: Fence | None) -> float:
        await pool.fill()
        # An idle shim forks its child ahead.
        await asyncio.sleep(IDLE_S)
        link = await pool.take()
        session = secrets.token_hex(6)
        folder, tag = str(self.home / session), f"{self.tag}:bench:{session}"
        order = Order(session, folder, ("/bin/true",), base_environment(), "/", tag)
        began = time.perf_counter()
        await pool.launch(link, replace(order, fence=fence))
        took = (time.perf_counter() - began) * 1000
        await gone(link)
        return took

    async def in_shim(self, fence: Fence) -> tuple[list[float], list[float]]:
        """Measure in a program that holds what a shim holds and does nothing beside."""
        sources = str(Path(amiral.__path__[0]).parent)
        more = [sources, str(ROUNDS_IN_SHIM), json.dumps(fence.as_json()), f"{self.tag}:bench:0"]
        argv = [sys.executable, "-I", "-S", "-c", IN_SHIM, *more]
        ran = await self.spawner.run(argv, kind="own", env={}, cwd="/", timeout_s=120.0)
        pairs = json.loads(ran.out)
        return [plain for plain, _ in pairs], [fenced for _, fenced in pairs]

    async def program(self, fence: Fence | None) -> float:
        return await self.timed(["/bin/true"], fence)

    async def launched(self, fence: Fence | None) -> float:
        """Start it as somebody else would, who is given the command of the launcher."""
        if fence is None:
            return await self.timed(["/bin/true"], None)
        path = self.home / "fence.json"
        path.write_text(json.dumps(fence.as_json()))
        path.chmod(0o600)
        return await self.timed(launcher(str(path), ["/bin/true"]), None)

    async def timed(self, argv: list[str], fence: Fence | None) -> float:
        began = time.perf_counter()
        ran = await self.spawner.run(argv, kind="own", env={}, cwd="/", timeout_s=9.0, fence=fence)
        took = (time.perf_counter() - began) * 1000
        if ran.code != 0:
            raise RuntimeError(ran.err.decode())
        return took


async def gone(link):
    ended = asyncio.Event()
    link.on_notice(lambda notice: ended.set() if isinstance(notice, Lost) else None)
    await ended.wait()


async def paired(start, fence: Fence) -> tuple[list[float], list[float]]:
    """Start without and with the fence in turn, once more than is counted."""
    pairs = [(await start(None), await start(fence)) for _ in range(ROUNDS + 1)][1:]
    return [plain for plain, _ in pairs], [fenced for _, fenced in pairs]


async def measured(home: Path) -> list[Figure]:
    bench = Bench(home)
    fence, many = bench.fence(), bench.fence(*bench.files())
    pool = ShimPool(bench.spawner, bench.run, 1, size=1)
    sessions = await paired(lambda one: bench.session(pool, one), fence)
    await pool.close()
    programs = await paired(bench.program, fence)
    launched = await paired(bench.launched, fence)
    boxed = await paired(bench.program, bench.boxed())
    covered = await paired(bench.program, bench.boxed(*bench.files()[:COVERS]))
    trials = []
    for _ in range(5):
        began = time.perf_counter()
        probed = await probe(bench.spawner, home)
        trials.append((time.perf_counter() - began) * 1000)
    return [
        cost("a fence inside the shim", *await bench.in_shim(fence), 1.0),
        cost(f"the same of {FILES} single files", *await bench.in_shim(many), None),
        cost("a fence at a session's whole start", *sessions, None),
        cost("a fence round a program of our own", *programs, None),
        cost("a program launched behind its fence", *launched, 25.0),
        cost("a program in a box of bwrap", *boxed, None),
        cost(f"the same with {COVERS} covers", *covered, None),
        spread("the fence tried out", trials, "ms", note=f"{probed.status}, ABI {probed.abi}"),
    ]


def cost(name: str, plain: list[float], fenced: list[float], goal: float | None) -> Figure:
    more = [behind - without for without, behind in zip(plain, fenced, strict=True)]
    beside = f"{statistics.median(fenced):.2f} ms beside {statistics.median(plain):.2f} ms without"
    return spread(name, more, "ms", goal, note=beside)


def figures() -> list[Figure]:
    if not abi():
        return [Figure("fence", None, "ms", note="this kernel has no Landlock")]
    with tempfile.TemporaryDirectory(prefix="amiral-bench-") as home:
        return asyncio.run(measured(Path(os.path.realpath(home))))
