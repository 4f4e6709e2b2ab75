"""Pure: the task a worker gets from a spec, and what its answer says of each criterion."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_DONE = re.compile(r"^```done[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^\s*(?P<number>[0-9]{1,3})\s*[:.)]\s*(?P<note>.*?)\s*$")
_RULES = (
    "You work in a git worktree made for this spec. Run the project's tests. Do not push. End your "
    "answer with a fenced block `done`, one line a criterion: its number, a colon and how it was "
    "met, or NOT MET and why."
)
_UNMET = re.compile(r"not[ -]?met\b[\s:,.–—-]*", re.IGNORECASE)


@dataclass(frozen=True)
class Brief:
    """What of a spec the worker needs."""

    id: str
    title: str
    problem: str
    approach: str
    acceptance: Sequence[str]
    files: Sequence[str]


@dataclass(frozen=True)
class Report:
    """`notes` has one note a criterion, "" where nothing was said; `unmet` what was denied."""

    notes: tuple[str, ...]
    unmet: tuple[str, ...]


def write_task(brief: Brief, reason: str) -> str:
    """Write the task of one execution; `reason` tells why an earlier one came back, "" at first."""
    criteria = "\n".join(f"{n}. {text}" for n, text in enumerate(brief.acceptance, 1))
    parts = [
        f"Carry out spec {brief.id}: {brief.title}",
        f"Why: {brief.problem}",
        f"How: {brief.approach}",
        f"Files named: {', '.join(brief.files)}" if brief.files else "",
        f"It is done when:\n{criteria}",
        f"An earlier attempt came back: {reason}" if reason else "",
        _RULES,
    ]
    return "\n\n".join(part for part in parts if part)


def read_report(answer: str, criteria: int) -> Report:
    """Read the last `done` block of an answer; total on any text."""
    blocks = _DONE.findall(answer)
    notes = [""] * criteria
    unmet = []
    for line in blocks[-1].split("\n") if blocks else ():
        found = _LINE.match(line)
        number = int(found["number"]) if found else 0
        if found is None or not 1 <= number <= criteria:
            continue
        denied = _UNMET.match(found["note"])
        if denied:
            unmet.append(f"criterion {number}: {found['note'][denied.end() :] or 'not met'}")
        notes[number - 1] = found["note"]
    return Report(tuple(notes), tuple(unmet))


def write_ticks(criteria: Sequence[str], report: Report, commit: str) -> tuple[str, ...]:
    """Say for each criterion what met it: the worker's own note, and the commit that holds it."""
    short = commit[:12]
    return tuple(
        f"{text} · {note or 'held by the tests'} · {short}"
        for text, note in zip(criteria, report.notes, strict=True)
    )
