"""Pure: what a program asks of an HTTP proxy: CONNECT, or plain HTTP with a whole address.

Read strictly (RFC 9112): what two readers could understand differently is refused, so that nothing
can hide behind the request that was judged.
"""

import base64
import binascii
import re
from dataclasses import dataclass

from amiral.base.errors import Invalid
from amiral.base.plain import one_line
from amiral.permissions.domains import HTTP_PORT, Place, read_place

HEAD_END = b"\r\n\r\n"

_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FIRST_LINE = re.compile(rf"({_WORD}) ([^\x00-\x20\x7f]+) (HTTP/1\.[01])")
_FIELD = re.compile(rf"({_WORD}):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_ABSOLUTE = re.compile(r"http://(?P<authority>[^/?#]*)(?P<rest>[/?][^#]*)?", re.IGNORECASE)
_LENGTH = re.compile(r"[0-9]{1,18}")
# About this connection alone, or ours to say.
_NOT_PASSED_ON = frozenset(
    {
        *("connection", "host", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("proxy-connection", "te", "trailer", "upgrade"),
    }
)


@dataclass(frozen=True)
class Head:
    """A request as it was written; names of fields are in lower case."""

    method: str
    target: str
    version: str
    fields: tuple[tuple[str, str], ...]

    def values(self, name: str) -> list[str]:
        """Give what the fields of this name say, in order."""
        return [value for field, value in self.fields if field == name]

    @property
    def token(self) -> str:
        """The password of its Basic Proxy-Authorization; empty when there is not exactly one."""
        match self.values("proxy-authorization"):
            case [value]:
                return _password(value)
            case _:
                return ""


@dataclass(frozen=True)
class Tunnel:
    """A connection is wanted, for TLS."""

    place: Place


@dataclass(frozen=True)
class Fetch:
    """One exchange of plain HTTP: `head` is what the server gets, before `body_bytes` of body."""

    place: Place
    head: bytes
    body_bytes: int


@dataclass(frozen=True)
class Refused:
    """What cannot be done, whoever asks."""

    reason: str
    status: int = 403


def read_head(data: bytes) -> Head | Refused:
    """Read the head of a request, its empty line included. Never raises."""
    first, *lines = data.removesuffix(HEAD_END).decode("latin-1").split("\r\n")
    found = _FIRST_LINE.fullmatch(first)
    fields = [_FIELD.fullmatch(line) for line in lines]
    if not found or not data.endswith(HEAD_END):
        return Refused("this is no request to a proxy", 400)
    read = tuple((field[1].lower(), field[2].rstrip(" \t")) for field in fields if field)
    if len(read) < len(fields):
        return Refused("a header of the request cannot be read", 400)
    return Head(found[1], found[2], found[3], read)


def read_request(head: Head) -> Tunnel | Fetch | Refused:
    """Read where it wants to go and what shall be passed on. Never raises."""
    try:
        if head.method == "CONNECT":
            return Tunnel(read_place(_as_written(head.target)))
        return _read_fetch(head)
    except Invalid as error:
        return Refused(error.message)


def _read_fetch(head: Head) -> Fetch | Refused:
    found = _ABSOLUTE.fullmatch(head.target)
    if found is None:
        shown = one_line(_as_written(head.target))
        return Refused(f"{shown!r} is no http:// address; https goes by CONNECT")
    size = _body_bytes(head)
    if isinstance(size, Refused):
        return size
    place = read_place(_as_written(found["authority"]), HTTP_PORT)
    rest = found["rest"] or "/"
    path = rest if rest.startswith("/") else f"/{rest}"
    return Fetch(place, _passed_on(head, place, path), size)


def _body_bytes(head: Head) -> int | Refused:
    if head.values("transfer-encoding"):
        return Refused("over plain HTTP a body needs a Content-Length", 411)
    match head.values("content-length"):
        case []:
            return 0
        case [value] if _LENGTH.fullmatch(value):
            return int(value)
        case _:
            return Refused("the Content-Length of the request is not clear", 400)


def _passed_on(head: Head, place: Place, path: str) -> bytes:
    """Write the request for the server: it learns the host that was judged, and no token.

    One exchange a connection: what would follow could name another host.
    """
    listed = ",".join(head.values("connection")).lower().split(",")
    dropped = _NOT_PASSED_ON.union(map(str.strip, listed)) - {"content-length"}
    fields = [f"{name}: {value}" for name, value in head.fields if name not in dropped]
    first = f"{head.method} {path} {head.version}"
    lines = [first, f"Host: {place.authority}", *fields, "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _password(authorization: str) -> str:
    scheme, _, encoded = authorization.partition(" ")
    try:
        pair = base64.b64decode(encoded.strip(), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return ""
    return pair.partition(":")[2] if scheme.lower() == "basic" else ""


def _as_written(text: str) -> str:
    """Undo the decoding of a head: programs write names as UTF-8 when not in punycode."""
    return text.encode("latin-1").decode("utf-8", "replace")
