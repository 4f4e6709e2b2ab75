"""A long run with kills in between: nothing lost, nothing doubled, and no memory that grows.

`python -m benchmarks.soak [SECONDS]`, or `SOAK_S=3600 make soak`. For two thirds of the time one
project process answers messages while shims are killed under it, and its memory is looked at after
each hundred; then project processes and shims are killed at random (`amiral.testbench.chaos`).
Exit code 1 when anything was lost or doubled, or when memory grew steadily.
"""

import argparse
import contextlib
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.footprint import memory_mb

from amiral.testbench.chaos import chaos, mixed
from amiral.testbench.rig import Rig, scripted_config
from amiral.testbench.verdict import Tally

DEFAULT_S = 120.0
A_LOOK = 100
A_KILL = 25
KILLS = 10
# The caches of SQLite fill at first; what counts is what happens afterwards.
FEWEST_LOOKS = 5
MOST_KB_A_MESSAGE = 2.0


def steady(seconds: float, seed: int) -> tuple[list[tuple[int, float]], dict[str, int]]:
    """Send messages to one process; give (messages, megabytes) now and then, and the outcomes."""
    chance = random.Random(seed)
    looks: list[tuple[int, float]] = []
    outcomes: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="amiral-soak-") as name:
        rig = Rig(Path(name).resolve(), scripted_config()).start()
        try:
            until, sent = time.monotonic() + seconds, 0
            while time.monotonic() < until:
                if sent % A_KILL == A_KILL - 1:
                    kill_a_shim(rig, chance)
                answer = rig.ask("say", f"/c message {sent}").json()
                sent += 1
                outcomes[answer["outcome"]] = outcomes.get(answer["outcome"], 0) + 1
                if sent % A_LOOK == 0:
                    looks.append((sent, memory_mb(rig.pid)))
                    print(f"{sent:8} messages  {looks[-1][1]:6.1f} MB  {outcomes}", flush=True)
        finally:
            rig.stop()
    return looks, outcomes


def kill_a_shim(rig: Rig, chance: random.Random) -> None:
    running = rig.running()
    if running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(running).shim, signal.SIGKILL)


def slope_kb(looks: list[tuple[int, float]]) -> float | None:
    """Kilobytes a message that memory grew by in the second half; None when that is too short."""
    half = looks[len(looks) // 2 :]
    if len(half) < FEWEST_LOOKS:
        return None
    counts, sizes = zip(*half, strict=True)
    return statistics.linear_regression(counts, sizes).slope * 1024


def killing(seconds: float, seed: int) -> list[Tally]:
    """Kill processes, shims and both together until the time is over."""
    until = time.monotonic() + seconds
    tallies = []
    while time.monotonic() < until:
        tallies.append(chaos(mixed(KILLS, seed), seed))
        print(f"seed {seed}: {dict(tallies[-1].kills)} killed, {dict(tallies[-1].outcomes)}")
        print(*tallies[-1].faults, sep="\n", end="", flush=True)
        seed += KILLS
    return tallies


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.soak", description=__doc__)
    given = float(os.environ.get("SOAK_S", DEFAULT_S))
    parser.add_argument("seconds", nargs="?", type=float, default=given)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    looks, outcomes = steady(options.seconds * 2 / 3, options.seed)
    tallies = killing(options.seconds / 3, options.seed)
    slope = slope_kb(looks)
    kills = sum(tally.kills.total() for tally in tallies)
    faults = [fault for tally in tallies for fault in tally.faults]
    told = "unknown, run longer" if slope is None else f"{slope:+.2f} KB a message"
    print(f"memory in the second half of {sum(outcomes.values())} messages: {told}")
    print(
        f"{kills} kills, {sum(tally.messages for tally in tallies)} messages: {len(faults)} faults"
    )
    return 1 if faults or (slope or 0.0) > MOST_KB_A_MESSAGE else 0


if __name__ == "__main__":
    sys.exit(main())
