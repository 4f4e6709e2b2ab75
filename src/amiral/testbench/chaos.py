"""Kill amiral at random points of long runs, and count what was lost, doubled or out of order.

`python -m amiral.testbench.chaos --kills 200 --shim-kills 50 --both-kills 30` prints a line for
each kind. What a kill means here: SIGKILL of a process. The loss of power, where what was written
and not yet synced is gone, and a new boot cannot be played on one machine; the store's own tests
play the first, made-up boot ids the second.
"""

import argparse
import contextlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from amiral.base.errors import Broken
from amiral.testbench.rig import Hung, Rig, scripted_config
from amiral.testbench.verdict import Accepted, History, Tally

MESSAGES = 30
SEATS = ("consultant", "developer")
_DRAIN_S = 90.0
_LONGEST_WAIT_S = 0.12
_LONGEST_START_S = 0.6
_PATIENCE_S = 3.0
_LOOK_S = 0.02
_KILLED = -signal.SIGKILL
_FAILPOINT = re.compile(r'failpoint\("([a-z_.]+)"\)')


class Kind(StrEnum):
    """What is killed."""

    PROJECT = "project process"
    SHIM = "shim"
    BOTH = "both together"


def answer_to(number: int) -> str:
    """Give the answer the scenario has for one message; each its own, so that none is mistaken."""
    return f"answer {number} of the run, piece by piece"


def scenario() -> str:
    """Write the scenario of a run: a slow answer for each message, told in pieces.

    Some leave a child behind that is of no process group of the CLI's, as tools of agents do.
    """
    turns = [
        {
            "match": rf"(?:\A|TASK\n)n={number}(?:\Z|\n\nPROJECT)",
            "say": answer_to(number),
            "chunk": 5,
            "pause_ms": 8,
            **({"process": {"fork": "setsid"}} if number % 5 == 0 else {}),
        }
        for number in range(MESSAGES)
    ]
    return json.dumps({"turns": turns})


def places() -> list[str]:
    """Name the places of the engine where a process can be made to kill itself."""
    engine = Path(__file__).parent.parent / "agents"
    found = (_FAILPOINT.findall(path.read_text("utf-8")) for path in sorted(engine.glob("*.py")))
    return sorted({name for names in found for name in names})


