# ruff: noqa: PTH105
"""What a CLI printed, on disk: stdout in segments and complete, stderr in a bounded ring.

Standard library only. The files are those of docs/reference/sessions.md.
"""

import os

from amiral.processes.shim.durable import remove

SEGMENT_BYTES = 64 << 20
RING_BYTES = 1 << 20

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class Segments:
    """`out.000001`…: every byte in order, a new file at the first line border after `limit`."""

    def __init__(self, folder: str, limit: int = SEGMENT_BYTES) -> None:
        self.pending = b""
        self._folder = folder
        self._limit = limit
        self._first = 1
        self._number = 1
        self._size = 0
        self._is_at_border = True
        self._file = os.open(self._path(1), _FLAGS | os.O_EXCL, 0o600)

    @property
    def position(self) -> tuple[int, int]:
        """Where the next byte goes: (segment, byte)."""
        return self._number, self._size

    def append(self, data: bytes) -> None:
        """Add bytes; OSError (a full disk) leaves what is not yet stored in `pending`, in order."""
        self.pending += data
        while self.pending:
            self._roll_when_due()
            room = self._room()
            written = os.write(self._file, self.pending[:room])
            self._is_at_border = self.pending[written - 1 : written] == b"\n"
            self._size += written
            self.pending = self.pending[written:]

    def drop(self, upto: int) -> None:
        """Delete segments up to and including this one, the one being written excepted."""
        while self._first <= upto and self._first < self._number:
            remove(self._path(self._first))
            self._first += 1

    def close(self) -> None:
        """Give the file back to the system."""
        os.close(self._file)

    def _room(self) -> int:
        if self._size + len(self.pending) <= self._limit:
            return len(self.pending)
        border = self.pending.find(b"\n", max(0, self._limit - self._size - 1))
        return len(self.pending) if border < 0 else border + 1

    def _roll_when_due(self) -> None:
        if self._size < self._limit or not self._is_at_border:
            return
        following = os.open(self._path(self._number + 1), _FLAGS | os.O_EXCL, 0o600)
        os.close(self._file)
        self._file, self._number, self._size = following, self._number + 1, 0

    def _path(self, number: int) -> str:
        return f"{self._folder}/out.{number:06d}"


class Ring:
    """`err` and `err.1`: the last one to two times `limit` bytes; what has no room is lost."""

    def __init__(self, folder: str, limit: int = RING_BYTES) -> None:
        self._path = f"{folder}/err"
        self._limit = limit
        self._size = 0
        self._file = os.open(self._path, _FLAGS | os.O_EXCL, 0o600)

    def append(self, data: bytes) -> None:
        """Add bytes, throwing the oldest away."""
        try:
            if self._size >= self._limit:
                self._turn()
            self._size += os.write(self._file, data)
        except OSError:
            return

    def close(self) -> None:
        """Give the file back to the system."""
        os.close(self._file)

    def _turn(self) -> None:
        fresh = os.open(self._path + ".0", _FLAGS | os.O_TRUNC, 0o600)
        os.replace(self._path, self._path + ".1")
        os.replace(self._path + ".0", self._path)
        os.close(self._file)
        self._file, self._size = fresh, 0
