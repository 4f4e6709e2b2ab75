"""The sessions of all workers: opened, found again after a crash, ended."""

import asyncio
import contextlib
import shutil
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from amiral.agents import rows
from amiral.agents.driver import Driver, Seat
from amiral.agents.homes import SHELL_FILES
from amiral.agents.opening import Openings
from amiral.agents.rows import SessionRow
from amiral.agents.seats import Seats, seat_digest
from amiral.agents.session import ANSWER_S, LINK_LOST, NEVER_LAUNCHED, Session, fenced
from amiral.agents.settle import bury, end_tree
from amiral.agents.tail import OutputTail
from amiral.agents.terminals import PREFIX, Terminals
from amiral.agents.waiting import happens
from amiral.agents.worker import Worker
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError, NotFound
from amiral.permissions.tools import may_write
from amiral.processes.link import ShimGone, ShimLink
from amiral.processes.pool import ShimPool
from amiral.processes.tmux import Host, Terminal
from amiral.store.journal import Journal

KEPT = 20
"""Ended sessions of each worker whose files stay, for those who look into what happened."""


@dataclass(frozen=True)
class SessionPlace:
    """Where sessions live and how they are told apart.

    `folder` holds `<session>/`; `tag` begins the tag of every process of this project; `token`
    fences out older project processes; `grace_s` is given to a CLI to end by itself.
    """

    folder: Path
    tag: str
    token: int
    grace_s: float


