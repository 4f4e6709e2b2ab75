"""What the mirrors of `.amiral/state/` hold of a batch of events: lines of logs, whole files."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from amiral.base import events as ev
from amiral.base.clock import iso_utc, utc_day
from amiral.specs import rows
from amiral.specs.document import (
    ActiveRole,
    Exchange,
    Thread,
    Transition,
    document,
    json_file,
    json_line,
    title_of,
)
from amiral.store.journal import Rows, Stamped

_SPECS: Final = "specs"
_MOVES: Final[Mapping[type[ev.Event], str]] = {
    ev.SpecApproved: "approved",
    ev.SpecRejected: "rejected",
    ev.SpecExecuting: "executing",
    ev.SpecFailed: "failed",
    ev.SpecDone: "done",
}
_QUEUE: Final = (
    *_MOVES,
    *(ev.SpecCreated, ev.SpecRevised, ev.SpecTested, ev.SpecMerged, ev.SpecDiscarded),
)
_ROLE: Final = (ev.RoleChosen, ev.WorkersLoaded, ev.MessageQueued)


@dataclass(frozen=True)
class Names:
    """What others know: a worker's log category, its conversation with the owner, who is active."""

    log_of: Callable[[str], str]
    thread_of: Callable[[str], str]
    active: Callable[[], str]


class Mirrored:
    """Reads the tables as they are now; files that are on disk already are left out."""

    def __init__(self, read: Rows, names: Names) -> None:
        self._read, self._names = read, names
        self._written: dict[str, bytes] = {}

    def lines(self, batch: Sequence[Stamped]) -> dict[str, bytes]:
        """Give what is to be added to each log, by the log's name."""
        logs: defaultdict[str, bytes] = defaultdict(bytes)
        for stamped in batch:
            for category, line in self._lines(stamped):
                logs[f"{category}-{utc_day(stamped.ts_ms)}.log"] += json_line(line)
        return dict(logs)

    def files(self, batch: Sequence[Stamped]) -> dict[str, bytes]:
        """Give the files that a batch changed, whole, by name."""
        found: dict[str, object] = {}
        if any(isinstance(one.event, _QUEUE) for one in batch):
            found["spec_queue.json"] = [document(spec) for spec in rows.every(self._read)]
        if any(isinstance(one.event, _ROLE) for one in batch):
            since = iso_utc(rows.role_since_ms(self._read))
            found["active_role.json"] = ActiveRole(self._names.active(), since)
        found |= self._threads(batch)
        files = {name: json_file(value) for name, value in found.items()}
        return {name: data for name, data in files.items() if self._written.get(name) != data}

    def note_written(self, files: Mapping[str, bytes]) -> None:
        """Remember files that are on disk now."""
        self._written |= files

    def _lines(self, stamped: Stamped) -> Iterator[tuple[str, msgspec.Struct]]:
        ts = iso_utc(stamped.ts_ms)
        match stamped.event:
            case ev.MessageQueued(worker=worker, sender=sender, text=text):
                yield self._log_of(worker), Exchange(ts, title_of(sender), text)
            case ev.TurnEnded(worker=worker, message=message) as ended:
                specs = tuple(spec.id for spec in rows.answered(self._read, message))
                text = ended.text or f"({ended.outcome}) {ended.reason}".rstrip()
                yield self._log_of(worker), Exchange(ts, worker, text, specs)
            case ev.SpecCreated(spec=spec, title=title, worker=author):
                yield _SPECS, Transition(ts, "created", spec, title, author)
            case ev.SpecRevised(spec=spec, title=title):
                author = rows.named(self._read, spec).author
                yield _SPECS, Transition(ts, "revised", spec, title, author)
            case (
                ev.SpecApproved(spec=spec)
                | ev.SpecRejected(spec=spec)
                | ev.SpecExecuting(spec=spec)
                | ev.SpecFailed(spec=spec)
                | ev.SpecDone(spec=spec)
            ) as event:
                by = title_of(stamped.by)
                yield _SPECS, Transition(ts, _MOVES[type(event)], spec, by=by)
            case _:
                pass

    def _log_of(self, worker: str) -> str:
        """Name a worker's log; the specs' own log is nobody's."""
        category = self._names.log_of(worker)
        return f"worker-{category}" if category == _SPECS else category

    def _threads(self, batch: Sequence[Stamped]) -> dict[str, object]:
        found: dict[str, object] = {}
        for worker in _workers(batch):
            thread = self._names.thread_of(worker)
            begun = rows.thread(self._read, thread)
            if begun is not None:
                started_ms, messages = begun
                found[f"{worker}_thread.json"] = Thread(thread, iso_utc(started_ms), messages)
        return found


def _workers(batch: Sequence[Stamped]) -> dict[str, None]:
    """Name the workers that were given a message or answered one."""
    talks = (one.event for one in batch if isinstance(one.event, ev.MessageQueued | ev.TurnEnded))
    return dict.fromkeys(event.worker for event in talks)
