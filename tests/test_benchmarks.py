"""The benchmarks can be started, and judge as they say; what they measure is no test's business."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JUDGING = """
from benchmarks.figures import Figure, ratios, spread, table

assert Figure("a", 4.0, "ms", 5.0).verdict == "met"
assert Figure("a", 6.0, "ms", 5.0).verdict == "MISSED"
assert Figure("a", 6.0, "x", 5.0, at_least=True).verdict == "met"
assert Figure("a", 6.0, "x").verdict == ""
assert Figure("a", None, "x", 5.0).verdict == "not measured"
assert Figure("a", 0, "MiB", 0).verdict == "met"
assert Figure("a", 4.0, "ms", 5.0).ratio == 0.8
assert spread("a", [3.0, 1.0, 2.0], "ms").value == 2.0
pairs = ratios("a", [2.0, 6.0, 4.0], [1.0, 2.0, 4.0], 3.0)
assert (pairs.value, pairs.low, pairs.high) == (2.0, 1.0, 3.0)
lines = table([pairs, Figure("b", None, "ms")]).split("\\n")
assert "2 x" in lines[1] and "met" in lines[1] and "not measured" in lines[2]
"""


def run(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_every_bench_can_be_named():
    told = run("-m", "benchmarks", "--help")
    assert told.returncode == 0, told.stderr
    benches = (
        "turns",
        "startup",
        "footprint",
        "journal",
        "processes",
        "stop",
        "fence",
        "sandbox",
        "framing",
        "fanout",
        "telegram",
        "rendering",
        "chats",
    )
    for name in benches:
        assert name in told.stdout
    unknown = run("-m", "benchmarks", "trun")
    assert (unknown.returncode, "no bench trun" in unknown.stderr) == (2, True)
    for alone in ("soak", "stop"):
        assert run("-m", f"benchmarks.{alone}", "--help").returncode == 0


def test_figures_are_judged_by_their_goals():
    judged = run("-c", JUDGING)
    assert judged.returncode == 0, judged.stderr
