"""The figures of the benchmarks that also run by themselves, beside their goals."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from benchmarks import framing, journal, processes
from benchmarks.figures import Figure, ratios, spread
from benchmarks.sdk import sdk_python

PASSES = 3
ROUNDS = 15
LONG_LINES = (1, 16, 64)
PARENTS = (50, 1000)


def of_journal() -> list[Figure]:
    """Durable events of a journal as the product has it: a table, and redaction."""
    setups = journal.run(journal.ROUNDS)
    found = setups["one table, redacted"]
    beside = f"one fdatasync here: {found['fdatasync_ms']:.2f} ms"
    plain = f"SQLite alone {found['raw_rows_per_s']:,.0f}"
    for name in ("events only", "one table"):
        plain += f", {name} {setups[name]['one_append_per_s']:,.0f}"
    return [
        _rate("durable events, one append of 20,000", found["one_append_per_s"], 100_000, plain),
        _rate("durable events, 200 tasks by 10", found["tasks_by_10_per_s"]),
        _rate("durable events, 200 tasks by 1", found["tasks_by_1_per_s"]),
        Figure("one durable event, p50", found["single_p50_ms"], "ms", 0.35, note=beside),
        Figure("one durable event / one fdatasync", found["single_over_fdatasync"], "x"),
    ]


def of_processes() -> list[Figure]:
    """Shims, starts, reaping and killing."""
    with tempfile.TemporaryDirectory(prefix="amiral-bench-") as home:
        found = asyncio.run(processes.measure(Path(home), ROUNDS, None))
    small, big = (float(found[_parent(size, "spawner")]) for size in PARENTS)
    forked = [float(found[_parent(size, "fork and exec")]) for size in PARENTS]
    theirs = found["asyncio Process.wait(), output unread"]
    growth = f"fork and exec: {forked[1] / forked[0]:.1f}"
    return [
        Figure("shim, idle", float(found["shim, idle, RSS (MB)"]), "MB", 14),
        Figure("fresh shim, start to hello", float(found["fresh shim, start to hello"]), "ms"),
        Figure("launch under a shim", float(found["launch under a shim that is there"]), "ms"),
        Figure(
            "killed and reaped, output unread",
            float(found["killed and reaped, output unread"]),
            "ms",
            20,
            note=f"asyncio Process.wait(): {theirs}",
        ),
        Figure(
            "start of a program, 1 GB parent / 50 MB parent", big / small, "x", 1.2, note=growth
        ),
        Figure(
            "250 processes in 50 trees, proved dead",
            float(found["250 processes in 50 trees killed, verified"]),
            "ms",
            note=f"{found['survivors of that']} survivors",
        ),
    ]


def of_framing() -> list[Figure]:
    """Messages of 1 KB beside claude-agent-sdk, or beside plain json where it is not to be had."""
    rates = _rates(sdk_python())
    figures = [
        spread(f"1 KB messages, {name}", found, "a second of CPU") for name, found in rates.items()
    ]
    for name in ("envelope", "driver"):
        title = "framer and decode" if name == "envelope" else "framer, decode and driver"
        if "sdk" in rates:
            goal = 4.0 if name == "envelope" else None
            title += " / claude-agent-sdk"
            figures.append(ratios(title, rates[name], rates["sdk"], goal, at_least=True))
        else:
            title += " / json.loads (no claude-agent-sdk here)"
            figures.append(ratios(title, rates[name], rates["json"], None, at_least=True))
    return [*figures, *map(_long_line, LONG_LINES)]


def _long_line(size: int) -> Figure:
    told = json.loads(framing.in_child(sys.executable, framing.__file__, "--long", str(size)))
    note = f"{told['cpu_ms']:.0f} ms, memory grew by {told['growth_mib']} MiB"
    return Figure(
        f"bytes lost of a line of {size} MiB", size - told["kept_mib"], "MiB", 0, note=note
    )


def _rates(sdk: str) -> dict[str, list[float]]:
    """Rates a reader, all of them in each pass."""
    rates: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        cli = Path(folder, "claude")
        cli.write_text(framing.FAKE_CLI.format(python=sys.executable))
        cli.chmod(0o755)
        lines = framing.message(1024) * framing.MESSAGES + framing.final()
        Path(folder, "lines").write_bytes(lines)
        ours = (sys.executable, framing.__file__, "--cli", str(cli), "--rate")
        commands: dict[str, tuple[str, ...]] = {name: (*ours, name) for name in framing.READERS}
        if sdk:
            beside = str(Path(framing.__file__).with_name("framing_sdk.py"))
            commands["sdk"] = (sdk, beside, str(cli), "1")
        for _ in range(PASSES):
            for name, command in commands.items():
                rates.setdefault(name, []).append(float(framing.in_child(*command)))
    return rates


def _rate(name: str, value: float, goal: float | None = None, note: str = "") -> Figure:
    return Figure(name, value, "a second", goal, at_least=True, note=note)


def _parent(size: int, name: str) -> str:
    return f"/bin/true from a parent of {size} MB: {name}"
