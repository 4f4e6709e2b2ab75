"""One live session of an agent CLI: its shim, its output, its driver's state."""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any

import msgspec

from amiral.agents.driver import Driver, Finished, Input
from amiral.agents.fold import Folded
from amiral.agents.framing import Oversized
from amiral.agents.rows import SessionRow
from amiral.agents.tail import OutputTail
from amiral.base.events import OutputRead
from amiral.processes.answers import Exited, Fenced, Lost, Notice
from amiral.processes.link import ShimGone, ShimLink

EXITED = "the CLI ended"
SHIM_LOST = "its shim was lost"
NEVER_LAUNCHED = "it was never launched"
FENCED = "another process of amiral took over"

_BATCH = 512


class Session:
    """Folds what a CLI says and writes what a turn wants said.

    Nothing is read between turns: output waits in its file. The folding begins at the last
    snapshot, so that lines told before a crash are folded again but not told again.
    """

    def __init__(
        self, row: SessionRow, driver: Driver[Any], state: object, tail: OutputTail
    ) -> None:
        self.row, self.driver, self.state = row, driver, state
        self.woken = asyncio.Event()
        self.exit_code: int | None = None
        self.why_over = ""
        self.position = row.snapshot_at
        self._tail = tail
        self._link: ShimLink | None = None

    @property
    def id(self) -> str:
        """The session's id, also the name of its folder."""
        return self.row.session

    @property
    def is_over(self) -> bool:
        """Tell whether the CLI is gone; what it wrote can still be folded."""
        return bool(self.why_over)

    def connect(self, link: ShimLink) -> None:
        """Follow a live shim from here on."""
        self._link = link
        link.on_notice(self._take_notice)

    def end(self, why: str, exit_code: int | None = None) -> None:
        """Mark the CLI as gone."""
        self.why_over = self.why_over or why
        self.exit_code = exit_code
        self.woken.set()

    def batch(self, *, is_last: bool) -> list[Folded]:
        """Fold the next lines that are there, at most up to a final event.

        With `is_last` (the CLI is gone) a last line without newline counts too (R05).
        """
        lines: list[Folded] = []
        while len(lines) < _BATCH and (line := self._next(is_last=is_last)) is not None:
            lines.append(line)
            if any(isinstance(signal, Finished) for signal in line.signals):
                break
        return lines

    def snapshot(self) -> OutputRead:
        """Name the place and state from which folding can begin again."""
        state = msgspec.json.encode(self.state).decode()
        return OutputRead(self.id, self.position, state)

    async def wait(self, seconds: float) -> None:
        """Wait until the shim or a person wakes the session, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.woken.wait()
        self.woken.clear()

    async def write(self, inputs: Iterable[Input]) -> None:
        """Write lines to the CLI, each id once for ever; a CLI that is gone is marked so."""
        for line in inputs:
            if self._link is None or self.is_over:
                return
            try:
                delivery = await self._link.input(line.id, line.data)
            except ShimGone:
                self.end(SHIM_LOST)
                return
            if delivery != "written":
                # The exit notice follows; the files tell what became of this line.
                return

    async def close(self) -> None:
        """Close the CLI's input: it ends by itself when it has answered."""
        await self._ask("close")

    async def kill(self) -> None:
        """End the CLI and everything it started."""
        await self._ask("kill")

    async def release_output(self) -> None:
        """Let the shim delete the segments before the one being read; they are folded and told."""
        if self.position[0] > 1:
            await self._ask("drop", segment=self.position[0] - 1)

    def detach(self) -> None:
        """Let go of shim and files; the CLI goes on."""
        self._tail.close()
        if self._link is not None:
            self._link.close()
            self._link = None

    async def _ask(self, op: str, **fields: object) -> None:
        if self._link is None or self.is_over:
            return
        try:
            await self._link.request(op, **fields)
        except ShimGone:
            self.end(SHIM_LOST)

    def _take_notice(self, notice: Notice) -> None:
        match notice:
            case Exited(code=code, signal=number):
                self.end(EXITED, code if number is None else -number)
            case Lost():
                self.end(SHIM_LOST)
            case Fenced():
                self.end(FENCED)
            case _:
                self.woken.set()

    def _next(self, *, is_last: bool) -> Folded | None:
        row = self._tail.next_row()
        if row is None and is_last:
            row = self._tail.take_rest()
        if row is None:
            return None
        self.position = row.position
        is_new = row.position > self.row.position
        if isinstance(row.line, Oversized):
            return Folded(row.position, (), (), is_new, row.line)
        read = self.driver.read(self.state, row.line)
        self.state = read.state
        return Folded(row.position, read.signals, read.inputs, is_new)
