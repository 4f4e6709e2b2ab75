"""Files of fixed size, overwritten in place, that say which stops and freezes are in force.

Standard library only. Whatever is not plainly readable raises; `store/brake.py` makes a stop of it.
"""

import binascii
import json
import os
import time

ALL = "all"
UNKNOWN = "unknown"
STOP, FREEZE = "stop", "freeze"
SIZE = 512
MARKS_SIZE = 8192
UNREADABLE = (OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError)

_LONGEST_NAME = 40
_LONGEST_SCOPE = 2 * _LONGEST_NAME + 1
_LONGEST_MARK_REASON = 120
_SUM_BYTES = 9
_LOOKS = 3
_PAUSE_S = 0.001


class Stop:
    """A stop or a freeze in force. `stop_id` is "unknown" when its file cannot be read: a stop too.

    `scope` is "all", a project's id, or `project-id/worker`; `grace_ms` is how long the gentle
    levels of a stop may take before whoever watches over it kills.
    """

    __slots__ = ("by", "grace_ms", "kind", "reason", "scope", "since_ms", "stop_id")

    def __init__(  # noqa: PLR0913 one value for each field of the file
        self,
        stop_id: str,
        reason: str,
        by: str,
        since_ms: int,
        scope: str,
        kind: str = STOP,
        *,
        grace_ms: int = 0,
    ) -> None:
        self.stop_id = stop_id
        self.reason = reason
        self.by = by
        self.since_ms = since_ms
        self.scope = scope
        self.kind = kind
        self.grace_ms = grace_ms

    @property
    def is_freeze(self) -> bool:
        """Whether it only pauses; a stop has ended what was running."""
        return self.kind == FREEZE

    @property
    def name(self) -> str:
        """Name it for people."""
        return f"{self.kind} {self.stop_id}"

    @property
    def way_out(self) -> str:
        """Give the command by which a person lifts it."""
        if not self.is_freeze:
            return f"amiral release {self.stop_id}"
        return "amiral thaw" if self.scope == ALL else f"amiral thaw {self.scope}"

    def covers(self, project: str, worker: str) -> bool:
        """Tell whether this worker of this project (by ids, "" for none) is meant."""
        if self.scope in (ALL, project):
            return True
        return bool(project and worker) and self.scope == f"{project}/{worker}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stop) and _fields(self) == _fields(other)

    def __hash__(self) -> int:
        return hash(self.stop_id)

    def __repr__(self) -> str:
        return f"Stop({_fields(self)})"


def encode(stop: Stop | None) -> bytes:
    """Write the fleet's latch, exactly SIZE bytes; a reason too long for them is cut."""
    if stop is None:
        return _pad({"state": "off"}, SIZE)
    fields = _fields(stop) | {"by": stop.by[:_LONGEST_NAME], "scope": stop.scope[:_LONGEST_NAME]}
    reason = stop.reason[:SIZE]
    data = _pad({"state": "on", **fields, "reason": reason}, SIZE)
    while len(data) > SIZE:
        reason = reason[:-8]
        data = _pad({"state": "on", **fields, "reason": reason + "…"}, SIZE)
    return data


def decode(data: bytes) -> Stop | None:
    """Read the fleet's latch; raises one of UNREADABLE for what is not plainly on or off."""
    if len(data) != SIZE:
        raise ValueError(f"{len(data)} bytes instead of {SIZE}")
    fields = json.loads(data)
    return None if fields == {"state": "off"} else _stop(fields)


def encode_marks(marks: list[Stop]) -> bytes:
    """Write what is in force beside the latch, exactly MARKS_SIZE bytes; OSError when too much."""
    told = [
        _fields(one) | {"by": one.by[:_LONGEST_NAME], "reason": one.reason[:_LONGEST_MARK_REASON]}
        for one in marks
    ]
    if any(len(one.scope) > _LONGEST_SCOPE for one in marks):
        raise OSError("its name is too long")
    data = _pad(told, MARKS_SIZE - _SUM_BYTES)
    if len(data) > MARKS_SIZE - _SUM_BYTES:
        raise OSError("there is no room for another one")
    return data + b"%08x\n" % binascii.crc32(data)


