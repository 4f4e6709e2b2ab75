"""Carries approved specs out, one by one: worktree, turn, the project's tests, commit, done.

Every step is decided from the journal alone, so that it is taken up where it stood after any crash.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from amiral.agents.roster import Roster
from amiral.agents.worker import ALL_TOOLS, Worker
from amiral.base import events as ev
from amiral.base.clock import Clock, iso_utc
from amiral.base.errors import AmiralError, Conflict, NotFound
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.execution.own_tests import OwnTests, Tested
from amiral.execution.task import Brief, read_report, write_task, write_ticks
from amiral.projects.worktrees import Worktree, Worktrees
from amiral.specs import rows
from amiral.specs.spec import Spec
from amiral.specs.transition import Wish, check
from amiral.store.brake import Brake
from amiral.store.journal import Journal, Rows

_EXECUTOR = "developer"
_SENDER = "amiral"
_SURFACE = "spec"
_PAUSE_AFTER_FAULT_S = 1.0
_NEWS = (
    *(ev.SpecApproved, ev.SpecFailed, ev.SpecDone, ev.SpecRejected),
    *(ev.TurnEnded, ev.MessageCancelled, ev.BrakeSeen),
)


@dataclass(frozen=True)
class _Turn:
    """What became of the message a worker was given with a spec."""

    outcome: str
    text: str
    reason: str


class Execution:
    """One spec at a time in a project; `wake` starts the lane of a worker that was given one."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        brake: Brake,
        worktrees: Worktrees,
        tests: OwnTests,
        roster: Roster,
    ) -> None:
        self._journal, self._clock, self._brake = journal, clock, brake
        self._worktrees, self._tests, self._roster = worktrees, tests, roster

    async def follow(self, wake: Callable[[str], None]) -> None:
        """Act on every piece of news, for ever."""
        since = self._journal.last_seq
        await self._advance(wake)
        async for batch in self._journal.batches(since):
            if any(isinstance(stamped.event, _NEWS) for stamped in batch):
                await self._advance(wake)

    async def _advance(self, wake: Callable[[str], None]) -> None:
        """Do all that can be done now; a fault is told and tried again with the next news."""
        try:
            while await self._step(wake):
                failpoint("execution.stepped")
        except Conflict:
            # A stop came between: its release is news.
            return
        except AmiralError as error:
            await self._journal.append(ev.WarningRaised("specs", error.message))
            await self._clock.sleep(_PAUSE_AFTER_FAULT_S)

    async def _step(self, wake: Callable[[str], None]) -> bool:
        """Do one thing; False when there is nothing to do now."""
        spec = rows.executing(self._journal.rows)
        if spec is not None:
            return await self._finish(spec)
        waiting = rows.approved(self._journal.rows)
        if not waiting or self._brake.state() is not None:
            return False
        await self._begin(waiting[0], wake)
        return True

    async def _begin(self, spec: Spec, wake: Callable[[str], None]) -> None:
        """Give the spec to a worker; one that cannot begin comes back with the reason."""
        try:
            worker = self._executor()
            worktree = await self._worktree(spec)
        except AmiralError as error:
            await self._refuse(spec, f"{error.message}. {error.next_step}".rstrip(". "))
            return
        message = new_id()
        branch, base = (worktree.branch, worktree.base) if worktree else ("", "")

        def claim(read: Rows) -> tuple[list[ev.Event], None]:
            now = _claimable(read, spec.id)
            attempt = now.attempt + 1
            executing = ev.SpecExecuting(now.id, attempt, worker.id, message, branch, base)
            return [executing, _task(now, worker, message, spec.reason)], None

        await self._journal.decide(claim)
        wake(worker.id)

    async def _refuse(self, spec: Spec, reason: str) -> None:
        def fail(read: Rows) -> tuple[list[ev.Event], None]:
            attempt = _claimable(read, spec.id).attempt + 1
            executing = ev.SpecExecuting(spec.id, attempt, "", "", "", "")
            return [executing, ev.SpecFailed(spec.id, attempt, reason)], None

        await self._journal.decide(fail)

    async def _finish(self, spec: Spec) -> bool:
        """Judge the work of a turn that has ended."""
        turn = _ended(self._journal.rows, spec.task)
        if turn is None:
            return False
        report = read_report(turn.text, len(spec.acceptance))
        if turn.outcome != "done" or report.unmet:
            reason = "; ".join(report.unmet) or f"{turn.outcome}: {turn.reason}".rstrip(": ")
            await self._journal.append(ev.SpecFailed(spec.id, spec.attempt, reason))
            return True
        worktree = await self._worktree(spec)
        folder = worktree.folder if worktree else self._worktrees.root
        if not spec.tests:
            # What the tests leave behind is no part of the work.
            if worktree is not None:
                await self._worktrees.stage(worktree)
            if not await self._test(spec, folder):
                return True
        commit = await self._commit(spec, worktree)
        if worktree is not None and not commit:
            reason = f"{spec.worker} said done and changed nothing"
            await self._journal.append(ev.SpecFailed(spec.id, spec.attempt, reason))
            return True
        files = await self._worktrees.changed_files(worktree) if worktree else ()
        ticks = write_ticks(spec.acceptance, report, commit or "no git")
        done = ev.SpecDone(spec.id, spec.attempt, commit, ticks, files, turn.text)
        await self._journal.append(done)
        return True

    async def _test(self, spec: Spec, folder: Path) -> bool:
        tested = await self._tests.run(folder)
        told = ev.SpecTested(
            spec.id, spec.attempt, tested.passed, tested.command, tested.summary or "passed"
        )
        if tested.passed:
            await self._journal.append(told)
            return True
        failed = ev.SpecFailed(spec.id, spec.attempt, _why(tested))
        await self._journal.append(told, failed)
        return False

    async def _commit(self, spec: Spec, worktree: Worktree | None) -> str:
        if worktree is None:
            return ""
        criteria = "\n".join(f"- {text}" for text in spec.acceptance)
        message = f"{spec.title}\n\n{spec.problem}\n\n{criteria}\n\nSpec: {spec.id}"
        return await self._worktrees.commit(worktree, message, spec.worker)

    async def _worktree(self, spec: Spec) -> Worktree | None:
        if not await self._worktrees.is_git():
            return None
        return await self._worktrees.ensure(spec.id)

    def _executor(self) -> Worker:
        """The developer, else the first worker with every tool (S0.12)."""
        able = [one for one in self._roster.workers() if one.tools == ALL_TOOLS]
        able.sort(key=lambda worker: worker.id != _EXECUTOR)
        if not able:
            raise NotFound("no worker has all tools", "add a developer to workers_registry.json")
        return able[0]


