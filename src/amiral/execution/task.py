"""Pure: the task a worker gets from a spec, and what its answer says of each criterion."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from amiral.base.fences import read_fences

_DONE = "done"
_LINE = re.compile(r"\s*(?:[-*]\s+)?(?P<number>[0-9]{1,3})\s*[:.)]\s*(?P<note>.*?)\s*")
_UNMET = re.compile(r"(?:(?i:[\s*_]*not[ -]?met)|.*\bNOT MET)\b[\s:,.–—*_-]*")
_RULES = (
    "Run the project's tests. Do not push, and leave its branches as they are. End your answer "
    "with a fenced block `done`, one line a criterion: its number, a colon and how it was met, or "
    "NOT MET and why."
)


@dataclass(frozen=True)
class Brief:
    """What of a spec the worker needs; `earlier` tells why an earlier attempt came back."""

    id: str
    title: str
    problem: str
    approach: str
    acceptance: Sequence[str]
    files: Sequence[str]
    earlier: str = ""


@dataclass(frozen=True)
class Report:
    """`notes` has one note a criterion, "" where nothing was said; `unmet` what was denied."""

    notes: tuple[str, ...]
    unmet: tuple[str, ...]


def write_task(brief: Brief) -> str:
    """Write the task of one execution."""
    criteria = "\n".join(f"{n}. {text}" for n, text in enumerate(brief.acceptance, 1))
    parts = [
        f"Carry out spec {brief.id}: {brief.title}",
        f"Why: {brief.problem}",
        f"How: {brief.approach}",
        f"Files named: {', '.join(brief.files)}" if brief.files else "",
        f"It is done when:\n{criteria}",
        f"An earlier attempt came back: {brief.earlier}" if brief.earlier else "",
        _RULES,
    ]
    return "\n\n".join(part for part in parts if part)


def read_report(answer: str, criteria: int) -> Report:
    """Read the last `done` block of an answer; total on any text."""
    blocks = [fence.body for fence in read_fences(answer) if fence.info.casefold() == _DONE]
    notes = [""] * criteria
    unmet: dict[int, str] = {}
    for line in blocks[-1].split("\n") if blocks else ():
        found = _LINE.fullmatch(line)
        number = int(found["number"]) if found else 0
        if found is None or not 1 <= number <= criteria:
            continue
        notes[number - 1] = found["note"]
        denied = _UNMET.match(found["note"])
        if denied:
            why = found["note"][denied.end() :] or "not met"
            unmet.setdefault(number, f"criterion {number}: {why}")
    return Report(tuple(notes), tuple(unmet.values()))


def write_ticks(report: Report, proof: str, commit: str) -> tuple[str, ...]:
    """Say for each criterion what met it: the worker's note, else `proof`; and in which commit."""
    where = f" · {commit[:12]}" if commit else ""
    return tuple(f"{note or proof}{where}" for note in report.notes)
