"""The one thread that writes the journal: whatever waits is committed together, with one fsync."""

import contextlib
import itertools
import threading
from asyncio import Future
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from amiral.base.errors import AmiralError, Broken
from amiral.base.events import Event
from amiral.store.codec import Draft, Stamped, encode, stamp
from amiral.store.database import Database, Rows, SqlError, explain, is_machine_fault
from amiral.store.projection import Table, prepare, project_again, store
from amiral.store.redact import Redactor

_LARGEST_GROUP = 512
_WEIGHT_OF_A_GROUP = 16 << 10
_WEIGHT_OF_AN_EVENT = 256

Decision = Callable[[Rows], tuple[Sequence[Event], Any]]


@dataclass(frozen=True, slots=True)
class Append:
    """Store these drafts."""

    drafts: Sequence[Draft]
    by: str
    ts_ms: int
    answer: "Future[int]"


@dataclass(frozen=True, slots=True)
class Decide:
    """Look at the newest state, then store what follows."""

    decision: Decision
    by: str
    ts_ms: int
    answer: "Future[Any]"


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Fill every table again."""

    answer: "Future[None]"


@dataclass(frozen=True, slots=True)
class CarryOver:
    """Finish a checkpoint: with nothing written meanwhile, the WAL begins anew at its start."""


@dataclass(frozen=True, slots=True)
class Close:
    """Commit what was asked before, then end."""

    answer: "Future[None]"


Request = Append | Decide | Rebuild


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one request came to; told to whoever still waits."""

    answer: "Future[Any]"
    value: Any = None
    error: Exception | None = None

    def settle(self) -> None:
        """On the loop's thread; one that was cancelled meanwhile is not told, but it is done."""
        if self.answer.done():
            return
        if self.error is None:
            self.answer.set_result(self.value)
        else:
            self.answer.set_exception(self.error)


@dataclass(slots=True)
class Group:
    """What one transaction did: `weight` is about the bytes it added to the WAL."""

    outcomes: list[Outcome] = field(default_factory=list)
    stored: list[Stamped] = field(default_factory=list)
    weight: int = 0


class Writer:
    """Takes requests from the loop's thread; `tell` hears, on ours, what each group came to."""

    def __init__(
        self,
        path: Path,
        tables: Sequence[Table],
        redact: Redactor | None,
        tell: Callable[[Group], None],
    ) -> None:
        self._path = path
        self._tables = tables
        self._redact = redact
        self._tell = tell
        self._queue: SimpleQueue[Request | CarryOver | Close] = SimpleQueue()
        self._database: Database | None = None
        self._last_seq = 0
        threading.Thread(target=self._work, name=f"journal {path}", daemon=True).start()

    def put(self, request: Request | CarryOver | Close) -> None:
        """Hand a request over; from here on nothing takes it back."""
        self._queue.put(request)

    def _work(self) -> None:
        while True:
            requests, then = self._take()
            if requests:
                self._tell(self._commit(requests))
            match then:
                case CarryOver() if self._database is not None:
                    with contextlib.suppress(SqlError):
                        self._database.checkpoint()
                case Close(answer):
                    self._forget_database()
                    self._tell(Group([Outcome(answer)]))
                    return
                case _:
                    pass

    def _take(self) -> tuple[list[Request], CarryOver | Close | None]:
        """Wait for a request, take those behind it too, up to one that needs them committed."""
        requests: list[Request] = []
        request = self._queue.get()
        while not isinstance(request, CarryOver | Close):
            requests.append(request)
            if len(requests) == _LARGEST_GROUP:
                return requests, None
            try:
                request = self._queue.get_nowait()
            except Empty:
                return requests, None
        return requests, request

    def _commit(self, requests: Sequence[Request]) -> Group:
        """All of these in one transaction; when the disk fails, none of them (R38)."""
        group = Group()
        try:
            database = self._ready_database()
            database.run("begin immediate")
            for step in _steps(requests):
                self._take_step(database, step, group)
            database.run("commit")
        except BaseException as error:  # noqa: BLE001 - others wait for what this thread answers
            self._forget_database()
            failure = explain(error, self._path)
            return Group([Outcome(one.answer, error=_copy(failure)) for one in requests])
        self._last_seq += len(group.stored)
        payloads = sum(len(one.payload) + _WEIGHT_OF_AN_EVENT for one in group.stored)
        group.weight = _WEIGHT_OF_A_GROUP + payloads
        return group

    def _take_step(self, database: Database, step: Sequence[Request], group: Group) -> None:
        """One request, or several appends, in a savepoint; appends that fail go one by one."""
        before = len(group.stored)
        database.run("savepoint step")
        try:
            outcomes = self._perform(database, step, group)
        except Exception as error:
            if is_machine_fault(error) or not database.is_in_transaction:
                raise
            database.run("rollback to step")
            del group.stored[before:]
            outcomes = [Outcome(step[0].answer, error=_tellable(error))]
        database.run("release step")
        if outcomes[0].error is None or len(step) == 1:
            group.outcomes += outcomes
            return
        for request in step:
            self._take_step(database, [request], group)

    def _perform(self, database: Database, step: Sequence[Request], group: Group) -> list[Outcome]:
        match step[0]:
            case Decide(decision, by, ts_ms, answer):
                events, value = decision(database.rows)
                drafts = [encode(event, self._redact) for event in events]
                batch = stamp(drafts, self._next_seq(group), ts_ms, by)
                group.stored += batch
                store(database, self._tables, batch)
                return [Outcome(answer, value)]
            case Rebuild(answer):
                project_again(database, self._tables)
                return [Outcome(answer)]
            case _:
                return self._append(database, step, group)

    def _append(self, database: Database, step: Sequence[Request], group: Group) -> list[Outcome]:
        before = len(group.stored)
        outcomes = []
        for request in step:
            if isinstance(request, Append):
                first = self._next_seq(group)
                group.stored += stamp(request.drafts, first, request.ts_ms, request.by)
                outcomes.append(Outcome(request.answer, first + len(request.drafts) - 1))
        store(database, self._tables, group.stored[before:])
        return outcomes

    def _next_seq(self, group: Group) -> int:
        return self._last_seq + len(group.stored) + 1

    def _ready_database(self) -> Database:
        """The connection, made anew after a failure: nothing half known is gone on with."""
        if self._database is None:
            self._database = Database(self._path, writes=True)
            self._last_seq = prepare(self._database, self._tables)
        return self._database

    def _forget_database(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with contextlib.suppress(SqlError):
                database.close()


def _steps(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """Appends in a row make one step, everything else one each."""
    for is_append, run in itertools.groupby(requests, lambda one: isinstance(one, Append)):
        if is_append:
            yield list(run)
        else:
            yield from ([one] for one in run)


def _tellable(error: Exception) -> Exception:
    """A future cannot hold StopIteration, and its waiter must not hang for that."""
    if isinstance(error, StopIteration):
        return Broken(
            "a decision ended with StopIteration", "this is a defect of amiral: report it"
        )
    return error


def _copy(failure: AmiralError) -> AmiralError:
    """Every waiter raises its own, for a traceback grows where it is raised."""
    copy = type(failure)(failure.message, failure.next_step)
    copy.__cause__ = failure.__cause__
    return copy