def _claimable(read: Rows, spec: str) -> Spec:
    """Give the spec as it is now; Conflict when it or another one is being carried out."""
    busy = rows.executing(read)
    if busy is not None:
        raise Conflict(f"spec {busy.id} is being carried out", "one at a time in a project")
    now = rows.named(read, spec)
    check(now, Wish.CLAIM, iso_utc(now.since_ms))
    return now


def _task(spec: Spec, worker: Worker, message: str, reason: str) -> ev.MessageQueued:
    brief = Brief(spec.id, spec.title, spec.problem, spec.approach, spec.acceptance, spec.files)
    return ev.MessageQueued(
        message=message,
        worker=worker.id,
        conversation=f"spec-{spec.id}",
        text=write_task(brief, reason),
        sender=_SENDER,
        surface=_SURFACE,
        place=spec.id,
    )


def _ended(read: Rows, message: str) -> _Turn | None:
    """Read how the turn of a message ended, None while it has not."""
    state = read("select state from inbox where message = ?", message)
    if not state or state[0][0] not in ("done", "cancelled"):
        return None
    if state[0][0] == "cancelled":
        return _Turn("cancelled", "", "the message was taken back")
    sql = "select outcome, text, reason from turns where message = ? order by started_ms desc"
    return _Turn(*read(sql, message)[0])


def _why(tested: Tested) -> str:
    return f"tests failed ({tested.command}): {tested.summary}"
