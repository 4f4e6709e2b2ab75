"""Pure: Spec, what a worker writes, the owner judges and another worker carries out (S0.16-18)."""

from dataclasses import dataclass, replace
from enum import StrEnum

from amiral.base import events as ev

COMPLEXITIES = ("low", "medium", "high")
LONGEST_TITLE = 120

Note = ev.SpecTested | ev.SpecMerged | ev.SpecDiscarded
"""What is noted about a spec and leaves its state as it is."""

Move = (
    ev.SpecRevised
    | ev.SpecApproved
    | ev.SpecRejected
    | ev.SpecExecuting
    | ev.SpecFailed
    | ev.SpecDone
)
"""What puts a spec into another state."""


class Status(StrEnum):
    """The five states of a spec (S0.17)."""

    DRAFT = "draft"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXECUTING = "executing"
    DONE = "done"


@dataclass(frozen=True)
class Rules:
    """What the owner's trusted project_roles.json says about specs (S0.35)."""

    auto_approve: bool = False
    most_drafts: int = 20


@dataclass(frozen=True)
class Draft:
    """What a SPEC block holds; `revises` names the rejected spec that it replaces."""

    title: str
    problem: str
    approach: str
    acceptance: tuple[str, ...]
    files: tuple[str, ...] = ()
    complexity: str = "medium"
    revises: str = ""


@dataclass(frozen=True)
class Spec:
    """One spec (S0.16) with its life.

    `author` wrote it in `conversation`, its last revision in the answer to `message`. `by` put it
    into its state at `since_ms`, for `reason`. `worker` was given it last, as message `task`, in a
    worktree on `branch`, from the commit `base` on; `branch` is "" before and once the work is
    discarded. `is_failed`: approved, and the last attempt did not come to its end. `ticks` say for
    each criterion what met it. Instants are epoch milliseconds UTC.
    """

    id: str
    title: str
    problem: str
    approach: str
    acceptance: tuple[str, ...]
    files: tuple[str, ...]
    complexity: str
    status: Status
    created_ms: int
    updated_ms: int
    since_ms: int
    conversation: str
    author: str
    message: str
    by: str
    revision: int = 1
    reason: str = ""
    is_failed: bool = False
    attempt: int = 0
    worker: str = ""
    task: str = ""
    branch: str = ""
    base: str = ""
    tests: str = ""
    commit: str = ""
    ticks: tuple[str, ...] = ()
    merged: str = ""

    def content(self) -> Draft:
        """Give the block of a revision of this spec."""
        return Draft(
            self.title,
            self.problem,
            self.approach,
            self.acceptance,
            self.files,
            self.complexity,
            self.id,
        )


def create(event: ev.SpecCreated, at_ms: int) -> Spec:
    """Make the draft that an answer held."""
    return Spec(
        id=event.spec,
        title=event.title,
        problem=event.problem,
        approach=event.approach,
        acceptance=event.acceptance,
        files=event.files,
        complexity=event.complexity,
        status=Status.DRAFT,
        created_ms=at_ms,
        updated_ms=at_ms,
        since_ms=at_ms,
        conversation=event.conversation,
        author=event.worker,
        message=event.message,
        by=event.worker,
    )


def advance(spec: Spec, event: Move | Note, by: str, at_ms: int) -> Spec:
    """Give the spec as it is after one of its events, entered in the journal by `by`."""
    moved = replace(spec, by=by, since_ms=at_ms, updated_ms=at_ms, reason="", is_failed=False)
    match event:
        case ev.SpecRevised():
            return _revised(moved, event)
        case ev.SpecApproved(reason=reason):
            return replace(moved, status=Status.APPROVED, reason=reason)
        case ev.SpecRejected(reason=reason):
            return replace(moved, status=Status.REJECTED, reason=reason)
        case ev.SpecExecuting():
            return _executing(moved, event)
        case ev.SpecFailed(reason=reason):
            return replace(moved, status=Status.APPROVED, reason=reason, is_failed=True)
        case ev.SpecDone(commit=commit, ticks=ticks):
            return replace(moved, status=Status.DONE, commit=commit, ticks=ticks)
        case _:
            return _noted(replace(spec, updated_ms=at_ms), event)


def _revised(spec: Spec, event: ev.SpecRevised) -> Spec:
    return replace(
        spec,
        status=Status.DRAFT,
        by=spec.author,
        revision=event.revision,
        title=event.title,
        problem=event.problem,
        approach=event.approach,
        acceptance=event.acceptance,
        files=event.files,
        complexity=event.complexity,
        message=event.message,
    )


def _executing(spec: Spec, event: ev.SpecExecuting) -> Spec:
    return replace(
        spec,
        status=Status.EXECUTING,
        attempt=event.attempt,
        worker=event.worker,
        task=event.message,
        branch=event.branch,
        base=event.base,
        tests="",
    )


def _noted(spec: Spec, event: Note) -> Spec:
    """Take up what leaves the state as it is."""
    match event:
        case ev.SpecTested(summary=summary):
            return replace(spec, tests=summary)
        case ev.SpecMerged(commit=commit):
            return replace(spec, merged=commit)
        case _:
            return replace(spec, branch="", base="")
