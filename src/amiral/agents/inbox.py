"""One durable queue a worker, one turn at a time, in order: queued, injected, seen, done."""

import asyncio
import contextlib
from collections.abc import Callable

from amiral.agents import rows
from amiral.agents.control import Control
from amiral.agents.rows import Queued
from amiral.agents.sessions import Sessions
from amiral.agents.turn import Turns
from amiral.agents.wish import Wish
from amiral.agents.worker import Worker
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError, Conflict, NotFound
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.store.brake import Brake
from amiral.store.journal import Journal, Rows

_BRAKE_POLL_S = 1.0
_PAUSE_AFTER_FAULT_S = 1.0


class Inbox:
    """Accepts messages and serves every worker's queue with a task of its own (a lane)."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        brake: Brake,
        turns: Turns,
        sessions: Sessions,
        find_worker: Callable[[str], Worker],
    ) -> None:
        self._journal, self._clock, self._brake = journal, clock, brake
        self._turns, self._sessions, self._find_worker = turns, sessions, find_worker
        self._lanes: dict[str, asyncio.Task[None]] = {}
        self._news: dict[str, asyncio.Event] = {}
        self._running: dict[str, Control] = {}

    async def post(self, message: ev.MessageQueued) -> None:
        """Queue a message durably; refused while the brake is on or when its worker is unknown."""
        self.check_brake()
        self._find_worker(message.worker)
        await self._journal.append(message, by=message.sender)
        failpoint("inbox.queued")
        self._wake(message.worker)

    def check_brake(self) -> None:
        """Raise Conflict while an emergency stop is on, naming the way out."""
        stop = self._brake.state()
        if stop is not None:
            raise Conflict(
                f"stop {stop.stop_id} is on: {stop.reason}",
                f"release it to go on: amiral release {stop.stop_id}",
            )

    def start(self) -> None:
        """Go on with everything that was waiting when the last project process ended."""
        for worker in rows.waiting_workers(self._journal.rows):
            self._wake(worker)

    async def stop(self) -> None:
        """Let go of every lane; running turns go on under their shims."""
        for lane in self._lanes.values():
            lane.cancel()
        await asyncio.gather(*self._lanes.values(), return_exceptions=True)

    def is_running(self, worker: str) -> bool:
        """Tell whether a turn of this worker runs in this process."""
        return worker in self._running

    def interrupt(self, worker: str, wish: Wish) -> None:
        """End the running turn of a worker, its session staying open."""
        control = self._running.get(worker)
        if control is None:
            raise Conflict(f"worker {worker} is not working", "see what waits: amiral status")
        control.interrupt(wish)

    async def cancel(self, message: str, by: str, reason: str) -> str:
        """Take a message back: one that waits is dropped, a running one is interrupted."""

        def claim(read: Rows) -> tuple[list[ev.Event], Queued]:
            found = rows.find_waiting(read, message)
            if found is None:
                raise NotFound(f"no waiting message {message}", "see what waits: amiral status")
            if found.state != "queued":
                return [], found
            return [ev.MessageCancelled(message, found.worker, reason)], found

        found = await self._journal.decide(claim, by=by)
        if found.state in ("injected", "seen"):
            self.interrupt(found.worker, Wish("cancelled", reason))
        return found.state

    async def resume(self, worker: str, by: str) -> None:
        """Let the parked turn of a worker go on."""
        self.check_brake()
        await self._unpark(worker, by, lambda park: ev.ResumeOrdered(*_who(park)))
        self._wake(worker)

    async def cancel_parked(self, worker: str, by: str, reason: str) -> None:
        """End the parked turn of a worker; the next message of its queue goes on."""
        await self._unpark(
            worker,
            by,
            lambda park: ev.TurnEnded(
                *_who(park), session="", position=(1, 0), outcome="cancelled", reason=reason
            ),
        )
        self._wake(worker)

    async def _unpark(self, worker: str, by: str, make: Callable[[rows.Park], ev.Event]) -> None:
        def claim(read: Rows) -> tuple[list[ev.Event], None]:
            found = rows.parked(read, worker)
            if not found:
                raise NotFound(f"worker {worker} is not limited", "see limits: amiral limits")
            return [make(found[0])], None

        await self._journal.decide(claim, by=by)

    def _wake(self, worker: str) -> None:
        self._news.setdefault(worker, asyncio.Event()).set()
        lane = self._lanes.get(worker)
        if lane is None or lane.done():
            self._lanes[worker] = asyncio.create_task(self._serve(worker), name=f"lane {worker}")

    async def _serve(self, worker: str) -> None:
        """Serve one worker for ever; a fault of ours is told and tried again from the journal."""
        while True:
            message = self._next(worker)
            if message is None:
                await self._news[worker].wait()
                self._news[worker].clear()
            elif self._brake.state() is not None and message.state != "seen":
                await self._clock.sleep(_BRAKE_POLL_S)
            else:
                await self._run(message)

    def _next(self, worker: str) -> Queued | None:
        """The oldest unfinished message, None when there is none or the worker is parked."""
        found = rows.waiting(self._journal.rows, worker)
        return found[0] if found and found[0].state != "parked" else None

    async def _run(self, message: Queued) -> None:
        control = self._running[message.worker] = Control()
        try:
            await self._turns.run(message, self._find_worker(message.worker), control)
        except AmiralError as error:
            await self._take_error(message, error)
        except Exception as fault:  # noqa: BLE001 - crash-only: taken up again
            await self._tell_fault(message, repr(fault))
        finally:
            self._running.pop(message.worker, None)

    async def _take_error(self, message: Queued, error: AmiralError) -> None:
        """A turn that cannot start ends as failed; a started one is taken up again."""
        now = rows.find_waiting(self._journal.rows, message.message)
        if now is None or now.state not in ("queued", "resuming"):
            await self._tell_fault(message, error.message)
        elif self._brake.state() is None:
            await self._refuse(now, error)

    async def _refuse(self, message: Queued, error: AmiralError) -> None:
        reason = ". ".join(part for part in (error.message, error.next_step) if part)
        turn = message.turn or new_id()
        who = (turn, message.message, message.worker)
        started = () if message.turn else (ev.TurnStarted(*who, "", message.message),)
        try:
            await self._journal.append(
                *started, ev.TurnEnded(*who, "", (1, 0), "failed", reason=reason)
            )
        except AmiralError:
            await self._clock.sleep(_PAUSE_AFTER_FAULT_S)

    async def _tell_fault(self, message: Queued, fault: str) -> None:
        self._sessions.forget(message.session)
        text = f"a turn of {message.worker} met a fault, it goes on from the journal: {fault}"
        with contextlib.suppress(AmiralError):
            await self._journal.append(ev.WarningRaised("turn", text))
        await self._clock.sleep(_PAUSE_AFTER_FAULT_S)


def _who(park: rows.Park) -> tuple[str, str, str]:
    return park.turn, park.message, park.worker
