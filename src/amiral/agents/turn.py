"""The one door: run one turn of one worker, from a queued message to its end, whatever is killed.

A turn writes its message to a session under the message's own id, folds what the CLI says and
commits the position with the events it produced. After a crash the same code goes on: the id keeps
the shim from writing twice, the position keeps the journal from telling twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from amiral.agents import ending, fold, rows
from amiral.agents.control import Control
from amiral.agents.driver import Input
from amiral.agents.fold import Now, Progress
from amiral.agents.rows import Queued
from amiral.agents.session import Session
from amiral.agents.sessions import Sessions
from amiral.agents.settle import gather
from amiral.agents.wish import Wish
from amiral.agents.worker import Worker
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.store.brake import Brake
from amiral.store.journal import Journal

_POLL_S = 1.0


@dataclass(frozen=True)
class TurnLimits:
    """Seconds: how long a turn may run, and how long a soft interrupt is given to work."""

    longest_s: float
    grace_s: float


@dataclass
class _Running:
    """One turn while it runs; all of it can be rebuilt from the journal and the session's files."""

    message: Queued
    worker: Worker
    control: Control
    session: Session
    now: Now
    text: str
    until_s: float
    kill_at_s: float | None = None
    is_said: bool = False
    progress: Progress = field(default_factory=Progress)


class Turns:
    """Runs turns; only the inbox calls it (contract 3)."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        brake: Brake,
        sessions: Sessions,
        words: Callable[[Queued, Worker, bool], str],
        limits: TurnLimits,
    ) -> None:
        self._journal, self._clock, self._brake = journal, clock, brake
        self._sessions, self._words, self._limits = sessions, words, limits

    async def run(self, message: Queued, worker: Worker, control: Control) -> None:
        """Carry `message` on from the state it is in until its turn has ended or is parked."""
        session = await self._session_for(message, worker)
        if message.state in ("queued", "resuming"):
            message = await self._start(message, session)
        turn = self._running(message, worker, control, session)
        control.woken = session.woken
        await self._follow(turn)
        if session.is_over:
            await self._sessions.finish(session, session.why_over)

    async def _session_for(self, message: Queued, worker: Worker) -> Session:
        row = rows.find_session(self._journal.rows, message.session)
        if message.state in ("injected", "seen") and row is not None:
            return await self._sessions.find(row)
        return await self._sessions.acquire(worker, message.conversation)

    async def _start(self, message: Queued, session: Session) -> Queued:
        """Commit that the message is about to be written, and under which input id."""
        line = message.message
        if message.state == "resuming":
            line = f"{line}.{message.resumes + 1}"
            event: ev.Event = ev.TurnResumed(
                message.turn, message.message, message.worker, session.id, line
            )
        else:
            turn = new_id()
            event = ev.TurnStarted(turn, message.message, message.worker, session.id, line)
        await self._journal.append(event)
        failpoint("turn.started")
        return rows.find_waiting(self._journal.rows, message.message) or message

    def _running(
        self, message: Queued, worker: Worker, control: Control, session: Session
    ) -> _Running:
        now = _now(message, session)
        knows_nothing = (
            not session.row.resume_key and rows.turns_in(self._journal.rows, session.id) <= 1
        )
        text = self._words(message, worker, knows_nothing)
        until_s = self._clock.monotonic_s() + self._limits.longest_s
        return _Running(message, worker, control, session, now, text, until_s)

    async def _follow(self, turn: _Running) -> None:
        """Fold output until the final event, or until the CLI is gone and the matter is settled."""
        while True:
            was_over = turn.session.is_over
            await self._fold(turn, is_last=was_over)
            if turn.progress.finished is not None:
                return
            if was_over:
                await self._settle(turn)
                return
            await self._say(turn)
            await turn.session.wait(_POLL_S)
            await self._obey(turn)

    async def _say(self, turn: _Running) -> None:
        """Write the message once the CLI is ready; said before a crash or not, the shim knows."""
        driver, state = turn.session.driver, turn.session.state
        if not turn.is_said and driver.is_ready(state):
            await turn.session.write(driver.say(state, turn.message.line, turn.text))
            turn.is_said = True
            failpoint("turn.written")

    async def _fold(self, turn: _Running, *, is_last: bool) -> None:
        """Fold and commit what is there: the events, the position and the turn's end together."""
        while lines := turn.session.batch(is_last=is_last):
            events: list[ev.Event] = []
            inputs: list[Input] = []
            for line in lines:
                turn.progress = fold.advance(turn.progress, line.signals)
                answers = fold.answer(turn.session.driver, turn.session.state, line, turn.worker)
                inputs += (*line.inputs, *(given for answer in answers for given in answer.inputs))
                if line.is_new:
                    events += fold.told(line, turn.now, answers)
            events += self._ending(turn)
            if events:
                await self._journal.append(*events)
            failpoint("turn.folded")
            await turn.session.write(inputs)
            if turn.progress.finished is not None:
                return

    def _ending(self, turn: _Running) -> tuple[ev.Event, ...]:
        if turn.progress.finished is None:
            return ()
        ended = ending.end(turn.progress, turn.now, turn.session.position, turn.control.wish)
        return (*ended, turn.session.snapshot())

    async def _obey(self, turn: _Running) -> None:
        """Carry out a wish: a soft interrupt first, the end of the whole tree after the grace."""
        if self._clock.monotonic_s() > turn.until_s:
            hours = f"{self._limits.longest_s:.0f} s"
            turn.control.interrupt(Wish("timed_out", f"the turn ran longer than {hours}"))
        if turn.control.wish is None:
            return
        if turn.kill_at_s is None:
            turn.kill_at_s = self._clock.monotonic_s() + self._limits.grace_s
            driver, state = turn.session.driver, turn.session.state
            await turn.session.write(driver.interrupt(state, turn.now.turn))
        elif self._clock.monotonic_s() > turn.kill_at_s:
            await turn.session.kill()

    async def _settle(self, turn: _Running) -> None:
        """The CLI is gone without a final event: end the turn by what the files prove."""
        session = turn.session
        stop = self._brake.state()
        wish = turn.control.wish
        if wish is None and stop is not None:
            wish = Wish("stopped", f"emergency stop {stop.stop_id}: {stop.reason}")
        if wish is not None:
            event: ev.Event = ending.wished(wish, turn.now, session.position)
        else:
            evidence = gather(
                session,
                turn.message,
                turn.text,
                self._sessions.folder(session.id),
                self._sessions.transcript(session, turn.worker),
            )
            why, returns = session.why_over, turn.message.returns
            event = ending.verdict(evidence, turn.now, session.position, why, returns)
        await self._journal.append(event)
        failpoint("turn.settled")


def _now(message: Queued, session: Session) -> Now:
    row = session.row
    return Now(
        turn=message.turn,
        message=message.message,
        worker=message.worker,
        session=row.session,
        conversation=row.conversation,
        driver=row.driver,
        cwd=row.cwd,
        resume_key=row.resume_key,
    )