class Run:
    """One run of 30 messages to two workers, with kills in between."""

    def __init__(self, rig: Rig, seed: int, tally: Tally) -> None:
        self._rig, self._seed, self._tally = rig, seed, tally
        self._random = random.Random(seed)
        self._accepted: list[Accepted] = []
        self._journal: list[dict[str, Any]] = []

    def play(self, kinds: Sequence[Kind]) -> None:
        """Send every message, killing on the way, then wait for the last answer and judge."""
        at = self._random.sample(range(1, MESSAGES + 1), len(kinds))
        due = dict(zip(at, kinds, strict=True))
        self._rig.start()
        for number in range(MESSAGES):
            if number in due:
                self._kill(due[number])
            self._send(number)
        if MESSAGES in due:
            self._kill(due[MESSAGES])
        self._drain()
        self._tally.judge(self._history(), self._seed)

    def _kill(self, kind: Kind) -> None:
        """Kill now, in the middle of a turn, while starting, or at a named place after it."""
        if kind is Kind.SHIM or self._random.random() < 0.5:  # noqa: PLR2004 - a fair coin
            self._wait_for_work()
        time.sleep(self._random.uniform(0, _LONGEST_WAIT_S))
        if kind is Kind.PROJECT:
            self._kill_project()
        elif kind is Kind.SHIM:
            self._kill_shims()
        else:
            self._rig.kill()
            self._count("project process and shims", self._kill_shims() > 0)
            self._rig.start()

    def _kill_project(self) -> None:
        self._rig.kill()
        self._count("project process", killed=True)
        match self._random.choice(("plain", "place", "starting")):
            case "place":
                place = f"{self._random.choice(places())}:{self._random.randint(1, 3)}"
                self._rig.start({"AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": place})
            case "starting":
                self._rig.launch()
                time.sleep(self._random.uniform(0, _LONGEST_START_S))
                self._rig.kill()
                self._count("project process while starting", killed=True)
                self._rig.start()
            case _:
                self._rig.start()

    def _kill_shims(self) -> int:
        """Kill the shim of one worker, or of both."""
        running = self._rig.running()
        self._random.shuffle(running)
        killed = 0
        for session in running[: self._random.randint(1, len(SEATS))]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(session.shim, signal.SIGKILL)
                killed += 1
        self._count("shim", killed > 0)
        return killed

    def _count(self, what: str, killed: bool) -> None:  # noqa: FBT001
        self._tally.kills[what] += killed

    def _wait_for_work(self) -> None:
        """Wait until a message is being answered, and never so long that no kill is left."""
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            self._read()
            seen = {e["payload"]["message"] for e in self._journal if e["name"] == "MessageSeen"}
            if seen - self._ended() and self._rig.running():
                return
            time.sleep(_LOOK_S)

    def _send(self, number: int) -> None:
        """Have a message accepted; whether an unanswered one was is looked up, never guessed."""
        worker, text = self._random.choice(SEATS), f"n={number}"
        while True:
            self._revive()
            try:
                answer = self._rig.ask("say", "--wait", "0", f"/w:{worker} {text}")
            except Hung:
                answer = None
            if answer is not None and answer.code != 0:
                raise Broken(f"seed {self._seed}: `say` answered {answer}")
            message = answer.json()["message_id"] if answer else self._find(text)
            if message:
                self._accepted.append(Accepted(message, worker, answer_to(number)))
                return

    def _revive(self) -> None:
        """Start the process again after a kill, the one it gave itself included."""
        if self._rig.is_alive:
            return
        code = self._rig.wait_dead()
        if code != _KILLED:
            raise Broken(f"seed {self._seed}: amiral ended with {code}: {self._rig.log()}")
        self._count("project process at a place", killed=True)
        self._rig.start()

    def _find(self, text: str) -> str:
        while not self._read():
            self._revive()
        queued = (e["payload"] for e in self._journal if e["name"] == "MessageQueued")
        return next((one["message"] for one in queued if one["text"] == text), "")

    def _read(self) -> bool:
        """Read what is new in the journal; False when the process went away."""
        try:
            self._journal += self._rig.events(self._journal[-1]["seq"] if self._journal else 0)
        except Hung:
            self._revive()
            return False
        return True

    def _ended(self) -> set[str]:
        return {e["payload"]["message"] for e in self._journal if e["name"] == "TurnEnded"}

    def _drain(self) -> None:
        """Wait for the end of every message, and for what might still come after it."""
        until = time.monotonic() + _DRAIN_S
        while time.monotonic() < until:
            is_read = self._read()
            if is_read and self._ended().issuperset(one.message for one in self._accepted):
                return
            time.sleep(_LOOK_S)

    def _history(self) -> History:
        """Take the journal as it is in the end; what was read of it before must still be there."""
        self._rig.kill()
        self._rig.start()
        whole = self._rig.events()
        if whole[: len(self._journal)] != self._journal:
            raise Broken(f"seed {self._seed}: the journal has lost events it had told")
        journal = [(event["name"], event["payload"]) for event in whole]
        workers = self._rig.state / "workers"
        executed = {seat: _executed(workers / seat / "home") for seat in SEATS}
        return History(self._accepted, journal, executed, self._left())

    def _left(self) -> list[str]:
        """Look who lives; what ends is given a moment to do so."""
        ended = {e["payload"]["session"] for e in self._journal if e["name"] == "SessionEnded"}
        until = time.monotonic() + _PATIENCE_S
        while ended & set(left := list(self._rig.agents().values())) and time.monotonic() < until:
            time.sleep(_LOOK_S)
        return left


def _executed(home: Path) -> list[str]:
    effects = home / "scripted" / "effects.jsonl"
    if not effects.exists():
        return []
    records = [json.loads(line) for line in effects.read_text().split("\n") if line]
    return [record["id"] for record in records if record["type"] == "executed"]


def chaos(kinds: Iterable[Kind], seed: int, a_run: int = 10) -> Tally:
    """Kill in this order, at most `a_run` times in one run of 30 messages; seeds count up."""
    tally, left = Tally(), list(kinds)
    while left:
        now, left = left[:a_run], left[a_run:]
        with tempfile.TemporaryDirectory(prefix="amiral-chaos-") as folder:
            file = Path(folder, "scenario.yaml")
            file.write_text(scenario())
            rig = Rig(Path(folder), scripted_config(file))
            try:
                Run(rig, seed, tally).play(now)
            finally:
                rig.stop()
        seed += 1
    return tally


def mixed(kills: int, seed: int) -> list[Kind]:
    """Choose kinds at random, those together as often as the two alone."""
    return random.Random(seed).choices(list(Kind), weights=(1, 1, 2), k=kills)


def main() -> int:
    """Run every kind; exit code 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--shim-kills", type=int, default=50)
    parser.add_argument("--both-kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    is_clean = True
    for name, kinds in (
        ("project process", [Kind.PROJECT] * options.kills),
        ("shim", [Kind.SHIM] * options.shim_kills),
        ("mixed", mixed(options.both_kills, options.seed)),
    ):
        tally = chaos(kinds, options.seed)
        print(json.dumps({"kind": name, **vars(tally)}), flush=True)
        is_clean = is_clean and tally.is_clean
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
