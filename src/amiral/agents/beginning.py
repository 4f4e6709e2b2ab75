"""Begin a turn, or take up one that was begun: the session it has, the words it begins with."""

from collections.abc import Callable
from dataclasses import dataclass, field

from amiral.agents import ending, rows
from amiral.agents.approval_rows import closing
from amiral.agents.control import Control
from amiral.agents.driver import Settlement
from amiral.agents.fold import Now, Progress, Question
from amiral.agents.rows import Queued, SessionRow
from amiral.agents.session import Session
from amiral.agents.sessions import Sessions
from amiral.agents.settle import recorded
from amiral.agents.worker import Worker
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import NotFound
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.store.journal import Journal, Rows

READY_S = 60.0
"""How long a CLI may take until it can be given its message."""


@dataclass
class Running:
    """One turn while it runs; all of it can be rebuilt from the journal and the session's files.

    `is_written`: the message may have reached the CLI. It has not when this turn was begun here.
    `asked`: the questions that wait for the owner, by the CLI's names for them.
    """

    message: Queued
    worker: Worker
    control: Control
    session: Session
    now: Now
    text: str
    until_s: float
    ready_by_s: float
    is_written: bool
    progress: Progress
    is_said: bool = False
    is_ended: bool = False
    kill_at_s: float | None = None
    frozen_at_s: float | None = None
    asked: dict[str, Question] = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        """Tell whether the CLI takes a message."""
        return self.session.driver.is_ready(self.session.state)


class Beginnings:
    """`words` gives the text of a turn; `longest_s` is how long it may run."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        sessions: Sessions,
        words: Callable[[Queued, Worker, bool], str],
        longest_s: float,
    ) -> None:
        self._journal, self._clock, self._sessions = journal, clock, sessions
        self._words, self._longest_s = words, longest_s

    async def take_up(self, message: Queued, worker: Worker, control: Control) -> Running | None:
        """Give the turn of a message; None when it was taken back while its session was opened."""
        is_new = message.state in ("queued", "resuming")
        if is_new:
            session = await self._sessions.acquire(worker, message.conversation, message.place)
            begun = await self._begin(message, session)
        else:
            found = await self._find(message, control)
            if found is None:
                return None
            session, begun = found, message
        if begun is None:
            return None
        control.woken = session.woken
        read = self._journal.rows
        return Running(
            begun,
            worker,
            control,
            session,
            rows.now(read, begun, session.row),
            self._words(begun, worker, rows.knows_nothing(read, session.id)),
            *self._times(begun),
            is_written=not is_new,
            progress=Progress(seen=begun.state == "seen"),
        )

    async def _begin(self, message: Queued, session: Session) -> Queued | None:
        """Commit that a message is about to be written, and under which input id."""

        def claim(read: Rows) -> tuple[list[ev.Event], bool]:
            found = rows.find_waiting(read, message.message)
            if found is None or found.state != message.state:
                return [], False
            who = (message.turn or new_id(), message.message, message.worker, session.id)
            if message.state == "queued":
                return [ev.TurnStarted(*who, message.message)], True
            return [ev.TurnResumed(*who, f"{message.message}.{message.resumes + 1}")], True

        is_ours = await self._journal.decide(claim)
        failpoint("turn.started")
        return rows.find_waiting(self._journal.rows, message.message) if is_ours else None

    def _times(self, begun: Queued) -> tuple[float, float]:
        """Give when it has run too long, counted from its beginning, and when it must be ready."""
        now_s = self._clock.monotonic_s()
        ran_s = max(0, self._clock.now_ms() - begun.begun_ms) / 1000
        return now_s + self._longest_s - ran_s, now_s + READY_S

    async def _find(self, message: Queued, control: Control) -> Session | None:
        row = rows.find_session(self._journal.rows, message.session)
        if row is None:
            raise NotFound(f"session {message.session} of a running turn is not in the journal")
        session = await self._sessions.usable(row)
        if session is None:
            await self._settle_unread(message, row, control)
        return session

    async def _settle_unread(self, message: Queued, row: SessionRow, control: Control) -> None:
        """Decide from the input record alone; neither output nor transcript can be read."""
        now = rows.now(self._journal.rows, message, row)
        progress = Progress(seen=message.state == "seen")
        if control.wish is not None:
            event: ev.Event = ending.wished(control.wish, progress, now, row.position)
        else:
            line = recorded(self._sessions.folder(row.session), message.line)
            evidence = ending.Evidence(line, Settlement("unknown"), "its session cannot be read")
            event = ending.verdict(evidence, progress, now, row.position)
        await self._journal.decide(closing(message.turn, event))
