"""The durable stop latch; standard library only, since it must work when all else hangs."""

import fcntl
import json
import os
import time

SIZE = 512
UNKNOWN = "unknown"
_LATCH = "latch"
_PREPARED = "prepared"
_LONGEST_NAME = 40
_GUARD_TRIES = 50
_GUARD_PAUSE_S = 0.01
_UNREADABLE = (OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError)


class BrakeError(ValueError):
    """A release that did not happen: wrong stop, no stop, another one under way, a failing disk."""


class Stop:
    """A stop in force. `stop_id` is "unknown" when the latch cannot be read: that is a stop too."""

    __slots__ = ("by", "reason", "scope", "since_ms", "stop_id")

    def __init__(self, stop_id: str, reason: str, by: str, since_ms: int, scope: str) -> None:
        self.stop_id = stop_id
        self.reason = reason
        self.by = by
        self.since_ms = since_ms
        self.scope = scope

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stop) and _fields(self) == _fields(other)

    def __hash__(self) -> int:
        return hash(self.stop_id)

    def __repr__(self) -> str:
        return f"Stop({_fields(self)})"


class Brake:
    """A latch of fixed size in its own private folder, overwritten in place (P03, S03).

    It holds until a person releases it by naming the stop: neither age nor reboot lifts it.
    Whatever is not plainly "off" is on: a missing, damaged or unreadable latch is a stop called
    "unknown".
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = os.fspath(folder)
        self._latch = os.path.join(self._folder, _LATCH)

    def prepare(self) -> None:
        """Create the latch of a new home, off; never lifts: one gone missing is made again, on."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        marker = os.path.join(self._folder, _PREPARED)
        first = None
        if os.path.exists(marker):
            first = Stop(UNKNOWN, "the latch was gone when amiral started", "", 0, "all")
        if not os.path.lexists(self._latch):
            _create(self._latch, _encode(first))
        os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        _sync_folder(self._folder)

    def state(self) -> Stop | None:
        """The stop in force, or None. Never raises, costs one small read."""
        try:
            return _decode(_read(self._latch))
        except _UNREADABLE as error:
            return Stop(UNKNOWN, f"the latch cannot be read: {error}", "", 0, "all")

    def engage(self, reason: str, by: str, now_ms: int, scope: str = "all") -> Stop:
        """Stop. When a stop is in force already it stays and is returned.

        Works on a full disk. When even overwriting fails the latch is removed, which is a stop
        called "unknown"; OSError only when the disk refuses that too and no stop is in force. A
        release under way is waited for, shortly: it must not swallow this stop.
        """
        guard = self._guard_shortly()
        try:
            return self._engage(reason, by, now_ms, scope)
        finally:
            if guard is not None:
                os.close(guard)

    def _guard_shortly(self) -> int | None:
        """Take the folder's lock; None when it cannot be had in time: a stop goes on without."""
        try:
            guard = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return None
        for _ in range(_GUARD_TRIES):
            try:
                fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                time.sleep(_GUARD_PAUSE_S)
            else:
                return guard
        os.close(guard)
        return None

    def _engage(self, reason: str, by: str, now_ms: int, scope: str) -> Stop:
        there = self.state()
        if there is not None and there.stop_id != UNKNOWN:
            return there
        stop = Stop(os.urandom(4).hex(), reason, by, now_ms, scope)
        try:
            _overwrite(self._latch, _encode(stop))
        except OSError:
            self._remove_latch()
        return self.state() or stop

    def release(self, stop_id: str) -> None:
        """Lift exactly this stop; BrakeError names the one in force otherwise."""
        try:
            guard = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._release(stop_id)
            finally:
                os.close(guard)
        except BlockingIOError as error:
            raise BrakeError("another release is under way: look again, then repeat") from error
        except OSError as error:
            raise BrakeError(f"the latch cannot be released, the stop holds: {error}") from error

    def _remove_latch(self) -> None:
        try:
            os.unlink(self._latch)
            _sync_folder(self._folder)
        except OSError:
            if self.state() is None:
                raise

    def _release(self, stop_id: str) -> None:
        stop = self.state()
        if stop is None:
            raise BrakeError(f"no stop is in force, so there is no {stop_id!r} to release")
        if stop.stop_id != stop_id:
            raise BrakeError(f"the stop in force is {stop.stop_id!r}, not {stop_id!r}")
        _overwrite(self._latch, _encode(None))
        _sync_folder(self._folder)


def _fields(stop: Stop) -> dict[str, str | int]:
    return {
        "stop_id": stop.stop_id,
        "reason": stop.reason,
        "by": stop.by,
        "since_ms": stop.since_ms,
        "scope": stop.scope,
    }


def _encode(stop: Stop | None) -> bytes:
    """Exactly SIZE bytes; a reason too long for them is cut."""
    if stop is None:
        return _pad({"state": "off"})
    fields = _fields(stop) | {"by": stop.by[:_LONGEST_NAME], "scope": stop.scope[:_LONGEST_NAME]}
    reason = stop.reason[:SIZE]
    data = _pad({"state": "on", **fields, "reason": reason})
    while len(data) > SIZE:
        reason = reason[:-8]
        data = _pad({"state": "on", **fields, "reason": reason + "…"})
    return data


def _pad(fields: dict[str, str | int]) -> bytes:
    text = json.dumps(fields, ensure_ascii=False)
    return text.encode("utf-8", "replace").ljust(SIZE - 1) + b"\n"


def _decode(data: bytes) -> Stop | None:
    if len(data) != SIZE:
        raise ValueError(f"{len(data)} bytes instead of {SIZE}")
    fields = json.loads(data)
    if fields == {"state": "off"}:
        return None
    stop_id, reason, by, scope = (str(fields[key]) for key in ("stop_id", "reason", "by", "scope"))
    return Stop(stop_id, reason, by, int(fields["since_ms"]), scope)


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return os.read(descriptor, SIZE + 1)
    finally:
        os.close(descriptor)


def _overwrite(path: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        if os.pwrite(descriptor, data, 0) != len(data):
            raise OSError(f"{path}: written in part only")
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _create(path: str, data: bytes) -> None:
    """Bring the latch into being whole, and never over one that appeared meanwhile."""
    draft = f"{path}.{os.getpid()}"
    try:
        _overwrite(draft, data)
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        if os.path.lexists(draft):
            os.unlink(draft)


def _sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