def decode_marks(data: bytes) -> list[Stop]:
    """Read what is in force beside the latch; raises one of UNREADABLE when it was torn."""
    if len(data) != MARKS_SIZE:
        raise ValueError(f"{len(data)} bytes instead of {MARKS_SIZE}")
    told, check = data[:-_SUM_BYTES], data[-_SUM_BYTES:]
    if check != b"%08x\n" % binascii.crc32(told):
        raise ValueError("its sum is wrong")
    return [_stop(fields) for fields in json.loads(told)]


def read(path: str, size: int) -> bytes:
    """Read a file whole, and one byte more when it is longer than it may be."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return os.read(descriptor, size + 1)
    finally:
        os.close(descriptor)


def read_latch(path: str) -> Stop | None:
    """Read the fleet's latch, again when it is just being written."""
    for _ in range(_LOOKS - 1):
        try:
            return decode(read(path, SIZE))
        except UNREADABLE:
            time.sleep(_PAUSE_S)
    return decode(read(path, SIZE))


def read_marks(path: str) -> list[Stop]:
    """Read the marks, again when they are just being written."""
    for _ in range(_LOOKS - 1):
        try:
            return _marks_in(path)
        except FileNotFoundError:
            raise
        except UNREADABLE:
            time.sleep(_PAUSE_S)
    return _marks_in(path)


def whole_marks(path: str) -> list[Stop]:
    """Give every mark that a file, however damaged, still names whole; OSError when it is shut."""
    try:
        text = read(path, MARKS_SIZE).decode("utf-8", "ignore")
    except FileNotFoundError:
        return []
    found: dict[str, Stop] = {}
    at = text.find("{")
    while at >= 0:
        try:
            fields, end = _DECODER.raw_decode(text, at)
            mark = _stop(fields)
            found.setdefault(mark.stop_id, mark)
        except UNREADABLE:
            end = at + 1
        at = text.find("{", end)
    return list(found.values())


def overwrite(path: str, data: bytes) -> None:
    """Replace the bytes of a file in place, which needs no room; OSError when the disk refuses."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        if os.pwrite(descriptor, data, 0) != len(data):
            raise OSError(f"{path}: written in part only")
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create(path: str, data: bytes) -> None:
    """Bring a file into being whole, and never over one that appeared meanwhile."""
    draft = f"{path}.{os.getpid()}"
    try:
        overwrite(draft, data)
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        if os.path.lexists(draft):
            os.unlink(draft)


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _marks_in(path: str) -> list[Stop]:
    data = read(path, MARKS_SIZE)
    return [] if data == _NO_MARKS else decode_marks(data)


def _fields(stop: Stop) -> dict[str, str | int]:
    return {
        "stop_id": stop.stop_id,
        "reason": stop.reason,
        "by": stop.by,
        "since_ms": stop.since_ms,
        "scope": stop.scope,
        "kind": stop.kind,
        "grace_ms": stop.grace_ms,
    }


def _stop(fields: dict[str, str | int]) -> Stop:
    stop_id, reason, by, scope = (str(fields[key]) for key in ("stop_id", "reason", "by", "scope"))
    kind = FREEZE if fields.get("kind") == FREEZE else STOP
    since_ms, grace_ms = int(fields["since_ms"]), int(fields.get("grace_ms", 0))
    return Stop(stop_id, reason, by, since_ms, scope, kind, grace_ms=grace_ms)


def _pad(told: object, size: int) -> bytes:
    text = json.dumps(told, ensure_ascii=False)
    return text.encode("utf-8", "replace").ljust(size - 1) + b"\n"


_DECODER = json.JSONDecoder()
_NO_MARKS = encode_marks([])
