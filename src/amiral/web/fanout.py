"""The journal for many streams: one reader, each batch encoded once, no queue for anybody (P11)."""

import asyncio
import functools
from collections.abc import Iterable, Iterator, Sequence

from amiral.base.clock import Clock, iso_utc
from amiral.base.errors import AmiralError
from amiral.store.journal import Journal, Stamped
from amiral.web import frames
from amiral.web.history import Row, read_stretch

PING_S = 15.0

_PIECE_BYTES = 256 << 10
_KEPT_BYTES = 4 << 20
_MOST_ROWS = 256


class Stream:
    """One reader's place. It holds no events: what it has not taken yet is read when it asks."""

    def __init__(self, fanout: "Fanout", seq: int) -> None:
        self.seq = seq
        self.is_over = False
        self.is_ping_due = False
        self.woken = asyncio.Event()
        self._fanout = fanout

    async def take(self) -> bytes:
        """Wait for the next events after the last ones taken, or a ping; empty when it is over."""
        while not self.is_over:
            data = await self._fanout.after(self)
            if data:
                return data
            if self.is_ping_due:
                self.is_ping_due = False
                return frames.PING
            self.woken.clear()
            await self.woken.wait()
        return b""

    def end(self) -> None:
        """Let `take` give nothing more."""
        self.is_over = True
        self.woken.set()


class Fanout:
    """Encodes news once for all streams and keeps the last of it.

    Who has fallen behind that reads the file at its own pace, so that one who never reads costs
    what lies in its connection and nothing else.
    """

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock
        self.epoch = journal.epoch
        self._position = 0
        self._pieces: dict[int, tuple[int, bytes]] = {}
        self._kept_bytes = 0
        self._streams: set[Stream] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_closed = False

    @property
    def newest(self) -> int:
        """The place of the newest event."""
        return self._journal.last_seq

    def join(self, seq: int) -> Stream:
        """Begin a stream after event `seq`, which the journal has; `leave` ends it."""
        stream = Stream(self, seq)
        stream.is_over = self._is_closed
        self._streams.add(stream)
        if not self._tasks and not self._is_closed:
            self._position = self._journal.last_seq
            self._tasks = [
                asyncio.create_task(self._encode()),
                asyncio.create_task(self._ping()),
            ]
        return stream

    def leave(self, stream: Stream) -> None:
        """Forget a stream; with the last one the reader of the journal rests."""
        stream.end()
        self._streams.discard(stream)
        if not self._streams:
            self._rest()

    def close(self) -> None:
        """End all streams, now and later."""
        self._is_closed = True
        self._end_all()

    async def after(self, stream: Stream) -> bytes:
        """Give what follows the stream's place and move it on; empty when there is nothing yet."""
        if stream.seq >= self._position:
            return b""
        pieces = list(self._shared(stream))
        if pieces:
            return b"".join(pieces) if len(pieces) > 1 else pieces[0]
        await self._clock.sleep(0)
        return self._read(stream)

    def _shared(self, stream: Stream) -> Iterator[bytes]:
        size = 0
        while size < _PIECE_BYTES and (piece := self._pieces.get(stream.seq + 1)):
            stream.seq, data = piece
            size += len(data)
            yield data

    def _read(self, stream: Stream) -> bytes:
        """Encode a stretch of the file for one stream alone, up to where the shared pieces are."""
        rows = read_stretch(
            self._journal,
            stream.seq,
            self._position,
            most_rows=_MOST_ROWS,
            most_bytes=_PIECE_BYTES,
        )
        stream.seq = rows[-1][0] if rows else self._position
        return b"".join(part for row in rows for part in self._parts(row))

    async def _encode(self) -> None:
        try:
            async for batch in self._journal.batches(self._position):
                for first, last, data in self._encoded(batch):
                    self._keep(first, last, data)
                for stream in self._streams:
                    stream.woken.set()
        except AmiralError:
            # A journal that cannot be read now ends the streams; who reads comes back by itself.
            pass
        self._end_all()

    def _encoded(self, batch: Sequence[Stamped]) -> Iterator[tuple[int, int, bytes]]:
        """Cut a batch into pieces that a slow connection can hold: first seq, last seq, bytes."""
        parts: list[bytes] = []
        size, first = 0, batch[0].seq
        for seq, ts_ms, by, name, version, _, payload in batch:
            if size and size + len(payload) > _PIECE_BYTES:
                yield first, seq - 1, b"".join(parts)
                parts, size, first = [], 0, seq
            parts += self._parts((seq, ts_ms, by, name, version, payload))
            size += len(payload)
        yield first, batch[-1].seq, b"".join(parts)

    def _parts(self, row: Row) -> Iterable[bytes]:
        seq, ts_ms, by, name, version, payload = row
        head = frames.head(self.epoch, seq, name=name, ts=_iso_utc(ts_ms), by=by, version=version)
        return head, payload, frames.END

    def _keep(self, first: int, last: int, data: bytes) -> None:
        self._pieces[first] = last, data
        self._position = last
        self._kept_bytes += len(data)
        while self._kept_bytes > _KEPT_BYTES and len(self._pieces) > 1:
            _, oldest = self._pieces.pop(next(iter(self._pieces)))
            self._kept_bytes -= len(oldest)

    async def _ping(self) -> None:
        """Let whoever waits hear something: proxies and phones drop what is silent."""
        while True:
            await self._clock.sleep(PING_S)
            for stream in self._streams:
                stream.is_ping_due = True
                stream.woken.set()

    def _end_all(self) -> None:
        for stream in self._streams:
            stream.end()
        self._rest()

    def _rest(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []
        self._pieces.clear()
        self._kept_bytes = 0


@functools.lru_cache(maxsize=4)
def _iso_utc(ts_ms: int) -> str:
    return iso_utc(ts_ms)