class Sessions:
    """At most one open session a worker."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        shims: ShimPool,
        seats: Seats,
        drivers: Mapping[str, Driver[Any]],
        place: SessionPlace,
    ) -> None:
        self._journal, self._clock, self._shims, self._seats = journal, clock, shims, seats
        self._drivers, self._place = drivers, place
        owned = tuple({*SHELL_FILES, *(n for driver in drivers.values() for n in driver.owned)})
        self.terminals = Terminals(clock, self._terminal, seats, self._driver, owned, self.rest)
        self._openings = Openings(journal, shims, seats, place.folder, place.tag, owned)
        self._known: dict[str, Session] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def folder(self, session: str) -> Path:
        """Name the folder of a session's files."""
        return self._place.folder / session

    def hold(
        self, worker: Worker, place: str, *, is_begun: bool
    ) -> AbstractAsyncContextManager[None]:
        """Keep others who write out of a turn's folder; Denied where there is one in it."""
        return self._seats.places.hold(worker, place, is_begun=is_begun)

    async def acquire(self, worker: Worker, conversation: str, place: str) -> Session:
        """Give the worker's open session when it fits, else end it and open one.

        CannotStart, NotFound or Denied when its CLI cannot be started; Conflict while a stop is on.
        """
        driver = self._driver(worker.driver)
        seat = await self._seats.take(worker, place, str(uuid.uuid4()))
        if may_write(worker.tools):
            # What another's CLI left running would go on writing; one that reads has nothing such.
            await self._end_idle(
                lambda row: row.cwd == seat.cwd and row.worker != worker.id and row.writes,
                "another writes in its folder",
            )
        for row in rows.open_sessions(self._journal.rows, worker.id):
            session = await self.usable(row)
            if session is None:
                continue
            is_same = (row.conversation, row.driver) == (conversation, driver.name)
            fits = is_same and row.seat == seat_digest(seat) and row.state == "open"
            if fits and not session.is_over:
                return session
            await self.finish(session, session.why_over or "replaced")
        return await self._open(driver, seat, conversation)

    async def find(self, row: SessionRow) -> Session:
        """Attach to a session again; one whose CLI is gone comes back as over, to be folded."""
        async with self._locks[row.session]:
            if row.session in self._known:
                return self._known[row.session]
            driver = self._driver(row.driver)
            state = msgspec.json.decode(row.snapshot or "{}", type=driver.state_type)
            tail = OutputTail(self.folder(row.session), row.snapshot_at)
            session = Session(row, driver, state, tail)
            await self._reconnect(session)
            self._known[row.session] = session
            return session

    async def usable(self, row: SessionRow) -> Session | None:
        """Find a session, or end one that nobody here can read any more, by its tag, and say so."""
        try:
            return await self.find(row)
        except (NotFound, msgspec.DecodeError) as why:
            await self._end_unread(row, getattr(why, "message", str(why)))
            return None

    async def bury(self, session: Session) -> None:
        """Find out how a session that is over ended; nothing of it runs when this returns."""
        await bury(session, self.folder(session.id), self._tag(session.id), self._shims)

    async def finish(self, session: Session, reason: str) -> None:
        """End a session for good: softly, then with its whole tree; then forget it."""
        async with self._locks[session.id]:
            await self._finish(session, reason)

    async def _finish(self, session: Session, reason: str) -> None:
        for end in (session.close, session.kill):
            if not session.is_over:
                await end()
                await happens(session.over, self._clock, self._place.grace_s)
        if not session.is_over:
            session.end(LINK_LOST)
        await self.bury(session)
        row = rows.find_session(self._journal.rows, session.id)
        if row is not None and row.state != "ended":
            ended = ev.SessionEnded(session.id, row.worker, reason, session.exit_code)
            await self._journal.append(ended)
        self.forget(session.id)
        await asyncio.to_thread(self._clear_away, session.row, self._too_many(session.row.worker))

    def restore_terminals(self, find_worker: Callable[[str], Worker]) -> None:
        """Keep turns out of the terminals that an earlier process opened."""
        self.terminals.restore(self._place.folder, find_worker)

    async def abandon(self, session: str, reason: str) -> None:
        """Kill a session whose turn cannot go on."""
        row = rows.find_session(self._journal.rows, session)
        found = await self.usable(row) if row is not None else None
        if found is not None:
            await found.kill()
            await self.finish(found, reason)

    async def rest(self, worker: str) -> None:
        """End what a worker has open and does not use, so that no CLI holds memory for ever."""
        await self._end_idle(lambda row: row.worker == worker, "idle")

    async def vacate(self, folder: str) -> None:
        """End what is open in a folder and not used."""
        await self._end_idle(lambda row: row.cwd == folder, "its folder goes")

    async def close(self, *, with_busy: bool) -> None:
        """End the sessions; without `with_busy` those that carry a turn, and terminals, go on."""
        await self.terminals.leave(with_open=with_busy)

        async def end(row: SessionRow) -> None:
            if with_busy or not rows.is_busy(self._journal.rows, row.session):
                await self._find_and_finish(row, "the project's process ended")

        ends = [end(row) for row in rows.open_sessions(self._journal.rows)]
        await asyncio.gather(*ends, return_exceptions=True)
        for session in list(self._known):
            self.forget(session)

    def forget(self, session: str) -> None:
        """Drop what is held in memory; the journal and the shim know the rest."""
        known = self._known.pop(session, None)
        if known is not None:
            known.detach()

    async def transcripts(self, session: Session) -> list[Path] | None:
        """Find the CLI's own transcripts of a session, None when it keeps none.

        A CLI that resumes may go on in a file of its own: the id it named counts too (R17).
        """
        row = rows.find_session(self._journal.rows, session.id) or session.row
        keys = dict.fromkeys((row.resume_key or row.fresh_key, row.observed))
        seat = self._seats.former(row.worker, row.cwd)
        patterns = [session.driver.transcript(seat, key) for key in keys if key]
        if not any(patterns):
            return None
        return await asyncio.to_thread(_matching, patterns)

    async def _end_idle(self, is_meant: Callable[[SessionRow], bool], why: str) -> None:
        for row in rows.open_sessions(self._journal.rows):
            if is_meant(row) and not rows.is_busy(self._journal.rows, row.session):
                await self._find_and_finish(row, why)

    async def _find_and_finish(self, row: SessionRow, reason: str) -> None:
        session = await self.usable(row)
        if session is not None:
            await self.finish(session, reason)

    async def _end_unread(self, row: SessionRow, why: str) -> None:
        """End a session whose snapshot or driver this version does not know; its record stays."""
        async with self._locks[row.session]:
            await end_tree(self.folder(row.session), self._tag(row.session), self._shims)
            now = rows.find_session(self._journal.rows, row.session)
            if now is not None and now.state != "ended":
                text = f"session {row.session} of {row.worker} was ended, it cannot be read: {why}"
                ended = ev.SessionEnded(row.session, row.worker, "it cannot be read")
                await self._journal.append(ended, ev.WarningRaised("session", text))
            await asyncio.to_thread(self._clear_away, row, [])

    def _terminal(self, worker: str) -> Terminal:
        """A terminal is found as a session is, by its folder and its tag."""
        host = Host(self._shims.spawner, self._shims, self._clock, self._shims.run_folder)
        session = PREFIX + worker
        return Terminal(host, worker, self.folder(session), self._tag(session))

    def _tag(self, session: str) -> str:
        return f"{self._place.tag}:{session}"

    async def _open(self, driver: Driver[Any], seat: Seat, conversation: str) -> Session:
        opening = await self._openings.record(driver, seat, conversation)
        session = self._known[opening.session.id] = opening.session
        try:
            await self._openings.launch(opening)
        except Exception:
            with contextlib.suppress(AmiralError):
                await self.finish(session, "it could not be started")
            raise
        return session

    async def _reconnect(self, session: Session) -> None:
        """Find the shim of an earlier process's session."""
        try:
            async with asyncio.timeout(ANSWER_S):
                link = await ShimLink.connect(session.row.socket, self._place.token)
        except (ShimGone, TimeoutError):
            session.end(LINK_LOST)
            await self.bury(session)
            return
        hello = link.hello
        if hello.session != session.id:
            link.close()
            session.end(NEVER_LAUNCHED)
        elif not hello.writer:
            link.close()
            raise fenced(session.id)
        else:
            session.connect(link)
        if hello.state == "ended":
            session.end(LINK_LOST)
            await self.bury(session)

    def _driver(self, name: str) -> Driver[Any]:
        driver = self._drivers.get(name)
        if driver is None:
            known = ", ".join(sorted(self._drivers))
            raise NotFound(f"no driver `{name}`; known: {known}", "see workers_registry.json")
        return driver

    def _too_many(self, worker: str) -> list[str]:
        return rows.ended_sessions(self._journal.rows, worker, after=KEPT, limit=KEPT)

    def _clear_away(self, row: SessionRow, too_many: list[str]) -> None:
        """Remove the socket a killed shim left, and the files of sessions long ended."""
        with contextlib.suppress(OSError):
            Path(row.socket).unlink()
        for session in too_many:
            shutil.rmtree(self.folder(session), ignore_errors=True)


def _matching(patterns: list[str]) -> list[Path]:
    return [path for one in patterns for path in sorted(Path("/").glob(one.lstrip("/")))]
