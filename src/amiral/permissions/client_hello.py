"""Pure: the server's name in the first bytes that a TLS client sends (RFC 8446 4.1.2, RFC 6066 3).

Read as strictly as a server would: bytes that two readers could understand differently are refused.
"""

from dataclasses import dataclass

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_MOST_HELLO = 1 << 16
_MOST_RECORDS = 16
_MOST_RECORD = 1 << 14
_RECORD_HEAD, _MESSAGE_HEAD = 5, 4
_VERSION_AND_RANDOM = 2 + 32
_SERVER_NAME, _HOST_NAME = 0, 0


@dataclass(frozen=True)
class Hello:
    """What the client asks for; `name` is empty when it names no server."""

    name: str


@dataclass(frozen=True)
class Unreadable:
    """No beginning of TLS, or one that is not clear."""

    reason: str


def read_hello(data: bytes) -> Hello | Unreadable | None:
    """Read what has come so far; None when more is needed. Never raises."""
    try:
        message = _message(data)
        return None if message is None else Hello(_server_name(message))
    except _Wrong as wrong:
        return Unreadable(f"it does not begin with TLS: {wrong}")


class _Wrong(Exception):
    """Why it is no client's hello."""


class _Bytes:
    """What is still to be read of a message."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def is_over(self) -> bool:
        return self._at == len(self._data)

    def take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        if len(part) < size:
            raise _Wrong("a length in it is wrong")
        self._at += size
        return part

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def counted(self, size: int) -> "_Bytes":
        """Take a part whose length stands before it, in `size` bytes."""
        return _Bytes(self.take(self.number(size)))

    def end(self) -> None:
        if not self.is_over:
            raise _Wrong("something follows that does not belong there")


def _message(data: bytes) -> bytes | None:
    """Put the message together from its records; None when not all of it has come."""
    joined, at = b"", 0
    for _ in range(_MOST_RECORDS):
        size = _record_size(data[at : at + _RECORD_HEAD])
        part = data[at + _RECORD_HEAD : at + _RECORD_HEAD + size]
        joined += part
        wanted = _message_size(joined)
        if not size or len(part) < size:
            return None
        if len(joined) > wanted:
            raise _Wrong("more than one message in a record")
        if len(joined) == wanted:
            return joined[_MESSAGE_HEAD:]
        at += _RECORD_HEAD + size
    raise _Wrong("it comes in too many pieces")


def _record_size(head: bytes) -> int:
    """Check as much of a record's head as there is; the size is 0 until it is known."""
    if not bytes([_HANDSHAKE, 3]).startswith(head[:2]):
        raise _Wrong("another kind of bytes")
    if len(head) < _RECORD_HEAD:
        return 0
    size = int.from_bytes(head[3:])
    if not 0 < size <= _MOST_RECORD:
        raise _Wrong("a record of no valid size")
    return size


def _message_size(joined: bytes) -> int:
    """How long the whole of it is; at least as long as the head that tells."""
    if joined[:1] not in {b"", bytes([_CLIENT_HELLO])}:
        raise _Wrong("another message")
    size = int.from_bytes(joined[1:_MESSAGE_HEAD]) if len(joined) >= _MESSAGE_HEAD else 0
    if size > _MOST_HELLO:
        raise _Wrong("too long a message")
    return _MESSAGE_HEAD + size


def _server_name(message: bytes) -> str:
    rest = _Bytes(message)
    rest.take(_VERSION_AND_RANDOM)
    rest.counted(1)
    rest.counted(2)
    rest.counted(1)
    if rest.is_over:
        return ""
    extensions = rest.counted(2)
    rest.end()
    names = []
    while not extensions.is_over:
        kind, body = extensions.number(2), extensions.counted(2)
        if kind == _SERVER_NAME:
            names.append(_host_name(body))
    if len(names) > 1:
        raise _Wrong("more than one server is named")
    return "".join(names)


def _host_name(body: _Bytes) -> str:
    listed = body.counted(2)
    body.end()
    kind, name = listed.number(1), listed.take(listed.number(2))
    listed.end()
    text = name.decode("latin-1")
    if kind != _HOST_NAME or not text.isascii() or not text.isprintable():
        raise _Wrong("the server is named in another way")
    return text
