"""The stream of events to one client, from the place it names, until it hangs up (R52)."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from amiral.base.errors import AmiralError
from amiral.web import frames
from amiral.web.fanout import Fanout, Stream

_PIECE_BYTES = 256 << 10


class Live(Response):
    """Server-sent events; a place that means nothing here costs one `resync` and goes on from now.

    The place is the header `Last-Event-ID`, else `?after=`; without one the stream begins now. The
    next bytes are taken only when the connection has room: a slow client slows itself.
    """

    media_type = "text/event-stream"

    def __init__(self, fanout: Fanout, request: Request) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._fanout = fanout
        self._place = request.headers.get("last-event-id") or request.query_params.get("after", "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until one of the two ends it."""
        if scope["method"] == "HEAD":
            await super().__call__(scope, receive, send)
            return
        stream, opening = self._begin()
        watch = asyncio.create_task(_watch(receive, stream))
        try:
            head = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(head)
            await _write(send, opening)
            while data := await stream.take():
                await _write(send, data)
        except AmiralError:
            # The journal cannot be read: the client comes back with its place.
            pass
        finally:
            watch.cancel()
            self._fanout.leave(stream)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _begin(self) -> tuple[Stream, bytes]:
        epoch, newest = self._fanout.epoch, self._fanout.newest
        if not self._place:
            return self._fanout.join(newest), frames.greeting(epoch, newest)
        seq = frames.read_place(self._place, epoch, newest)
        if seq is None:
            return self._fanout.join(newest), frames.resync(epoch, newest)
        return self._fanout.join(seq), frames.greeting(epoch, seq)


async def _write(send: Send, data: bytes) -> None:
    """Hand the bytes on in pieces: what the connection has no room for waits here, uncopied."""
    for start in range(0, len(data), _PIECE_BYTES):
        piece = data[start : start + _PIECE_BYTES] if len(data) > _PIECE_BYTES else data
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _watch(receive: Receive, stream: Stream) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.end()
