"""One live session of an agent CLI: its shim, its output, its driver's state."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec

from amiral.agents.driver import Driver, Finished, Input
from amiral.agents.fold import Folded
from amiral.agents.framing import Oversized
from amiral.agents.rows import SessionRow
from amiral.agents.tail import OutputTail
from amiral.base.errors import AmiralError, Conflict
from amiral.base.events import OutputRead
from amiral.processes.answers import DiskFull, Exited, Fenced, Lost, Notice
from amiral.processes.link import ShimGone, ShimLink

EXITED = "the CLI ended"
LINK_LOST = "the connection to its shim broke"
SHIM_LOST = "its shim was lost"
NEVER_LAUNCHED = "it was never launched"

ANSWER_S = 15.0
"""How long a shim may take to answer: longer than it takes to kill a tree."""

_BATCH = 512
_BATCH_BYTES = 4 << 20
_WRITE_S = 0.5
_END_S = 2.0


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
        self.over = asyncio.Event()
        self.exit_code: int | None = None
        self.why_over = self.disk_full = ""
        self.is_disk_told = False
        self.position = row.snapshot_at
        self._tail = tail
        self._link: ShimLink | None = None
        self._writing: set[asyncio.Task[None]] = set()
        self._trouble: AmiralError | None = None

    @property
    def id(self) -> str:
        """The session's id, also the name of its folder."""
        return self.row.session

    @property
    def is_over(self) -> bool:
        """Tell whether the CLI is gone; what it wrote can still be folded."""
        return self.over.is_set()

    def connect(self, link: ShimLink) -> None:
        """Follow a live shim from here on."""
        self._link = link
        link.on_notice(self._take_notice)

    def end(self, why: str, exit_code: int | None = None) -> None:
        """Mark the CLI as gone; what is known for sure takes the place of a broken connection."""
        if self.why_over in ("", LINK_LOST):
            self.why_over, self.exit_code = why, exit_code
        self.over.set()
        self.woken.set()

    def batch(self, *, is_last: bool) -> list[Folded]:
        """Fold the next lines that are there, a limited number, at most up to a final event.

        With `is_last` (the CLI is gone) a last line without newline counts too (R05).
        """
        lines: list[Folded] = []
        segment, byte = self.position
        while len(lines) < _BATCH and (line := self._next(is_last=is_last)) is not None:
            lines.append(line)
            if any(isinstance(signal, Finished) for signal in line.signals):
                break
            if self.position > (segment, byte + _BATCH_BYTES):
                break
        return lines

    def snapshot(self) -> OutputRead:
        """Name the place and state from which folding can begin again."""
        state = msgspec.json.encode(self.state).decode()
        return OutputRead(self.id, self.position, state)

    async def wait(self, seconds: float) -> None:
        """Wait until the shim or a person wakes the session, at most so long.

        Raises what went wrong with a line that was written meanwhile.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.woken.wait()
        self.woken.clear()
        self._raise_trouble()

    async def write(self, inputs: Iterable[Input]) -> None:
        """Write lines to the CLI in order, each id once for ever; one that is gone gets none.

        A CLI that does not read is not waited for: the line stays on its way, and whoever follows
        the session can still interrupt it.
        """
        for line in inputs:
            if self._link is None or self.is_over:
                return
            task = asyncio.create_task(self._deliver(self._link, line))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)
            await asyncio.wait([task], timeout=_WRITE_S)
        self._raise_trouble()

    async def close(self) -> None:
        """Close the CLI's input: it ends by itself when it has answered."""
        await self._ask(lambda link: link.close_input())

    async def kill(self) -> None:
        """End the CLI and everything it started."""
        await self._ask(lambda link: link.kill())

    async def release_output(self) -> None:
        """Let the shim delete the segments before the one being read; they are folded and told."""
        if self.position[0] > 1:
            await self._ask(lambda link: link.drop(self.position[0] - 1))

    def detach(self) -> None:
        """Let go of shim and files; the CLI goes on."""
        self._tail.close()
        if self._link is not None:
            self._link.close()
            self._link = None

    async def _deliver(self, link: ShimLink, line: Input) -> None:
        """Have one line written; what became of one that was not, the files tell."""
        try:
            if await link.input(line.id, line.data) != "written":
                await self._let_end()
        except ShimGone:
            self.end(LINK_LOST)
        except AmiralError as error:
            self._trouble = self._trouble or error
            self.woken.set()

    async def _let_end(self) -> None:
        """A CLI that takes no more input ends, by itself or not: then its files tell the rest."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await self.over.wait()
        if not self.is_over:
            await self.kill()

    async def _ask(self, request: Callable[[ShimLink], Awaitable[object]]) -> None:
        """Have the shim do something; one that does not answer is as good as gone."""
        if self._link is None:
            self.end(LINK_LOST)
            return
        try:
            async with asyncio.timeout(ANSWER_S):
                await request(self._link)
        except (ShimGone, TimeoutError):
            self.end(LINK_LOST)

    def _raise_trouble(self) -> None:
        if self._trouble is not None:
            raise self._trouble

    def _take_notice(self, notice: Notice) -> None:
        match notice:
            case Exited(code=code, signal=number):
                self.end(EXITED, code if number is None else -number)
            case Lost():
                self.end(LINK_LOST)
            case Fenced():
                self._trouble = fenced(self.id)
                self.woken.set()
            case DiskFull(message=message):
                self.disk_full = self.disk_full or message
                self.woken.set()
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
            return Folded(row.position, self.state, is_new=is_new, oversized=row.line)
        read = self.driver.read(self.state, row.line)
        self.state = read.state
        return Folded(row.position, read.state, read.signals, read.inputs, is_new)


def fenced(session: str) -> Conflict:
    """Say that the session is another process's now: nothing about it may be concluded here."""
    return Conflict(f"another process of amiral took session {session} over", "amiral status")
