"""One durable queue a worker, one turn at a time, in order: queued, injected, seen, done."""

import asyncio
from collections.abc import Callable

from amiral.agents import rows
from amiral.agents.control import Control
from amiral.agents.lane import Engine, Lane
from amiral.agents.rows import Queued
from amiral.agents.sessions import Sessions
from amiral.agents.turn import Turns
from amiral.agents.wish import Wish
from amiral.agents.worker import Worker
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import Conflict, NotFound
from amiral.base.failpoint import failpoint
from amiral.processes.tmux import Terminal
from amiral.store.brake import Brake
from amiral.store.journal import Journal, Rows

_LOOK_S = 0.05


class Inbox:
    """Accepts messages and serves every worker's queue in a lane of its own."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        brake: Brake,
        turns: Turns,
        sessions: Sessions,
        find_worker: Callable[[str], Worker],
    ) -> None:
        self._journal, self._brake, self._turns = journal, brake, turns
        self._find_worker = find_worker
        self._engine = Engine(journal, clock, brake, sessions, self._run)
        self._lanes: dict[str, Lane] = {}

    async def post(self, message: ev.MessageQueued) -> None:
        """Queue a message durably, once however often it is posted under its id.

        Refused while the brake is on (Conflict) or when its worker is unknown (NotFound).
        """
        self.check_brake(message.worker)
        self._find_worker(message.worker)

        def claim(read: Rows) -> tuple[list[ev.Event], None]:
            return ([] if rows.state_of(read, message.message) else [message]), None

        await self._journal.decide(claim, by=message.sender)
        failpoint("inbox.queued")
        self.wake(message.worker)

    def check_brake(self, worker: str = "") -> None:
        """Raise Conflict while a stop or a freeze is on for the project or this worker."""
        stop = self._brake.state(worker)
        if stop is not None:
            raise Conflict(
                f"{stop.name} is on: {stop.reason}", f"release it to go on: {stop.way_out}"
            )

    async def open_terminal(self, worker: Worker) -> Terminal:
        """Open a worker's terminal, or find the open one; its queue waits as long as it is open.

        Conflict while a stop or a freeze is on, or a turn of the worker runs.
        """
        self.check_brake(worker.id)
        terminals = self._engine.sessions.terminals
        while self.is_running(worker.id) and not self._waiting(worker.id):
            # Its last turn has ended and is just being left.
            await self._engine.clock.sleep(_LOOK_S)
        is_working = any(one.state in ("injected", "seen") for one in self._waiting(worker.id))
        if not terminals.is_open(worker.id) and (is_working or self.is_running(worker.id)):
            raise Conflict(
                f"a turn of {worker.id} runs, and it does one thing at a time",
                f"wait for its end, or end it: amiral interrupt {worker.id}",
            )
        return await terminals.open(worker)

    def _waiting(self, worker: str) -> list[Queued]:
        return rows.waiting(self._journal.rows, worker)

    async def close_terminal(self, worker: str) -> None:
        """End a worker's terminal with all that runs in it; Conflict when none is open."""
        await self._engine.sessions.terminals.close(worker)
        self.wake(worker)

    def has_terminal(self, worker: str) -> bool:
        """Tell whether a worker's messages wait because its terminal is open."""
        return self._engine.sessions.terminals.is_open(worker)

    def start(self) -> None:
        """Go on with everything that was there when the last project process ended."""
        self._engine.sessions.restore_terminals(self._find_worker)
        for worker in rows.lively_workers(self._journal.rows):
            self.wake(worker)

    async def stop(self) -> None:
        """Let go of every lane; running turns go on under their shims."""
        lanes, self._lanes = self._lanes, {}
        await asyncio.gather(*(lane.stop() for lane in lanes.values()))

    def is_running(self, worker: str) -> bool:
        """Tell whether a turn of this worker runs in this process."""
        lane = self._lanes.get(worker)
        return lane is not None and lane.is_running

    async def interrupt(self, worker: str, wish: Wish, by: str) -> None:
        """End the running turn of a worker, its session staying open; Conflict when none runs."""
        lane = self._lanes.get(worker)
        message = lane.running if lane is not None else ""

        def claim(read: Rows) -> tuple[list[ev.Event], None]:
            found = rows.find_waiting(read, message) if message else None
            if found is None or found.state == "parked":
                raise Conflict(f"worker {worker} is not working", "see what waits: amiral status")
            return [_ordered(found, wish)], None

        await self._journal.decide(claim, by=by)
        self._obey(worker, message, wish)

    async def cancel(self, message: str, by: str, reason: str) -> str:
        """Take a message back and tell the state it was in: a running one is being interrupted.

        NotFound when there is no such message, Conflict when it has ended already.
        """

        def claim(read: Rows) -> tuple[list[ev.Event], Queued]:
            found = rows.find_waiting(read, message)
            if found is None:
                raise _nothing_to_cancel(message, rows.state_of(read, message))
            return _taken_back(found, reason), found

        found = await self._journal.decide(claim, by=by)
        self._obey(found.worker, message, Wish("cancelled", reason))
        return found.state

    async def resume(self, worker: str, by: str) -> None:
        """Let the parked turn of a worker go on."""
        self.check_brake(worker)
        await self._unpark(worker, by, lambda park: ev.ResumeOrdered(*_who(park)))

    async def cancel_parked(self, worker: str, by: str, reason: str) -> None:
        """End the parked turn of a worker; the next message of its queue goes on."""
        await self._unpark(worker, by, lambda park: _cancelled(*_who(park), reason))

    async def _unpark(self, worker: str, by: str, make: Callable[[rows.Park], ev.Event]) -> None:
        def claim(read: Rows) -> tuple[list[ev.Event], None]:
            found = rows.parked(read, worker) if worker else []
            if not found:
                raise NotFound(f"worker {worker} is not limited", "see limits: amiral limits")
            return [make(found[0])], None

        await self._journal.decide(claim, by=by)
        self.wake(worker)

    def _obey(self, worker: str, message: str, wish: Wish) -> None:
        """Have a wish that is on record carried out."""
        self.wake(worker)
        self._lanes[worker].interrupt(wish, message)

    def wake(self, worker: str) -> None:
        """Have a worker's queue looked at."""
        if worker not in self._lanes:
            self._lanes[worker] = Lane(worker, self._engine)
        self._lanes[worker].wake()

    async def _run(self, message: Queued, control: Control) -> None:
        await self._turns.run(message, self._find_worker(message.worker), control)


def _taken_back(message: Queued, reason: str) -> list[ev.Event]:
    match message.state:
        case "queued":
            return [ev.MessageCancelled(message.message, message.worker, reason)]
        case "parked" | "resuming":
            return [_cancelled(message.turn, message.message, message.worker, reason)]
        case _:
            return [_ordered(message, Wish("cancelled", reason))]


def _ordered(message: Queued, wish: Wish) -> ev.InterruptOrdered:
    who = (message.turn, message.message, message.worker)
    return ev.InterruptOrdered(*who, wish.outcome, wish.reason)


def _cancelled(turn: str, message: str, worker: str, reason: str) -> ev.TurnEnded:
    return ev.TurnEnded(
        turn, message, worker, session="", position=(1, 0), outcome="cancelled", reason=reason
    )


def _nothing_to_cancel(message: str, state: str) -> NotFound | Conflict:
    match state:
        case "":
            return NotFound(f"no message {message}", "see what waits: amiral status")
        case "done" | "cancelled":
            return Conflict(f"message {message} is {state} already", "amiral conversations")
        case _:
            return Conflict(f"message {message} is just being taken up again", "try again")


def _who(park: rows.Park) -> tuple[str, str, str]:
    return park.turn, park.message, park.worker
