"""The one door: run one turn of one worker, from a queued message to its end, whatever is killed.

A turn writes its message to a session under the message's own id, folds what the CLI says and
commits the position with the events it produced. After a crash the same code goes on: the id keeps
the shim from writing twice, the position keeps the journal from telling twice.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

from amiral.agents import ending, fold
from amiral.agents.approval_rows import closing
from amiral.agents.beginning import Beginnings, Running
from amiral.agents.control import Control
from amiral.agents.driver import Input
from amiral.agents.questions import Asking, Questions
from amiral.agents.rows import Queued
from amiral.agents.sessions import Sessions
from amiral.agents.settle import gather
from amiral.agents.turn_notes import TurnNotes
from amiral.agents.waiting import comes_first
from amiral.agents.wish import Wish
from amiral.agents.worker import Worker
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.base.failpoint import failpoint
from amiral.store.brake import Brake
from amiral.store.journal import Journal

_POLL_S = 1.0


@dataclass(frozen=True)
class TurnLimits:
    """Seconds: how long a turn may run, and how long a soft interrupt is given to work.

    `asking` says how the permission questions of a turn are answered.
    """

    longest_s: float
    grace_s: float
    asking: Asking = field(default_factory=Asking)


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
        self._sessions, self._limits = sessions, limits
        self._questions = Questions(journal, clock, limits.asking)
        self._notes = TurnNotes(sessions.folder, journal.without_secrets)
        self._beginnings = Beginnings(journal, clock, sessions, words, limits.longest_s)

    async def run(self, message: Queued, worker: Worker, control: Control) -> None:
        """Carry `message` on from the state it is in until its turn has ended or is parked."""
        async with contextlib.AsyncExitStack() as held:
            if not await self._holds(held, message, worker, control):
                return
            turn = await self._beginnings.take_up(message, worker, control)
            if turn is None:
                return
            try:
                await self._follow(turn)
            except Exception:
                if turn.is_ended:
                    await self._leave(turn)
                # What was read and not committed is read again.
                self._sessions.forget(turn.session.id)
                raise
            await self._leave(turn)

    async def _holds(
        self, held: contextlib.AsyncExitStack, message: Queued, worker: Worker, control: Control
    ) -> bool:
        """Wait for the turn's folder, unless what is not begun yet is ordered to end first."""
        place = self._sessions.hold(worker, message.place, is_begun=message.state != "queued")
        holding = held.enter_async_context(place)
        if message.state in ("queued", "resuming"):
            return await comes_first(holding, control.ordered)
        await holding
        return True

    async def _follow(self, turn: Running) -> None:
        """Fold output until the final event, or until the CLI is gone and the matter is settled."""
        while not turn.is_ended:
            self._heed_stop(turn)
            if turn.session.is_over:
                await self._sessions.bury(turn.session)
                await self._fold(turn, is_last=True)
                await self._settle(turn)
                return
            await self._fold(turn, is_last=False)
            if turn.asked and self._brake.state(turn.now.worker) is None:
                await self._questions.serve(turn)
            await self._obey(turn)
            await self._say(turn)
            self._notes.leave(turn)
            if not turn.is_ended:
                await turn.session.wait(_POLL_S)

    async def _fold(self, turn: Running, *, is_last: bool) -> None:
        """Fold and commit what is there: the events, the position and the turn's end together."""
        while not turn.is_ended and (lines := turn.session.batch(is_last=is_last)):
            events: list[ev.Event] = []
            inputs: list[Input] = []
            for line in lines:
                answers, requests = self._questions.hear(turn, line)
                inputs += (*line.inputs, *(given for answer in answers for given in answer.inputs))
                if line.is_new:
                    events += fold.told(line, turn.now, answers, turn.progress.noise)
                    events += requests
                turn.progress = fold.advance(turn.progress, line.signals, turn.now)
            self._notes.hear(turn, lines)
            end = ending.end(turn.progress, turn.now, turn.session.position, turn.control.wish)
            if end:
                ended = closing(turn.now.turn, *events, *end, turn.session.snapshot())
                await self._journal.decide(ended)
            elif events:
                await self._journal.append(*events)
            turn.is_ended = bool(end)
            failpoint("turn.folded")
            await turn.session.write(inputs)
            await self._clock.sleep(0)

    def _heed_stop(self, turn: Running) -> None:
        """Under a stop a turn shall end that was begun; while it is frozen, it does not age."""
        stop, now_s = self._brake.state(turn.now.worker), self._clock.monotonic_s()
        is_begun = turn.is_written or turn.session.is_over
        if stop is not None and not stop.is_freeze and is_begun:
            turn.control.interrupt(Wish("stopped", f"emergency {stop.name}: {stop.reason}"))
        if turn.frozen_at_s is not None:
            turn.until_s += now_s - turn.frozen_at_s
            turn.ready_by_s += now_s - turn.frozen_at_s
        turn.frozen_at_s = now_s if stop is not None and stop.is_freeze else None

    async def _obey(self, turn: Running) -> None:
        """Carry out a wish: a soft interrupt first, the end of the whole tree after the grace."""
        now_s = self._clock.monotonic_s()
        if now_s > turn.until_s:
            longest = f"{self._limits.longest_s:.0f} s"
            turn.control.interrupt(Wish("timed_out", f"the turn ran longer than {longest}"))
        await self._warn(turn)
        wish = turn.control.wish
        if turn.is_ended:
            return
        if wish is None:
            if not turn.is_written and not turn.is_ready and now_s > turn.ready_by_s:
                await turn.session.kill()
            return
        if not turn.is_written:
            await self._end(turn, wish)
        elif turn.kill_at_s is None:
            turn.kill_at_s = now_s + self._limits.grace_s
            await self._questions.void(turn, wish.reason)
            driver, state = turn.session.driver, turn.session.state
            await turn.session.write(driver.interrupt(state, turn.now.turn))
        elif now_s > turn.kill_at_s:
            await turn.session.kill()

    async def _warn(self, turn: Running) -> None:
        """Tell once a session that its output cannot be stored: its CLI waits for room (R38)."""
        session = turn.session
        if session.disk_full and not session.is_disk_told:
            session.is_disk_told = True
            text = f"the output of {turn.now.worker} cannot be stored: {session.disk_full}"
            with contextlib.suppress(AmiralError):
                await self._journal.append(ev.WarningRaised("disk", text))

    async def _say(self, turn: Running) -> None:
        """Write the message once the CLI is ready; said before a crash or not, the shim knows."""
        session = turn.session
        is_wanted = not turn.is_ended and turn.control.wish is None
        is_wanted = is_wanted and self._brake.state(turn.now.worker) is None
        if turn.is_said or not is_wanted or not session.driver.is_ready(session.state):
            return
        turn.is_written = turn.is_said = True
        await session.write(session.driver.say(session.state, turn.message.line, turn.text))
        failpoint("turn.written")

    async def _settle(self, turn: Running) -> None:
        """The CLI is gone: without a final event, the turn ends by what the files prove."""
        if turn.is_ended:
            return
        self._heed_stop(turn)
        if turn.control.wish is not None:
            await self._end(turn, turn.control.wish)
            return
        session = turn.session
        evidence = await asyncio.to_thread(
            gather,
            session,
            turn.message.line,
            turn.text,
            self._sessions.folder(session.id),
            await self._sessions.transcripts(session),
        )
        event = ending.verdict(evidence, turn.progress, turn.now, session.position)
        await self._journal.decide(closing(turn.now.turn, event))
        failpoint("turn.settled")

    async def _end(self, turn: Running, wish: Wish) -> None:
        event = ending.wished(wish, turn.progress, turn.now, turn.session.position)
        await self._journal.decide(closing(turn.now.turn, event))
        turn.is_ended = True
        failpoint("turn.settled")

    async def _leave(self, turn: Running) -> None:
        """Leave the session to the next turn, unless it is of no more use."""
        session, finished = turn.session, turn.progress.finished
        self._notes.remove(session.id)
        if session.is_over:
            await self._sessions.finish(session, session.why_over)
        elif finished is not None and ending.is_context_lost(finished, turn.now):
            await self._sessions.finish(session, "context lost")
        elif finished is not None and not session.driver.is_ready(session.state):
            await self._sessions.finish(session, "it never got ready")
        else:
            await session.release_output()
