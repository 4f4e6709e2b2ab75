"""The three pipes of a program that runs to its end: stdin is fed, the last output is kept."""

import asyncio
from typing import IO

_END_OF_FILE_S = 0.5


class Tail(asyncio.Protocol):
    """Keeps the last `limit` bytes of a stream and knows when it is over."""

    def __init__(self, limit: int) -> None:
        self.ended = asyncio.get_running_loop().create_future()
        self.is_cut = False
        self._limit = limit
        self._bytes = bytearray()

    def data_received(self, data: bytes) -> None:
        self._bytes += data
        if len(self._bytes) > 2 * self._limit:
            self._cut()

    def connection_lost(self, _error: Exception | None) -> None:
        self.ended.set_result(None)

    def kept(self) -> bytes:
        """Return the last bytes, at most the limit."""
        self._cut()
        return bytes(self._bytes)

    def _cut(self) -> None:
        surplus = len(self._bytes) - self._limit
        if surplus > 0:
            self.is_cut = True
            del self._bytes[:surplus]


class Capture:
    """Stdin, stdout and stderr of one program, ours until `close`."""

    def __init__(self, ends: tuple[IO[bytes], IO[bytes], IO[bytes]], limit: int) -> None:
        self.out = Tail(limit)
        self.err = Tail(limit)
        self._ends = ends
        self._in = Tail(0)
        self._readers: list[asyncio.BaseTransport] = []
        self._writer: asyncio.WriteTransport | None = None

    async def begin(self, stdin: bytes) -> None:
        """Read both outputs from now on and write all of `stdin`, as fast as the program reads."""
        loop = asyncio.get_running_loop()
        writing, out, err = self._ends
        self._readers.append((await loop.connect_read_pipe(lambda: self.out, out))[0])
        self._readers.append((await loop.connect_read_pipe(lambda: self.err, err))[0])
        self._writer, _ = await loop.connect_write_pipe(lambda: self._in, writing)
        self._writer.write(stdin)
        self._writer.write_eof()

    async def finish(self) -> None:
        """Wait for the end of both outputs, not long: something may hold them open (R07)."""
        await asyncio.wait([self.out.ended, self.err.ended], timeout=_END_OF_FILE_S)

    def close(self) -> None:
        """Give all three back, whatever is still in them."""
        for reader in self._readers:
            reader.close()
        if self._writer is not None and not self._in.ended.done():
            self._writer.abort()
        for end in self._ends:
            end.close()
