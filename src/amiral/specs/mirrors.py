"""Keeps `.amiral/state/` like the journal, for people, `grep` and git (S0.32-S0.34).

Mirrors are written and never read back. Each line of a log is written once and in order, whatever
is killed: before a batch of events is mirrored, its place in the journal and the sizes of the logs
it goes to are put on disk (`record`), and a batch that is begun is always finished first.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.base.errors import AmiralError
from amiral.base.failpoint import failpoint
from amiral.specs.mirrored import Mirrored, Names
from amiral.specs.reader import until_read
from amiral.specs.state_folder import open_state
from amiral.store.files import Intact, Salvaged, read_json, write_json
from amiral.store.journal import Journal, Stamped

_PAUSE_AFTER_FAULT_S = 30.0


class _Record(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Events after `since` up to `upto` are being mirrored, into logs that had these sizes."""

    epoch: str
    since: int = 0
    upto: int = 0
    sizes: dict[str, int] = msgspec.field(default_factory=dict)


class Mirrors:
    """Follows the journal with the project at `root`; `record` is a file of our own in the home."""

    def __init__(
        self, journal: Journal, clock: Clock, root: Path, record: Path, names: Names
    ) -> None:
        self._journal, self._clock = journal, clock
        self._root, self._record = root, record
        self._mirrored = Mirrored(journal.rows, names)
        self._is_told = False

    async def run(self) -> None:
        """Mirror until the journal closes; what cannot be written is told once and tried again."""
        while True:
            try:
                await self._follow()
                return
            except AmiralError as error:
                await self._tell(error)
                await self._clock.sleep(_PAUSE_AFTER_FAULT_S)

    async def _follow(self) -> None:
        begun = await self._begun()
        unfinished = self._journal.read(begun.since, begun.upto - begun.since)
        await self._mirror(unfinished, begun)
        async for batch in self._journal.batches(begun.upto):
            await self._mirror(batch)

    async def _mirror(self, batch: Sequence[Stamped], begun: _Record | None = None) -> None:
        """Mirror some events; an answer is mirrored with the specs it held, once they are known."""
        ended = [one.seq for one in batch if isinstance(one.event, ev.TurnEnded)]
        if ended:
            await until_read(self._journal, ended[-1])
        lines, files = self._mirrored.lines(batch), self._mirrored.files(batch)
        if lines or files:
            since = batch[0].seq - 1
            record = begun or _Record(self._journal.epoch, since, batch[-1].seq)
            await asyncio.to_thread(self._write, record, lines, files, is_new=begun is None)
            self._mirrored.note_written(files)
            self._is_told = False

    def _write(
        self,
        record: _Record,
        lines: Mapping[str, bytes],
        files: Mapping[str, bytes],
        *,
        is_new: bool,
    ) -> None:
        with open_state(self._root) as state:
            if is_new:
                sizes = {log: state.size(log) for log in lines}
                record = msgspec.structs.replace(record, sizes=sizes)
                write_json(self._record, record)
                failpoint("mirrors.begun")
            for log, data in lines.items():
                state.append(log, record.sizes.get(log, state.size(log)), data)
                failpoint("mirrors.appended")
            for name, data in files.items():
                state.replace(name, data)
                failpoint("mirrors.replaced")

    async def _begun(self) -> _Record:
        """Read how far we had come; another journal is mirrored from its start."""
        match await asyncio.to_thread(read_json, self._record, _check):
            case Salvaged(value=record, warning=warning):
                await self._journal.append(ev.WarningRaised("mirrors", warning))
            case Intact(value=record):
                pass
            case _:
                record = _Record("")
        epoch, newest = self._journal.epoch, self._journal.last_seq
        if record.epoch != epoch:
            return _Record(epoch)
        return record if record.upto <= newest else _Record(epoch, newest, newest)

    async def _tell(self, error: AmiralError) -> None:
        if not self._is_told:
            warning = ev.WarningRaised("mirrors", error.message, (error.next_step,))
            with contextlib.suppress(AmiralError):
                await self._journal.append(warning)
                self._is_told = True


def _check(value: object) -> _Record:
    return msgspec.convert(value, _Record)
