"""Pure: cut a stream of bytes into lines, whatever its chunks (R01, R02, R03, P12)."""

import hashlib

import msgspec

MAX_LINE_BYTES = 64 * 1024 * 1024


class Line(msgspec.Struct, frozen=True):
    """One line that is not empty, without its end; `end` counts the bytes up to just after it."""

    data: bytes
    end: int


class Oversized(msgspec.Struct, frozen=True):
    """A line over the cap: its size and hash are kept, its bytes are not (R01)."""

    size: int
    sha256: str
    end: int


class Framer:
    r"""Cuts at every ``\n`` and every ``\r``, so CRLF and progress bars need no care (R08).

    `at` is the position the stream is read from; all ends count from the stream's beginning. The
    cap is for each line alone (R02). Memory stays below the cap plus one chunk; each byte is
    copied a fixed number of times, however the line arrives.
    """

    def __init__(self, at: int = 0, cap: int = MAX_LINE_BYTES) -> None:
        self._at = at
        self._cap = cap
        self._parts: list[bytes] = []
        self._size = 0
        self._hash = hashlib.sha256()

    @property
    def at(self) -> int:
        """Bytes up to just after the last whole line: read on from here after a restart."""
        return self._at

    @property
    def pending(self) -> int:
        """Bytes of the line that has no end yet."""
        return self._size

    def feed(self, chunk: bytes) -> list[Line | Oversized]:
        """Take the next bytes and give the lines that are whole now."""
        head, *others = chunk.replace(b"\r", b"\n").split(b"\n")
        if head:
            self._grow(head)
        if not others:
            return []
        lines: list[Line | Oversized] = []
        if self._size:
            lines.append(self._closed())
        else:
            self._at += 1
        *whole, rest = others
        for part in whole:
            self._at += len(part) + 1
            if part:
                lines.append(self._line(part))
        if rest:
            self._grow(rest)
        return lines

    def tail(self) -> bytes:
        """Give the bytes after the last line end, for the end of the file (R05).

        Empty when there are none, or (see `pending`) when they are more than the cap.
        """
        return b"".join(self._parts)

    def _grow(self, part: bytes) -> None:
        self._size += len(part)
        self._parts.append(part)
        if self._size > self._cap:
            for one in self._parts:
                self._hash.update(one)
            self._parts.clear()

    def _closed(self) -> Line | Oversized:
        self._at += self._size + 1
        line: Line | Oversized = Line(b"".join(self._parts), self._at)
        if self._size > self._cap:
            line = Oversized(self._size, self._hash.hexdigest(), self._at)
            self._hash = hashlib.sha256()
        self._parts.clear()
        self._size = 0
        return line

    def _line(self, part: bytes) -> Line | Oversized:
        if len(part) > self._cap:
            return Oversized(len(part), hashlib.sha256(part).hexdigest(), self._at)
        return Line(part, self._at)
