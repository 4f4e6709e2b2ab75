"""Kill amiral at random points of a long run, and count what was lost, doubled or out of order.

`python -m amiral.testbench.chaos --kills 200 --shim-kills 50` prints a line for each kind.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from amiral.testbench.rig import Hung, Rig, scripted_config

_MESSAGES = 30
_WORKER = "consultant"
_SCENARIO = 'default: {say: "one two three four five", chunk: 4, pause_ms: 6}\n'
_DRAIN_S = 60.0
_LONGEST_WAIT_S = 0.08
_PATIENCE_S = 2.0
_LOOK_S = 0.005
_PLACES = (
    *("inbox.queued", "session.opened", "session.launched", "turn.started"),
    *("turn.written", "turn.folded", "turn.settled"),
)


@dataclass
class Tally:
    """What a chaos run came to; the first three must be 0."""

    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0
    messages: int = 0
    kills: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Tell whether every promise was kept."""
        return self.lost == self.doubled == self.out_of_order == 0


class Run:
    """One run of 30 messages to one worker, with kills in between."""

    def __init__(self, rig: Rig, seed: int, tally: Tally) -> None:
        self._rig, self._tally = rig, tally
        self._random = random.Random(seed)
        self._accepted: list[str] = []
        self._ended = 0
        tally.seeds.append(seed)

    def play(self, kills: int, *, of_shims: bool) -> None:
        """Send every message, killing on the way, then wait for the last answer and judge."""
        killed_before = set(self._random.sample(range(_MESSAGES), min(kills, _MESSAGES)))
        self._rig.start()
        for number in range(_MESSAGES):
            if number in killed_before:
                self._kill(of_shims=of_shims)
            self._send(f"n={number}")
        self._drain()
        self._judge()

    def _kill(self, *, of_shims: bool) -> None:
        """Kill now, after a random moment, or at a named place of the next process."""
        if of_shims:
            self._wait_for_work()
            time.sleep(self._random.uniform(0, _LONGEST_WAIT_S))
            self._tally.kills += _kill_shims(self._rig.state)
            return
        time.sleep(self._random.uniform(0, _LONGEST_WAIT_S))
        self._rig.kill()
        self._tally.kills += 1
        if self._random.random() < 0.5:  # noqa: PLR2004 - a fair coin
            place = f"{self._random.choice(_PLACES)}:{self._random.randint(1, 3)}"
            self._rig.start({"AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": place})
        else:
            self._rig.start()

    def _wait_for_work(self) -> None:
        """Wait for a turn to end since the last kill, so that no message is hit for ever."""
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            ended = sum(1 for _ in self._named("TurnEnded"))
            if ended > self._ended and list(_running(self._rig.state)):
                self._ended = ended
                return
            time.sleep(_LOOK_S)

    def _send(self, text: str) -> None:
        """Have a message accepted; whether an unanswered one was is looked up, never guessed."""
        while True:
            self._revive()
            try:
                answer = self._rig.ask("say", "--wait", "0", f"/w:{_WORKER} {text}")
                if answer.code == 0:
                    self._accepted.append(answer.json()["message_id"])
                    return
            except Hung:
                self._revive()
            known = self._find(text)
            if known:
                self._accepted.append(known)
                return

    def _revive(self) -> None:
        """Start the process again when a kill point has ended it."""
        if not self._rig.is_alive:
            self._rig.start()

    def _find(self, text: str) -> str:
        for event in self._named("MessageQueued"):
            if event["text"] == text:
                return str(event["message"])
        return ""

    def _named(self, name: str) -> Iterator[dict[str, Any]]:
        self._revive()
        for event in self._rig.events():
            if event["name"] == name:
                yield event["payload"]

    def _drain(self) -> None:
        until = time.monotonic() + _DRAIN_S
        while time.monotonic() < until:
            try:
                ended = {event["message"] for event in self._named("TurnEnded")}
            except Hung:
                continue
            if ended.issuperset(self._accepted):
                return
            time.sleep(_LONGEST_WAIT_S)

    def _judge(self) -> None:
        ended = list(self._named("TurnEnded"))
        by_message: dict[str, list[str]] = {}
        for event in ended:
            by_message.setdefault(event["message"], []).append(event["outcome"])
            if event["reason"]:
                _count(self._tally.reasons, event["reason"])
        executed = _executed(self._rig.state / "workers" / _WORKER / "home")
        tally = self._tally
        tally.messages += len(self._accepted)
        for message in self._accepted:
            outcomes = by_message.get(message, [])
            ran = executed.count(message)
            tally.lost += not outcomes or ("done" in outcomes and ran == 0)
            tally.doubled += len(outcomes) > 1 or ran > 1
            for outcome in outcomes:
                _count(tally.outcomes, outcome)
        first = list(dict.fromkeys(executed))
        wanted = [message for message in self._accepted if message in first]
        tally.out_of_order += sum(a != b for a, b in zip(first, wanted, strict=False))


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _running(state: Path) -> Iterator[int]:
    """Name the shims whose CLI runs, by the records they left."""
    for meta in (state / "sessions").glob("*/meta.json"):
        if not (meta.parent / "exit.json").exists():
            pid = json.loads(meta.read_text())["shim"]["pid"]
            if Path("/proc", str(pid)).exists():
                yield pid


def _kill_shims(state: Path) -> int:
    killed = 0
    for pid in _running(state):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return killed


def _executed(home: Path) -> list[str]:
    effects = home / "scripted" / "effects.jsonl"
    if not effects.exists():
        return []
    records = [json.loads(line) for line in effects.read_text().split("\n") if line]
    return [record["id"] for record in records if record["type"] == "executed"]


def chaos(kills: int, *, of_shims: bool, seed: int, a_run: int = 10) -> Tally:
    """Kill `kills` times, at most `a_run` times in one run of 30 messages."""
    tally = Tally()
    while tally.kills < kills:
        with tempfile.TemporaryDirectory(prefix="amiral-chaos-") as folder:
            scenario = Path(folder, "scenario.yaml")
            scenario.write_text(_SCENARIO)
            rig = Rig(Path(folder), scripted_config(scenario))
            try:
                wanted = min(a_run, kills - tally.kills)
                Run(rig, seed, tally).play(wanted, of_shims=of_shims)
            finally:
                rig.stop()
        seed += 1
    return tally


def main() -> int:
    """Run both kinds; exit code 1 when anything was lost, doubled or out of order."""
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--shim-kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tallies = {
        "project process": chaos(options.kills, of_shims=False, seed=options.seed),
        "shim": chaos(options.shim_kills, of_shims=True, seed=options.seed),
    }
    if options.json:
        print(json.dumps({name: asdict(tally) for name, tally in tallies.items()}))
    else:
        for name, tally in tallies.items():
            print(f"{name}: {asdict(tally)}")
    return 0 if all(tally.is_clean for tally in tallies.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
