"""The journal of one project: events and the tables that follow from them, durable first."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from amiral.base.clock import Clock
from amiral.base.errors import Conflict, Invalid
from amiral.base.events import Event
from amiral.store.claim import Claim
from amiral.store.codec import Stamped, encode, read_row
from amiral.store.database import Database, Rows, SqlError, explain, is_machine_fault
from amiral.store.feed import Feed
from amiral.store.files import cannot, ensure_private_folder, sync_folder
from amiral.store.projection import SELECT_AFTER, Table, Write
from amiral.store.redact import Redactor
from amiral.store.writer import Append, CarryOver, Close, Decide, Group, Rebuild, Writer

__all__ = ["Journal", "Rows", "Stamped", "Table", "Write"]

T = TypeVar("T")

_WEIGHT_BETWEEN_CHECKPOINTS = 4 << 20


class Journal:
    """One SQLite file with one writing process; used from the thread of one event loop.

    What was acknowledged is on disk, numbered from 1 without a gap, together with its table rows
    (P01). A failing disk answers Broken to everyone who waits and stores nothing of theirs; later
    requests work again by themselves once it has recovered (R38). A request whose task is cancelled
    while it waits is still carried out.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        tables: Sequence[Table],
        redact: Redactor | None,
        claim: Claim,
    ) -> None:
        """Use `open`."""
        self._path = path
        self._clock = clock
        self._redact = redact
        self._claim = claim
        self._loop = asyncio.get_running_loop()
        self._reader = Database(path, writes=False)
        self._feed = Feed(self.read)
        self._writer = Writer(path, tables, redact, self._tell)
        self._is_closed = False
        self._weight = 0
        self._checkpoint: asyncio.Future[None] | None = None

    @classmethod
    async def open(
        cls, path: Path, clock: Clock, tables: Sequence[Table], *, redact: Redactor | None = None
    ) -> "Journal":
        """Open or create the journal at `path`, in a folder that becomes private (0700, file 0600).

        Conflict naming the process that has it open already; Broken when the file is damaged or the
        disk refuses. Fills the tables again when they, or the events known, have changed.
        """
        ensure_private_folder(path.parent)
        claim = Claim(path.with_name(f"{path.name}.lock"), f"the journal {path}")
        _create(path)
        journal = cls(path, clock, tables, redact, claim)
        try:
            journal._feed.last_seq = await journal.append()
        except BaseException:
            await journal.close()
            raise
        return journal

    def without_secrets(self, text: str) -> str:
        """Take out of a text what may not be written down, as the journal does of its own."""
        return self._redact.text(text) if self._redact else text

    @property
    def epoch(self) -> str:
        """Names this journal among all: places in another one mean nothing here (R52)."""
        return str(self.rows("select value from meta where key = 'epoch'")[0][0])

    @property
    def last_seq(self) -> int:
        """The place of the newest event told to subscribers."""
        return self._feed.last_seq

    async def append(self, *events: Event, by: str = "amiral") -> int:
        """Store events and their table rows in one transaction; answers the last seq.

        Returns once they are on disk. Invalid when an event cannot be stored; Broken when the disk,
        or one of our tables, fails.
        """
        drafts = [encode(event, self._redact) for event in events]
        answer: asyncio.Future[int] = self._new_answer()
        self._writer.put(Append(drafts, by, self._clock.now_ms(), answer))
        return await answer

    async def decide(
        self, decision: Callable[[Rows], tuple[Sequence[Event], T]], by: str = "amiral"
    ) -> T:
        """Compare and set: look at the newest state, store what follows, answer the second value.

        `decision` runs inside the transaction, on the writer's thread, with nothing between it and
        the storing of its events; it reads through the rows it is given, writes nothing itself, and
        is quick. What it raises is raised here, and then nothing of it is stored.
        """
        answer: asyncio.Future[T] = self._new_answer()
        self._writer.put(Decide(decision, by, self._clock.now_ms(), answer))
        return await answer

    def rows(self, sql: str, *args: object) -> list[tuple[Any, ...]]:
        """Answer a query on what is stored, everything acknowledged included. Cannot write."""
        if self._is_closed:
            raise _closed(self._path)
        try:
            return self._reader.rows(sql, *args)
        except SqlError as error:
            if is_machine_fault(error):
                raise explain(error, self._path) from error
            raise

    def read(self, since: int, limit: int = 1000) -> list[Stamped]:
        """Events with a seq over `since`, in order, at most `limit`."""
        return [read_row(row) for row in self.rows(SELECT_AFTER, since, limit)]

    async def subscribe(self, since: int) -> AsyncIterator[Stamped]:
        """Every event after `since`, stored ones first, then live, until the journal closes.

        Invalid when there is no event `since` yet: that place is of another journal (R52).
        """
        self._check_place(since)
        while batch := await self._feed.after(since):
            for stamped in batch:
                yield stamped
            since = batch[-1].seq

    async def batches(self, since: int) -> AsyncIterator[Sequence[Stamped]]:
        """As `subscribe`, several events at a time, for readers that write them on together."""
        self._check_place(since)
        while batch := await self._feed.after(since):
            yield batch
            since = batch[-1].seq

    async def rebuild(self) -> None:
        """Fill the tables again from the events alone; readers see the old rows until then."""
        answer: asyncio.Future[None] = self._new_answer()
        self._writer.put(Rebuild(answer))
        await answer

    async def close(self) -> None:
        """Carry out what was asked, end the subscriptions, let another process have the journal."""
        if self._is_closed:
            return
        answer: asyncio.Future[None] = self._new_answer()
        self._is_closed = True
        self._writer.put(Close(answer))
        try:
            await answer
            if self._checkpoint is not None:
                await self._checkpoint
            await self._loop.run_in_executor(None, self._carry_over)
        finally:
            self._feed.end()
            self._reader.close()
            self._claim.release()

    def _new_answer(self) -> "asyncio.Future[Any]":
        if self._is_closed:
            raise _closed(self._path)
        return self._loop.create_future()

    def _check_place(self, since: int) -> None:
        if since <= self.last_seq:
            return
        newest = self.rows("select coalesce(max(seq), 0) from event")[0][0]
        if since > newest:
            raise Invalid(f"the journal has no event {since} yet, its last one is {newest}")

    def _tell(self, group: Group) -> None:
        """On the writer's thread; when the loop has ended nobody waits any more."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._hear, group)

    def _hear(self, group: Group) -> None:
        if group.stored:
            self._feed.add(group.stored)
        for outcome in group.outcomes:
            outcome.settle()
        self._weight += group.weight
        is_running = self._checkpoint is not None and not self._checkpoint.done()
        if self._weight > _WEIGHT_BETWEEN_CHECKPOINTS and not is_running and not self._is_closed:
            self._weight = 0
            self._checkpoint = self._loop.run_in_executor(None, self._carry_over)
            # The writer adds what came meanwhile, and so the WAL is used again from its start.
            self._checkpoint.add_done_callback(lambda _: self._writer.put(CarryOver()))

    def _carry_over(self) -> None:
        """Checkpoint on a thread and a connection of its own, so that no append waits for it."""
        with contextlib.suppress(SqlError):
            database = Database(self._path, writes=False)
            try:
                database.checkpoint()
            finally:
                database.close()


def _create(path: Path) -> None:
    """A private file, its name on disk; SQLite gives the files beside it the same rights."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
        sync_folder(path.parent)
    except OSError as error:
        raise cannot("open the journal", path, error) from error


def _closed(path: Path) -> Conflict:
    return Conflict(f"the journal {path} is closed", "start amiral again")
