"""One worker's lane: its queue served in order, one turn at a time, whatever goes wrong."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from amiral.agents import approval_rows, rows
from amiral.agents.control import Control
from amiral.agents.opening import CannotStart
from amiral.agents.rows import Queued
from amiral.agents.sessions import Sessions
from amiral.agents.waiting import happens
from amiral.agents.wish import Wish
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError, Denied, Invalid, NotFound
from amiral.base.ids import new_id
from amiral.store.brake import Brake
from amiral.store.journal import Journal, Rows

IDLE_S = 1800.0
"""After so long without work a worker's CLI is ended; its conversation is resumed by key."""

MOST_FAULTS = 5
"""Faults of our own in a row after which a turn is given up, so that its queue can go on."""

_BRAKE_POLL_S = 1.0
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_HOPELESS = (NotFound, Denied, Invalid, CannotStart)
"""What trying again does not mend; anything else a machine may recover from."""


@dataclass(frozen=True)
class Engine:
    """What every lane uses; `run` is the one door."""

    journal: Journal
    clock: Clock
    brake: Brake
    sessions: Sessions
    run: Callable[[Queued, Control], Awaitable[None]]


class Lane:
    """Serves one worker until it is stopped."""

    def __init__(self, worker: str, engine: Engine) -> None:
        self._control: Control | None = None
        self._worker, self._engine = worker, engine
        self._news = asyncio.Event()
        self._message = self._told = ""
        self._tries = self._faults = 0
        self._task = asyncio.create_task(self._serve(), name=f"lane {worker}")

    def wake(self) -> None:
        """Have the queue looked at, and by the running turn what was answered."""
        self._news.set()
        if self._control is not None:
            self._control.woken.set()

    @property
    def is_running(self) -> bool:
        """Tell whether a turn runs."""
        return self._control is not None

    @property
    def running(self) -> str:
        """Name the message whose turn runs, "" when none does."""
        return self._message if self._control is not None else ""

    def interrupt(self, wish: Wish, message: str) -> None:
        """End the turn of this message, if it is the one that runs."""
        if self._control is not None and self._message == message:
            self._control.interrupt(wish)

    async def stop(self) -> None:
        """Let go; a running turn goes on under its shim."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _serve(self) -> None:
        while True:
            try:
                await self._serve_next()
            except AmiralError as error:
                await self._pause(error.message)
            except Exception as fault:  # noqa: BLE001 - crash-only: gone on from the journal
                self._faults += 1
                await self._pause(repr(fault))

    async def _serve_next(self) -> None:
        message = self._next()
        if message is None:
            await self._idle()
        elif message.state in ("queued", "resuming") and not self._may_begin():
            await self._engine.clock.sleep(_BRAKE_POLL_S)
        elif self._message == message.message and self._faults >= MOST_FAULTS:
            await self._give_up(message, f"amiral met a fault {self._faults} times: {self._told}")
        elif message.wish and message.state in ("queued", "resuming", "parked"):
            # What it was ordered to end is not begun again.
            await self._end(message, message.wish, message.wish_reason)
        else:
            await self._carry_on(message)

    def _next(self) -> Queued | None:
        """The oldest unfinished message, None when there is none or the worker is parked."""
        found = rows.waiting(self._engine.journal.rows, self._worker)
        return found[0] if found and (found[0].state != "parked" or found[0].wish) else None

    async def _idle(self) -> None:
        if await happens(self._news, self._engine.clock, IDLE_S):
            self._news.clear()
        else:
            await self._engine.sessions.rest(self._worker)

    async def _carry_on(self, message: Queued) -> None:
        """Run the turn; a wish about it outlives a trouble, after which it is run again."""
        if self._control is None or self._message != message.message:
            self._control, self._message = Control(), message.message
            self._forget_troubles()
        if message.wish:
            self._control.interrupt(Wish(message.wish, message.wish_reason))
        try:
            await self._engine.run(message, self._control)
        except _HOPELESS as error:
            reason = ". ".join(part for part in (error.message, error.next_step) if part)
            await self._give_up(message, reason)
        else:
            self._control = None
            self._forget_troubles()
            await self._let_rest(message)

    async def _let_rest(self, message: Queued) -> None:
        """A message that came back to its queue waits before it is sent again, longer each time."""
        now = rows.find_waiting(self._engine.journal.rows, message.message)
        if now is not None and now.returns > message.returns:
            await self._engine.clock.sleep(_FIRST_PAUSE_S * 2 ** (now.returns - 1))

    async def _give_up(self, message: Queued, reason: str) -> None:
        """End a message that cannot be carried out as failed, with what it has started."""
        now = rows.find_waiting(self._engine.journal.rows, message.message)
        if now is not None and now.session:
            # A session that cannot be ended now is ended before the next one is opened.
            with contextlib.suppress(Exception):
                await self._engine.sessions.abandon(now.session, "its turn cannot go on")
        await self._end(message, "failed", reason)

    async def _end(self, message: Queued, outcome: str, reason: str) -> None:
        def claim(read: Rows) -> tuple[list[ev.Event], None]:
            found = rows.find_waiting(read, message.message)
            if found is None:
                return [], None
            ended = _over(found, outcome, reason)
            return [*ended, *approval_rows.voided(read, found.turn, reason)], None

        await self._engine.journal.decide(claim)
        self._control = None
        self._forget_troubles()

    async def _pause(self, trouble: str) -> None:
        """Tell a trouble once, and wait, longer each time."""
        if not self._is_held() and trouble != self._told:
            text = f"a turn of {self._worker} goes on from the journal after a fault: {trouble}"
            with contextlib.suppress(AmiralError):
                await self._engine.journal.append(ev.WarningRaised("turn", text))
                self._told = trouble
        pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0**self._tries)
        self._tries += 1
        await self._engine.clock.sleep(pause_s)

    def _is_held(self) -> bool:
        """Tell whether a stop or a freeze keeps this worker from beginning anything."""
        return self._engine.brake.state(self._worker) is not None

    def _may_begin(self) -> bool:
        """Tell whether a turn may begin: while a person is at the worker's terminal, none does."""
        return not (self._is_held() or self._engine.sessions.terminals.keeps_waiting(self._worker))

    def _forget_troubles(self) -> None:
        self._tries = self._faults = 0
        self._told = ""


def _over(message: Queued, outcome: str, reason: str) -> list[ev.Event]:
    who = (message.turn or new_id(), message.message, message.worker, "")
    started = [] if message.turn else [ev.TurnStarted(*who, message.message)]
    ended = ev.TurnEnded(*who, position=(1, 0), outcome=outcome, reason=reason)
    return [*started, ended]
