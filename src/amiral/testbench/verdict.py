"""Judges what a run with kills has left: nothing lost, nothing twice, nothing out of order."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_FEWEST_TRIES = 4
KEPT = ("lost", "doubled", "out_of_order", "wrong", "untold", "strays")


@dataclass(frozen=True)
class Accepted:
    """A message that amiral had acknowledged, whose worker answers it with `wanted`."""

    message: str
    worker: str
    wanted: str


@dataclass(frozen=True)
class History:
    """What one run left behind, each in its order.

    `journal`: name and payload of the events; `executed`: the messages each worker's CLI began to
    carry out, as the CLI itself recorded them before it did anything; `left`: the session of every
    process of an agent that lives in the end.
    """

    accepted: Sequence[Accepted]
    journal: Sequence[tuple[str, Mapping[str, Any]]]
    executed: Mapping[str, Sequence[str]]
    left: Sequence[str] = ()

    def told(self, name: str) -> Iterator[Mapping[str, Any]]:
        """Give the payloads of one kind of event."""
        return (payload for told, payload in self.journal if told == name)

    def ends(self, message: str) -> list[Mapping[str, Any]]:
        """Give every end that was told of the turn of a message."""
        return [end for end in self.told("TurnEnded") if end["message"] == message]


@dataclass
class Tally:
    """What all runs came to. What `KEPT` names must be 0; each offence has a line in `faults`."""

    lost: int = 0
    doubled: int = 0
    out_of_order: int = 0
    wrong: int = 0
    untold: int = 0
    strays: int = 0
    messages: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    seeds: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Tell whether every promise was kept."""
        return not self.faults

    def judge(self, history: History, seed: int) -> None:
        """Add one run."""
        self.seeds.append(seed)
        self.messages += len(history.accepted)
        for end in history.told("TurnEnded"):
            self.outcomes[end["outcome"]] += 1
            if end["reason"]:
                self.reasons[end["reason"]] += 1
        for kind, what in offences(history):
            setattr(self, kind, getattr(self, kind) + 1)
            self.faults.append(f"seed {seed}: {kind}: {what}")


def offences(history: History) -> Iterator[tuple[str, str]]:
    """Name every promise that was broken: one of `KEPT`, and what it was about."""
    for one in history.accepted:
        yield from _fate(one, history)
        yield from _speech(one, history)
    for worker in sorted({one.worker for one in history.accepted}):
        yield from _order(worker, history)
    over = {ended["session"] for ended in history.told("SessionEnded")}
    for session in history.left:
        if session in over:
            yield "strays", f"a process of session {session} lives after its end"
    known = {one.message for one in history.accepted}
    for end in history.told("TurnEnded"):
        if end["message"] not in known:
            yield "wrong", f"{end['message']} was answered and never accepted"


def _fate(one: Accepted, history: History) -> Iterator[tuple[str, str]]:
    """One end and one execution at most."""
    name = f"{one.message} ({one.wanted!r} by {one.worker})"
    ends, ran = history.ends(one.message), history.executed.get(one.worker, ()).count(one.message)
    if not ends:
        yield "lost", f"{name} has no end"
    if len(ends) > 1:
        yield "doubled", f"{name} has {len(ends)} ends"
    if ran > 1:
        yield "doubled", f"{name} was executed {ran} times"
    tries = 1 + sum(back["message"] == one.message for back in history.told("MessageReturned"))
    for end in ends:
        yield from ((kind, f"{name} {what}") for kind, what in _end(one, end, ran, tries))


def _end(one: Accepted, end: Mapping[str, Any], ran: int, tries: int) -> Iterator[tuple[str, str]]:
    """What is done was executed and answered as it should be; else the person is told why.

    A message may be given up, and told so, when its CLI was killed each of several times before it
    had got it.
    """
    match end["outcome"]:
        case "done" if ran == 0:
            yield "lost", "is called done and was never executed"
        case "done" if end["text"] != one.wanted:
            yield "wrong", f"was answered {end['text']!r}"
        case "failed" if tries < _FEWEST_TRIES:
            yield "lost", f"was given up after {tries} tries: {end['reason']}"
        case outcome if outcome != "done" and not end["reason"]:
            yield "untold", f"ended {outcome} without a reason"


def _speech(one: Accepted, history: History) -> Iterator[tuple[str, str]]:
    """Of each turn no piece of the answer is told twice, and none of another answer."""
    turns = {end["turn"] for end in history.ends(one.message)}
    pieces = [said["text"] for said in history.told("WorkerSaid") if said["turn"] in turns]
    if not one.wanted.startswith("".join(pieces)):
        yield "doubled", f"{one.message} was told as {pieces!r} instead of {one.wanted!r}"


def _order(worker: str, history: History) -> Iterator[tuple[str, str]]:
    wanted = [one.message for one in history.accepted if one.worker == worker]
    for what, seen in (
        ("executed", history.executed.get(worker, ())),
        ("ended", (end["message"] for end in history.told("TurnEnded"))),
    ):
        first = [message for message in dict.fromkeys(seen) if message in wanted]
        expected = [message for message in wanted if message in first]
        for found, due in zip(first, expected, strict=True):
            if found != due:
                yield "out_of_order", f"{worker} {what} {found} where {due} was due"
