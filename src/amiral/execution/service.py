"""Carries approved specs out, one by one: worktree, turn, the project's tests, commit, done.

Every step is decided from the journal alone, so that it is taken up where it stood after any crash.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from amiral.agents.roster import Roster
from amiral.agents.worker import Worker
from amiral.base import events as ev
from amiral.base.clock import Clock, iso_utc
from amiral.base.errors import AmiralError, Conflict, NotFound
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.execution.own_tests import OwnTests, Tested
from amiral.execution.task import Brief, Report, read_report, write_task, write_ticks
from amiral.permissions.tools import ALL_TOOLS, may_write
from amiral.projects.work import Worktree
from amiral.projects.worktrees import Worktrees
from amiral.specs import rows
from amiral.specs.spec import Spec
from amiral.specs.transition import Wish, check
from amiral.store.brake import Brake
from amiral.store.journal import Journal, Rows

_EXECUTOR = "developer"
_SENDER = "amiral"
_SURFACE = "spec"
_BRAKE_POLL_S = 1.0
_PAUSE_AFTER_FAULT_S = 1.0
_NEWS = (
    *(ev.SpecApproved, ev.SpecFailed, ev.SpecDone, ev.SpecRejected),
    *(ev.TurnEnded, ev.MessageCancelled),
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
        if rows.executing(self._journal.rows) is not None:
            await self._tests.end_leftovers()
        await self._advance(wake)
        async for batch in self._journal.batches(since):
            if any(isinstance(stamped.event, _NEWS) for stamped in batch):
                await self._advance(wake)

    async def _advance(self, wake: Callable[[str], None]) -> None:
        """Do all that can be done now; under a stop, look again until it is released."""
        while True:
            try:
                while await self._step(wake):
                    failpoint("execution.stepped")
            except AmiralError as error:
                await self._tell(error)
            if not self._is_held():
                return
            await self._clock.sleep(_BRAKE_POLL_S)

    async def _tell(self, fault: AmiralError) -> None:
        """Nothing can be entered in the journal, it seems; the next news brings us back."""
        with contextlib.suppress(AmiralError):
            await self._journal.append(ev.WarningRaised("specs", fault.message))
        await self._clock.sleep(_PAUSE_AFTER_FAULT_S)

    def _is_held(self) -> bool:
        """Tell whether a stop keeps a spec from going on."""
        read = self._journal.rows
        return self._brake.state() is not None and bool(rows.approved(read) or rows.executing(read))

    async def _step(self, wake: Callable[[str], None]) -> bool:
        """Do one thing; False when there is nothing to do now."""
        spec = rows.executing(self._journal.rows)
        if spec is not None:
            turn = _ended(self._journal.rows, spec.task)
            return turn is not None and await self._finish(spec, turn)
        waiting = rows.approved(self._journal.rows)
        if not waiting or self._brake.state() is not None:
            return False
        async with self._worktrees.lock(waiting[0].id):
            await self._begin(waiting[0], wake)
        return True

    async def _begin(self, spec: Spec, wake: Callable[[str], None]) -> None:
        """Give the spec to a worker; one that cannot begin comes back with the reason."""
        worktree, base = None, ""
        try:
            worker = self._executor()
            if await self._worktrees.is_git():
                worktree = await self._worktrees.ensure(spec.id)
                await self._worktrees.work.freshen(worktree)
                base = await self._worktrees.work.base(worktree, spec.base)
        except AmiralError as error:
            reason = _reason(error)
            await self._enter(spec, lambda now: _refused(now, reason))
            return
        failpoint("execution.ready")
        message, branch = new_id(), worktree.branch if worktree else ""

        def claim(now: Spec) -> list[ev.Event]:
            who = (now.id, now.attempt + 1, worker.id, message, branch, base)
            return [ev.SpecExecuting(*who), _task(now, worker, message)]

        if await self._enter(spec, claim):
            failpoint("execution.claimed")
            wake(worker.id)
        elif worktree is not None and not await self._worktrees.work.is_touched(worktree):
            await self._worktrees.discard(worktree)

    async def _enter(self, spec: Spec, make: Callable[[Spec], list[ev.Event]]) -> bool:
        """Enter what begins an attempt; False when the spec may not be carried out any more."""

        def decide(read: Rows) -> tuple[list[ev.Event], None]:
            now = rows.named(read, spec.id)
            check(now, Wish.CLAIM, iso_utc(now.since_ms))
            return make(now), None

        try:
            await self._journal.decide(decide)
        except Conflict:
            return False
        return True

    async def _finish(self, spec: Spec, turn: _Turn) -> bool:
        """Judge the work of a turn that has ended."""
        report = read_report(turn.text, len(spec.acceptance))
        if turn.outcome != "done" or report.unmet:
            reason = "; ".join(report.unmet) if turn.outcome == "done" else _how(turn)
            return await self._fail(spec, reason)
        if self._brake.state() is not None:
            return False
        try:
            is_git = await self._worktrees.is_git()
            async with self._worktrees.lock(spec.id if is_git else ""):
                return await self._judge(spec, turn, report, is_git=is_git)
        except AmiralError as error:
            if self._brake.state() is not None:
                return False
            return await self._fail(spec, _reason(error))

    async def _judge(self, spec: Spec, turn: _Turn, report: Report, *, is_git: bool) -> bool:
        """Test, then commit what was there before the tests: what they leave is no part of it."""
        worktree = await self._worktrees.ensure(spec.id) if is_git else None
        folder = worktree.folder if worktree else self._worktrees.root
        if worktree is not None:
            await self._worktrees.work.check_whole(worktree)
            await self._worktrees.work.stage(worktree, f"attempt-{spec.attempt}")
        failpoint("execution.staged")
        if not spec.tests and not await self._test(spec, folder):
            return True
        failpoint("execution.tested")
        commit, files = await self._commit(spec, worktree) if worktree else ("", ())
        failpoint("execution.committed")
        if worktree is not None and not files:
            return await self._fail(spec, f"{spec.worker} said done and changed nothing")
        tests = rows.named(self._journal.rows, spec.id).tests
        ticks = write_ticks(report, f"nothing said · tests: {tests}", commit)
        done = ev.SpecDone(spec.id, spec.attempt, commit, ticks, files, turn.text)
        await self._journal.append(done)
        return True

    async def _test(self, spec: Spec, folder: Path) -> bool:
        """Run the tests and enter what they say; False when that ends the attempt."""
        tested = await self._tests.run(folder, spec.worker)
        stop = self._brake.state()
        if stop is not None and not tested.passed:
            await self._fail(spec, f"stopped: emergency {stop.name}: {stop.reason}")
            return False
        told = ev.SpecTested(
            spec.id, spec.attempt, tested.passed, tested.command, tested.summary or "passed"
        )
        failed = ev.SpecFailed(spec.id, spec.attempt, _why(tested))
        await self._journal.append(told, *(() if tested.passed else (failed,)))
        return tested.passed

    async def _commit(self, spec: Spec, worktree: Worktree) -> tuple[str, tuple[str, ...]]:
        """Commit what is staged; gives the newest commit and all files that were changed."""
        criteria = "\n".join(f"- {text}" for text in spec.acceptance)
        message = f"{spec.title}\n\n{spec.problem}\n\n{criteria}\n\nSpec: {spec.id}"
        commit = await self._worktrees.work.commit(worktree, message, spec.worker)
        base = await self._worktrees.work.base(worktree, spec.base)
        return commit, await self._worktrees.work.files(worktree, base)

    async def _fail(self, spec: Spec, reason: str) -> bool:
        await self._journal.append(ev.SpecFailed(spec.id, spec.attempt, reason))
        return True

    def _executor(self) -> Worker:
        """The developer, else the first worker with every tool (S0.12)."""
        workers = self._roster.workers()
        able = [one for one in workers if one.id == _EXECUTOR and may_write(one.tools)]
        able += [one for one in workers if one.tools == ALL_TOOLS]
        if not able:
            raise NotFound("no worker has all tools", "add a developer to workers_registry.json")
        return able[0]


def _refused(spec: Spec, reason: str) -> list[ev.Event]:
    """An attempt that no worker was given."""
    attempt = spec.attempt + 1
    executing = ev.SpecExecuting(spec.id, attempt, spec.worker, "", spec.branch, spec.base)
    return [executing, ev.SpecFailed(spec.id, attempt, reason)]


def _task(spec: Spec, worker: Worker, message: str) -> ev.MessageQueued:
    what = (spec.id, spec.title, spec.problem, spec.approach, spec.acceptance, spec.files)
    return ev.MessageQueued(
        message=message,
        worker=worker.id,
        conversation=f"spec-{spec.id}",
        text=write_task(Brief(*what, earlier=spec.reason if spec.attempt else "")),
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


def _how(turn: _Turn) -> str:
    return f"{turn.outcome}: {turn.reason}".rstrip(": ")


def _reason(error: AmiralError) -> str:
    return ". ".join(part for part in (error.message, error.next_step) if part)


def _why(tested: Tested) -> str:
    return f"tests failed ({tested.command}): {tested.summary}"
