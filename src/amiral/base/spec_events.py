"""Pure: facts about specs: written by a worker, judged by the owner, carried out in a worktree."""

from dataclasses import dataclass

from amiral.base.event import Event


@dataclass(frozen=True)
class SpecCreated(Event):
    """A worker's answer held a SPEC block: a draft waits for the owner (S0.8)."""

    spec: str
    title: str
    problem: str
    approach: str
    acceptance: tuple[str, ...]
    files: tuple[str, ...]
    complexity: str
    worker: str
    conversation: str
    message: str


@dataclass(frozen=True)
class SpecRevised(Event):
    """A rejected spec came back as a draft, under the same id; `revision` counts from 2.

    `message` is the one whose answer held the new block.
    """

    spec: str
    revision: int
    title: str
    problem: str
    approach: str
    acceptance: tuple[str, ...]
    files: tuple[str, ...]
    complexity: str
    message: str = ""


@dataclass(frozen=True)
class SpecBlocksRefused(Event):
    """Blocks of an answer were no specs; `errors` name block, line and field."""

    worker: str
    conversation: str
    message: str
    errors: tuple[str, ...]


@dataclass(frozen=True)
class SpecApproved(Event):
    """The owner (or `specAutoApprove`) approved a draft."""

    spec: str
    reason: str = ""


@dataclass(frozen=True)
class SpecRejected(Event):
    """The owner rejected a draft, or revoked an approval."""

    spec: str
    reason: str = ""


@dataclass(frozen=True)
class SpecExecuting(Event):
    """A worker was given the spec: one at a time in a project; `base` is the commit it began at."""

    spec: str
    attempt: int
    worker: str
    message: str
    branch: str
    base: str


@dataclass(frozen=True)
class SpecTested(Event):
    """The project's own tests ran on the work; `command` is "" when the project has none."""

    spec: str
    attempt: int
    passed: bool
    command: str
    summary: str


@dataclass(frozen=True)
class SpecFailed(Event):
    """An execution did not come to its end: the spec is approved again, with the reason."""

    spec: str
    attempt: int
    reason: str


@dataclass(frozen=True)
class SpecDone(Event):
    """Carried out: committed as `commit`; `ticks` says for each criterion what met it."""

    spec: str
    attempt: int
    commit: str
    ticks: tuple[str, ...]
    files: tuple[str, ...]
    summary: str


@dataclass(frozen=True)
class SpecMerged(Event):
    """The owner took the work of a spec into the branch checked out in the project."""

    spec: str
    branch: str
    commit: str


@dataclass(frozen=True)
class SpecDiscarded(Event):
    """The owner threw the worktree and branch of a spec away."""

    spec: str
    reason: str = ""


@dataclass(frozen=True)
class AnswerRead(Event):
    """A reader of answers (`reader`) has dealt with everything up to event `upto`."""

    reader: str
    upto: int
