"""Terminals of workers: a person uses a worker's own CLI, where its turns run and within the same.

One worker does one thing at a time: a terminal opens when no turn runs, and as long as it is open
its messages wait and nobody else writes in its folder. It outlives this process, as a turn does.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from amiral.agents.driver import Driver, Launch, Seat
from amiral.agents.homes import write_home
from amiral.agents.seats import Seats
from amiral.agents.worker import Worker
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError, Conflict, NotFound
from amiral.processes.spawn import base_environment
from amiral.processes.tmux import Stage, Terminal

PREFIX = "terminal-"

_LOOK_S = 0.5

Make = Callable[[str], Terminal]
"""Gives the terminal of a worker, by its id, open or not."""


@runtime_checkable
class Interactive(Protocol):
    """A driver whose CLI can be used in a terminal; one without this method has none."""

    def in_terminal(self, seat: Seat) -> Launch:
        """Plan the process; Denied when its rights cannot be kept there."""


class Terminals:
    """`folder` holds `terminal-<worker>/`; `owned` as for sessions; `rest` ends an idle session."""

    def __init__(
        self,
        clock: Clock,
        make: Make,
        seats: Seats,
        driver: Callable[[str], Driver[Any]],
        owned: tuple[str, ...],
        rest: Callable[[str], Awaitable[None]],
    ) -> None:
        self._clock, self._make, self._seats = clock, make, seats
        self._driver, self._owned, self._rest = driver, owned, rest
        self._kept: dict[str, tuple[asyncio.Task[None], asyncio.Future[Terminal]]] = {}

    def is_open(self, worker: str) -> bool:
        """Tell whether a worker's terminal is open, or just being opened."""
        kept = self._kept.get(worker)
        is_opening = kept is not None and not kept[1].done()
        return is_opening or self._make(worker).is_open

    def keeps_waiting(self, worker: str) -> bool:
        """Tell whether its turns wait: also while one that is over is being cleared away."""
        return worker in self._kept or self.is_open(worker)

    async def open(self, worker: Worker) -> Terminal:
        """Open a worker's terminal, or find the open one.

        Conflict, NotFound or Denied as for a turn; also when its driver has no terminal.
        """
        kept = self._kept.get(worker.id)
        if kept is not None and not self.is_open(worker.id):
            await asyncio.wait([kept[0]])
        self.keep(worker)
        return await asyncio.shield(self._kept[worker.id][1])

    def keep(self, worker: Worker) -> None:
        """Keep others away from a terminal until it is over; opened first if it is not."""
        if worker.id not in self._kept:
            opened: asyncio.Future[Terminal] = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(self._keep(worker, opened), name=f"terminal {worker.id}")
            self._kept[worker.id] = task, opened

    def restore(self, folder: Path, find_worker: Callable[[str], Worker]) -> None:
        """Keep those that an earlier process opened; `folder` is that of all sessions."""
        for left in folder.glob(f"{PREFIX}*"):
            name = left.name.removeprefix(PREFIX)
            if self._make(name).is_open:
                # One whose worker is no more keeps nobody waiting; `terminal close` ends it.
                with contextlib.suppress(NotFound):
                    self.keep(find_worker(name))

    async def close(self, worker: str) -> None:
        """End a terminal with all that runs in it; Conflict when none is open."""
        terminal = self._make(worker)
        if not terminal.is_open:
            raise Conflict(f"{worker} has no open terminal", f"amiral terminal {worker}")
        await terminal.close()
        kept = self._kept.get(worker)
        if kept is not None:
            await asyncio.wait([kept[0]])

    async def leave(self, *, with_open: bool) -> None:
        """Let go of all; they stay open, unless they shall end too."""
        kept, self._kept = self._kept, {}
        for worker, (task, _) in kept.items():
            task.cancel()
            await asyncio.wait([task])
            if with_open:
                await self._make(worker).close()

    async def _keep(self, worker: Worker, opened: "asyncio.Future[Terminal]") -> None:
        try:
            await self._live(worker, opened)
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)
            # After a restart nobody waits for it: the next `open` tells.
            opened.exception()
        finally:
            opened.cancel()
            self._kept.pop(worker.id, None)

    async def _live(self, worker: Worker, opened: "asyncio.Future[Terminal]") -> None:
        terminal = self._make(worker.id)
        async with self._seats.places.hold(worker, "", is_begun=terminal.is_open):
            if not terminal.is_open:
                await self._rest(worker.id)
                await terminal.open(await self._stage(worker))
            opened.set_result(terminal)
            while terminal.is_open:
                await self._clock.sleep(_LOOK_S)
            with contextlib.suppress(AmiralError):
                # What is left then is ended before the next one is opened.
                await terminal.close()

    async def _stage(self, worker: Worker) -> Stage:
        """Prepare what a turn would have, in a conversation of its own."""
        driver = self._driver(worker.driver)
        if not isinstance(driver, Interactive):
            raise NotFound(f"the driver {worker.driver} has no terminal", "amiral say")
        seat = await self._seats.take(worker, "", str(uuid4()))
        told, fence = await self._seats.enclose(driver, seat)
        launch = driver.in_terminal(told)
        home = Path(seat.config_home)
        await asyncio.to_thread(write_home, home, driver, launch.files, self._owned)
        env = {**base_environment(), **launch.env, **seat.way_out}
        return Stage(launch.argv, env, launch.cwd, fence)
