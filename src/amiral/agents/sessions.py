"""Open sessions, find them again after a crash, close them."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from amiral.agents import rows
from amiral.agents.driver import Driver, Launch, Seat
from amiral.agents.rows import SessionRow
from amiral.agents.seats import Seats, seat_digest
from amiral.agents.session import EXITED, NEVER_LAUNCHED, SHIM_LOST, Session
from amiral.agents.tail import OutputTail
from amiral.agents.worker import Worker
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import NotFound
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.processes.answers import Order
from amiral.processes.link import ShimGone, ShimLink
from amiral.processes.pool import ShimPool
from amiral.processes.session_files import Exit, read_exit, read_meta
from amiral.processes.spawn import base_environment
from amiral.store.files import ensure_private_folder, write_atomic
from amiral.store.journal import Journal

_KILL_DEADLINE_S = 10.0


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
        self._known: dict[str, Session] = {}

    def folder(self, session: str) -> Path:
        """Name the folder of a session's files."""
        return self._place.folder / session

    async def acquire(self, worker: Worker, conversation: str) -> Session:
        """Give the worker's open session when it fits, else end it and open one."""
        seat = self._seat(worker, conversation)
        for row in rows.open_sessions(self._journal.rows, worker.id):
            session = await self.find(row)
            fits = row.conversation == conversation and row.seat == seat_digest(seat)
            if fits and row.driver == worker.driver and not session.is_over:
                return session
            await self.finish(session, "replaced" if not session.is_over else session.why_over)
        return await self._open(worker, conversation, seat)

    async def find(self, row: SessionRow) -> Session:
        """Attach to a session again; one whose CLI is gone comes back as over, to be folded."""
        if row.session in self._known:
            return self._known[row.session]
        session = Session(
            row, self._driver(row.driver), self._state(row), self._tail(row.session, row)
        )
        await self._reconnect(session)
        self._known[row.session] = session
        return session

    async def finish(self, session: Session, reason: str) -> None:
        """End a session for good: softly, then with its whole tree; then forget it."""
        if not session.is_over:
            await session.close()
            await self._wait_over(session)
        if not session.is_over:
            await session.kill()
        await self._journal.append(
            ev.SessionEnded(session.id, session.row.worker, reason, session.exit_code)
        )
        self.forget(session.id)

    async def close(self, *, with_busy: bool) -> None:
        """End the sessions; without `with_busy` those that carry a turn go on."""
        for session in list(self._known.values()):
            if rows.is_busy(self._journal.rows, session.id) and not with_busy:
                self.forget(session.id)
            else:
                await self.finish(session, "the project's process ended")

    def forget(self, session: str) -> None:
        """Drop what is held in memory; the journal and the shim know the rest."""
        known = self._known.pop(session, None)
        if known is not None:
            known.detach()

    def transcript(self, session: Session, worker: Worker) -> list[Path]:
        """Find the CLI's own transcript of a session."""
        key = session.row.resume_key or session.row.fresh_key
        seat = self._seats.take(worker, key, "")
        pattern = session.driver.transcript(seat, key)
        return sorted(Path("/").glob(pattern.lstrip("/"))) if pattern else []

    def _seat(self, worker: Worker, conversation: str) -> Seat:
        known = rows.find_resume_key(self._journal.rows, conversation, worker.driver)
        resume = known.key if known else ""
        fresh = "" if resume else str(uuid.uuid4())
        self._driver(worker.driver)
        return self._seats.take(worker, resume, fresh)

    async def _open(self, worker: Worker, conversation: str, seat: Seat) -> Session:
        driver = self._driver(worker.driver)
        version = await self._seats.version(driver, seat)
        state, launch = driver.open(seat)
        link = await self._shims.take()
        opened = ev.SessionOpened(
            new_id(),
            worker.id,
            conversation,
            driver.name,
            seat.cwd,
            link.path,
            seat_digest(seat),
            seat.resume_key,
            seat.fresh_key,
        )
        await self._journal.append(opened, *_version_warning(driver, version))
        failpoint("session.opened")
        row = rows.find_session(self._journal.rows, opened.session)
        if row is None:
            raise NotFound(f"session {opened.session} is not in the journal")
        session = Session(row, driver, state, self._tail(row.session, row))
        self._known[session.id] = session
        await self._launch(session, link, launch, version)
        return session

    async def _launch(self, session: Session, link: ShimLink, launch: Launch, version: str) -> None:
        folder = self.folder(session.id)
        ensure_private_folder(folder)
        write_atomic(folder / "worker", session.row.worker)
        for file in launch.files:
            path = Path(launch.env["HOME"]) / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, file.text)
        session.connect(link)
        order = Order(
            session.id,
            str(folder),
            launch.argv,
            {**base_environment(), **launch.env},
            launch.cwd,
            self._tag(session.id),
        )
        launched = await self._shims.launch(link, order)
        failpoint("session.launched")
        await self._journal.append(
            ev.SessionLaunched(session.id, session.row.worker, launched.pid, version)
        )
        await session.write(launch.inputs)

    async def _reconnect(self, session: Session) -> None:
        """Find the shim of an earlier process's session; prove what is left when there is none."""
        try:
            link = await ShimLink.connect(session.row.socket, self._place.token)
        except ShimGone:
            await self._bury(session)
            return
        if link.hello.session != session.id:
            link.close()
            session.end(NEVER_LAUNCHED)
            return
        session.connect(link)
        if link.hello.state == "ended":
            session.end(EXITED, _code(read_exit(self.folder(session.id))))

    async def _bury(self, session: Session) -> None:
        """The shim is gone: with an exit record all is told, without one its tree is ended."""
        folder = self.folder(session.id)
        ended = read_exit(folder)
        if ended is not None:
            session.end(EXITED, _code(ended))
            return
        meta = read_meta(folder)
        if meta is None:
            session.end(NEVER_LAUNCHED)
            return
        await self._shims.kill_tree(
            self._tag(session.id), [meta.cli], meta.cgroup, _KILL_DEADLINE_S
        )
        session.end(SHIM_LOST)

    def _tag(self, session: str) -> str:
        return f"{self._place.tag}:{session}"

    async def _wait_over(self, session: Session) -> None:
        until = self._clock.monotonic_s() + self._place.grace_s
        while not session.is_over and self._clock.monotonic_s() < until:
            await session.wait(until - self._clock.monotonic_s())

    def _driver(self, name: str) -> Driver[Any]:
        driver = self._drivers.get(name)
        if driver is None:
            known = ", ".join(sorted(self._drivers))
            raise NotFound(f"no driver `{name}`; known: {known}", "see workers_registry.json")
        return driver

    def _state(self, row: SessionRow) -> object:
        """Give the driver's state at the last snapshot, or its first one."""
        driver = self._driver(row.driver)
        if row.snapshot:
            return msgspec.json.decode(row.snapshot, type=driver.state_type)
        return driver.state_type()

    def _tail(self, session: str, row: SessionRow) -> OutputTail:
        return OutputTail(self.folder(session), row.snapshot_at)


def _code(ended: Exit | None) -> int | None:
    if ended is None:
        return None
    return ended.code if ended.signal is None else -ended.signal


def _version_warning(driver: Driver[Any], version: str) -> tuple[ev.Event, ...]:
    warning = driver.warning_for(version)
    return (ev.WarningRaised(f"driver {driver.name}", warning),) if warning else ()
