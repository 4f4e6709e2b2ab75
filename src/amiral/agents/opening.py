"""Open one session: put it on record, start its CLI under a shim, tell the CLI what it needs."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amiral.agents import rows
from amiral.agents.driver import Driver, Launch, Seat
from amiral.agents.homes import write_home
from amiral.agents.seats import Seats, seat_digest
from amiral.agents.session import NEVER_LAUNCHED, Session
from amiral.agents.tail import OutputTail
from amiral.base import events as ev
from amiral.base.errors import AmiralError, Broken, Conflict, NotFound
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.permissions.tools import may_write
from amiral.processes.answers import Order
from amiral.processes.fence import Fence
from amiral.processes.link import ShimGone, ShimLink
from amiral.processes.pool import ShimPool
from amiral.processes.spawn import base_environment
from amiral.store.files import ensure_private_folder, write_atomic
from amiral.store.journal import Journal


class CannotStart(Broken):
    """A CLI cannot be started and trying again would not help; it was given nothing."""


@dataclass(frozen=True)
class Opening:
    """A session on record, with all that is needed to start its CLI."""

    session: Session
    link: ShimLink
    seat: Seat
    launch: Launch
    version: str
    fence: Fence | None


class Openings:
    """`folder` holds `<session>/`; `tag` begins the tag of every process of this project.

    `owned` are patterns of the files by which CLIs are told in a worker's config home, of all.
    """

    def __init__(
        self,
        journal: Journal,
        shims: ShimPool,
        seats: Seats,
        folder: Path,
        tag: str,
        owned: tuple[str, ...],
    ) -> None:
        self._journal, self._shims, self._seats = journal, shims, seats
        self._folder, self._tag, self._owned = folder, tag, owned
        self._warned: set[str] = set()

    async def record(self, driver: Driver[Any], seat: Seat, conversation: str) -> Opening:
        """Commit that a session is about to be started, and where it can be found."""
        with _starting():
            version = await self._seats.version(driver, seat)
        seat, lost = self._with_key(driver.name, seat, conversation)
        told, fence = await self._seats.enclose(driver, seat)
        state, launch = driver.open(told)
        link = await self._shims.take()
        try:
            opened = _opened(seat, conversation, driver.name, link.path)
            await self._journal.append(*lost, opened, *self._warning(driver, version))
            row = rows.find_session(self._journal.rows, opened.session)
            if row is None:
                raise NotFound(f"session {opened.session} is not in the journal")
        except AmiralError:
            link.close()
            raise
        failpoint("session.opened")
        tail = OutputTail(self._folder / row.session, row.snapshot_at)
        session = Session(row, driver, state, tail)
        session.connect(link)
        return Opening(session, link, seat, launch, version, fence)

    async def launch(self, opening: Opening) -> None:
        """Start the CLI; CannotStart, NotFound or Denied say why it cannot be.

        The session counts as open only when it was told all it needs.
        """
        session = opening.session
        try:
            order = await self._prepare(session, opening)
        except OSError as error:
            session.end(NEVER_LAUNCHED)
            raise CannotStart(
                f"{error.filename or session.row.worker}: {error.strerror}"
            ) from error
        except Exception:
            session.end(NEVER_LAUNCHED)
            raise
        try:
            with _starting():
                launched = await self._shims.launch(opening.link, order, session.row.worker)
        except ShimGone:
            raise
        except AmiralError:
            session.end(NEVER_LAUNCHED)
            raise
        failpoint("session.launched")
        await session.write(opening.launch.inputs)
        await self._journal.append(
            ev.SessionLaunched(session.id, session.row.worker, launched.pid, opening.version)
        )

    def _with_key(
        self, driver: str, seat: Seat, conversation: str
    ) -> tuple[Seat, tuple[ev.Event, ...]]:
        """Go on where the conversation was, unless that was in another folder (R18)."""
        known = rows.find_resume_key(self._journal.rows, conversation, driver)
        if known is None:
            return seat, ()
        if known.cwd == seat.cwd:
            return replace(seat, resume_key=known.key, fresh_key=""), ()
        reason = f"the session was made in {known.cwd}, the worker's folder is {seat.cwd} now"
        return seat, (ev.ContextLost(conversation, seat.worker, driver, known.key, reason),)

    async def _prepare(self, session: Session, opening: Opening) -> Order:
        """Write the files a CLI needs before it starts, and say how it is started."""
        folder, launch = self._folder / session.id, opening.launch
        ensure_private_folder(folder)
        write_atomic(folder / "worker", session.row.worker)
        home = Path(opening.seat.config_home)
        await asyncio.to_thread(write_home, home, session.driver, launch.files, self._owned)
        return Order(
            session.id,
            str(folder),
            launch.argv,
            {**base_environment(), **launch.env, **opening.seat.way_out},
            launch.cwd,
            f"{self._tag}:{session.id}",
            opening.fence,
        )

    def _warning(self, driver: Driver[Any], version: str) -> tuple[ev.Event, ...]:
        """Tell once of each version that it is not tested."""
        warning = driver.warning_for(version)
        if not warning or warning in self._warned:
            return ()
        self._warned.add(warning)
        return (ev.WarningRaised(f"driver {driver.name}", warning),)


def _opened(seat: Seat, conversation: str, driver: str, socket: str) -> ev.SessionOpened:
    return ev.SessionOpened(
        new_id(),
        seat.worker,
        conversation,
        driver,
        seat.cwd,
        socket,
        seat_digest(seat),
        seat.resume_key,
        seat.fresh_key,
        may_write(seat.tools),
    )


@contextlib.contextmanager
def _starting() -> Iterator[None]:
    """A stop or a dead shim is no reason to give a message up; a CLI that does not start is."""
    try:
        yield
    except (Conflict, ShimGone):
        raise
    except Broken as error:
        raise CannotStart(error.message, error.next_step) from error
