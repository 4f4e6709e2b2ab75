"""Read a session's output segments from a position on, as whole lines."""

import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from amiral.agents.framing import Framer, Line, Oversized
from amiral.base.event import Position

_CHUNK = 256 * 1024


@dataclass(frozen=True)
class Row:
    """One line of output, its end excluded, and the position just after it."""

    line: bytes | Oversized
    position: Position


class OutputTail:
    """The lines of the `out.NNNNNN` files, each once, in order; the files only grow."""

    def __init__(self, folder: Path, start: Position) -> None:
        self._folder = folder
        self._segment, self._byte = start
        self._framer = Framer(self._byte)
        self._file: int | None = None
        self._rows: deque[Row] = deque()

    def next_row(self) -> Row | None:
        """Give the next whole line, None when there is no more for now."""
        while not self._rows:
            if not self._read_chunk():
                return None
        return self._rows.popleft()

    def take_rest(self) -> Row | None:
        """Give what stands after the last line end, once; for a CLI that is gone (R05)."""
        rest = self._framer.feed(b"\n") if self._framer.pending else []
        self._framer = Framer(self._byte)
        for line in rest:
            data = line.data if isinstance(line, Line) else line
            return Row(data, (self._segment, self._byte))
        return None

    def close(self) -> None:
        """Let go of the open segment."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _read_chunk(self) -> bool:
        """Read on; a segment that is followed by another is complete at its end."""
        chunk = self._read_from(self._segment)
        while not chunk and self._path(self._segment + 1).exists():
            chunk = self._read_from(self._segment)
            if chunk:
                break
            self._next_segment()
            chunk = self._read_from(self._segment)
        self._byte += len(chunk)
        for line in self._framer.feed(chunk):
            data = line.data if isinstance(line, Line) else line
            self._rows.append(Row(data, (self._segment, line.end)))
        return bool(chunk)

    def _next_segment(self) -> None:
        self.close()
        self._segment, self._byte = self._segment + 1, 0
        self._framer = Framer()

    def _read_from(self, segment: int) -> bytes:
        if self._file is None:
            try:
                self._file = os.open(self._path(segment), os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return b""
        return os.pread(self._file, _CHUNK, self._byte)

    def _path(self, segment: int) -> Path:
        return self._folder / f"out.{segment:06d}"
