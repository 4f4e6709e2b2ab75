"""Measure what amiral costs, beside its goals: `python -m benchmarks [NAME…] [--json]`.

Figures are medians; what they stand beside (a bare Python, one fdatasync, another program) was
measured in the same run, taking turns. Nothing here decides whether a change is good: the machine
does as well. Exit code 0, whatever was measured.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping

from benchmarks import (
    chats,
    fanout,
    fence,
    fleet,
    footprint,
    rendering,
    sandbox,
    startup,
    stop,
    suites,
    telegram,
    turns,
)
from benchmarks.figures import Figure, table

BENCHES: Mapping[str, Callable[[], list[Figure]]] = {
    "turns": turns.figures,
    "startup": startup.figures,
    "footprint": footprint.figures,
    "fleet": fleet.figures,
    "journal": suites.of_journal,
    "processes": suites.of_processes,
    "stop": stop.figures,
    "fence": fence.figures,
    "sandbox": sandbox.figures,
    "framing": suites.of_framing,
    "fanout": fanout.figures,
    "telegram": telegram.figures,
    "rendering": rendering.figures,
    "chats": chats.figures,
}


def main() -> int:
    """Run the benches named, or all, and print one table."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=", ".join(BENCHES))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    unknown = [name for name in options.name if name not in BENCHES]
    if unknown:
        parser.error(f"no bench {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    figures: dict[str, list[Figure]] = {}
    for name in options.name or BENCHES:
        print(f"{name} …", file=sys.stderr, flush=True)
        figures[name] = BENCHES[name]()
    if options.json:
        told = {name: [figure.data() for figure in found] for name, found in figures.items()}
        print(json.dumps(told))
    else:
        print(table(figure for found in figures.values() for figure in found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
