"""One connection to a shim: JSON lines in and out, never waiting for the other side.

Standard library only. Plain file descriptors, because `os.read` and `os.write` serve sockets too.
"""

import json
import os

MAX_LINE_BYTES = 80 << 20
_MAX_UNSENT_BYTES = 256 << 10
_READ_BYTES = 256 << 10


class Refusal(Exception):
    """A request that is answered by an error: its kind and a message for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class Connection:
    """Lines read and not yet handled, bytes not yet sent, and what the other side may do.

    `token` is None until it has said hello; `told` is the output position it was last told, so that
    notices of output need no queue and a side that does not read costs nothing.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.token: int | None = None
        self.is_open = True
        self.told = (1, 0)
        self._arrived = bytearray()
        self._searched = 0
        self._is_skipping = False
        self._unsent = bytearray()

    @property
    def wants_requests(self) -> bool:
        """Whether to read on: not while the other side leaves its answers unread."""
        return len(self._unsent) < _MAX_UNSENT_BYTES

    @property
    def has_unsent(self) -> bool:
        """Whether something waits for the other side to read."""
        return bool(self._unsent)

    def receive(self) -> list[bytes | None]:
        """Read what has arrived and return the complete lines; None stands for one too long."""
        try:
            chunk = os.read(self.handle, _READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return []
        self._arrived += chunk
        return self._lines()

    def send(self, message: dict[str, object]) -> None:
        """Queue one line and send what the other side takes."""
        if self.is_open:
            self._unsent += json.dumps(message).encode() + b"\n"
            self.flush()

    def flush(self) -> None:
        """Send what the other side takes now."""
        try:
            while self._unsent:
                del self._unsent[: os.write(self.handle, self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            self.close()

    def close(self) -> None:
        """Hang up; harmless when done already."""
        if self.is_open:
            self.is_open = False
            self._unsent.clear()
            os.close(self.handle)

    def _lines(self) -> list[bytes | None]:
        lines: list[bytes | None] = []
        while (end := self._arrived.find(b"\n", self._searched)) >= 0:
            with memoryview(self._arrived) as view:
                lines.append(None if self._is_skipping else bytes(view[:end]))
            self._is_skipping = False
            del self._arrived[: end + 1]
            self._searched = 0
        self._searched = len(self._arrived)
        if self._searched > MAX_LINE_BYTES:
            self._is_skipping = True
        if self._is_skipping:
            self._arrived.clear()
            self._searched = 0
        return lines


def parse(line: bytes | None) -> dict[str, object]:
    """Read one request line; a Refusal says why it is none."""
    if line is None:
        raise Refusal("invalid", f"a request is at most {MAX_LINE_BYTES} bytes long")
    try:
        request = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise Refusal("invalid", f"a request is one line of JSON: {error}") from error
    if not isinstance(request, dict):
        raise Refusal("invalid", "a request is a JSON object")
    return request


def text_of(request: dict[str, object], name: str) -> str:
    """Take a text out of a request; a Refusal when it is missing or of another type."""
    value = request.get(name)
    if not isinstance(value, str):
        raise Refusal("invalid", f"{name} must be a text")
    return value


def number_of(request: dict[str, object], name: str) -> int:
    """Take a whole number out of a request."""
    value = request.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refusal("invalid", f"{name} must be a whole number")
    return value


def texts_of(request: dict[str, object], name: str) -> list[str]:
    """Take a list of texts, not an empty one, out of a request."""
    value = request.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise Refusal("invalid", f"{name} must be a list of texts")
    return value
