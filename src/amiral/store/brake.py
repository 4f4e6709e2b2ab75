"""The durable brake: which stops and freezes hold; standard library only, for all else may hang."""

import fcntl
import os
import time
from collections.abc import Callable

from amiral.store import latch
from amiral.store.latch import ALL, FREEZE, STOP, UNKNOWN, UNREADABLE, Stop

_LATCH, _MARKS = "latch", "marks"
_MADE = {_LATCH: "prepared", _MARKS: "prepared.marks"}
_TRIES = 50
_PAUSE_S = 0.01


class BrakeError(ValueError):
    """A release that did not happen: wrong stop, no stop, another one under way, a failing disk."""


class Brake:
    """Two files of fixed size in a private folder, overwritten in place (P03, S03).

    `latch` holds a stop of everything, `marks` every narrower stop and every freeze. They hold
    until a person lifts them by name: neither age nor reboot does. Whatever is not plainly "off" is
    on: a missing, damaged or unreadable file is a stop of everything called "unknown". `project`
    is the id of the project whose processes look here, "" for who serves none.
    """

    def __init__(self, folder: str | os.PathLike[str], project: str = "") -> None:
        self._folder = os.fspath(folder)
        self._project = project
        self._latch = os.path.join(self._folder, _LATCH)
        self._marks = os.path.join(self._folder, _MARKS)

    def prepare(self) -> None:
        """Create the files of a new home, off; never lifts: one gone missing is made again, on."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        for path, name in ((self._latch, _LATCH), (self._marks, _MARKS)):
            marker = os.path.join(self._folder, _MADE[name])
            lost = None
            if os.path.exists(marker):
                lost = Stop(UNKNOWN, f"the {name} was gone when amiral started", "", 0, ALL)
            if not os.path.lexists(path):
                first = [lost] if lost else []
                is_latch = name == _LATCH
                latch.create(path, latch.encode(lost) if is_latch else latch.encode_marks(first))
            os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        latch.sync_folder(self._folder)

    def state(self, worker: str = "") -> Stop | None:
        """What keeps this project, or this worker of it, from going on; None when nothing does.

        Never raises, costs two small reads.
        """
        fleet = self._fleet()
        if fleet is not None:
            return fleet
        return next((one for one in self._others() if one.covers(self._project, worker)), None)

    def every(self) -> list[Stop]:
        """List all that is in force, of whatever scope: stops first."""
        fleet = self._fleet()
        return [*([fleet] if fleet else []), *self._others()]

    def here(self) -> list[Stop]:
        """List what is in force for this project or any worker of it; all, for who serves none."""
        mine = (ALL, self._project)
        there = self.every()
        return [one for one in there if not self._project or one.scope.partition("/")[0] in mine]

    def engage(
        self, reason: str, by: str, now_ms: int, scope: str = ALL, grace_ms: int = 0
    ) -> Stop:
        """Stop a scope. When a stop of it is in force already it stays and is returned.

        Works on a full disk. What cannot be latched for its scope alone stops everything: the
        `scope` of what is returned tells. When even overwriting fails the latch is removed, which
        is a stop called "unknown"; OSError only when the disk refuses that too and no stop is in
        force. A release under way is waited for, shortly: it must not swallow this stop.
        """
        stop = Stop(os.urandom(4).hex(), reason, by, now_ms, scope, STOP, grace_ms=grace_ms)
        lock = self._lock_shortly()
        try:
            if scope != ALL:
                try:
                    return self._add(stop, is_locked=lock is not None)
                except OSError as error:
                    why = f"not {scope} alone, {error}: {reason}"
                    stop = Stop(stop.stop_id, why, by, now_ms, ALL, STOP, grace_ms=grace_ms)
            return self._engage(stop)
        finally:
            if lock is not None:
                os.close(lock)

    def freeze(self, reason: str, by: str, now_ms: int, scope: str = ALL) -> Stop:
        """Have nothing of a scope start until it is thawed; OSError when the disk refuses."""
        stop = Stop(os.urandom(4).hex(), reason, by, now_ms, scope, FREEZE)
        lock = self._lock_shortly()
        try:
            return self._add(stop, is_locked=lock is not None)
        finally:
            if lock is not None:
                os.close(lock)

    def release(self, stop_id: str) -> None:
        """Lift exactly this stop; BrakeError names those in force otherwise.

        Of damaged marks, whose stop is "unknown", all that is still whole in there stays in force.
        """
        self._locked(lambda: self._release(stop_id))

    def thaw(self, scope: str) -> None:
        """Lift the freeze of exactly this scope; BrakeError names what is frozen otherwise."""
        self._locked(lambda: self._thaw(scope))

    def _fleet(self) -> Stop | None:
        try:
            return latch.read_latch(self._latch)
        except UNREADABLE as error:
            return Stop(UNKNOWN, f"the latch cannot be read: {error}", "", 0, ALL)

    def _others(self) -> list[Stop]:
        try:
            return latch.read_marks(self._marks)
        except FileNotFoundError as error:
            # A home of before there were marks has none.
            if not os.path.lexists(os.path.join(self._folder, _MADE[_MARKS])):
                return []
            return [Stop(UNKNOWN, f"the marks cannot be read: {error}", "", 0, ALL)]
        except UNREADABLE as error:
            return [Stop(UNKNOWN, f"the marks cannot be read: {error}", "", 0, ALL)]

    def _engage(self, stop: Stop) -> Stop:
        there = self._fleet()
        if there is not None and there.stop_id != UNKNOWN:
            return there
        try:
            latch.overwrite(self._latch, latch.encode(stop))
        except OSError:
            self._remove_latch()
        return self._fleet() or stop

    def _add(self, stop: Stop, *, is_locked: bool) -> Stop:
        marks = self._others()
        same = (one for one in marks if (one.kind, one.scope) == (stop.kind, stop.scope))
        there = next(same, None)
        if there is not None:
            return there
        if not is_locked:
            raise OSError("another change of the brake is under way")
        if any(one.stop_id == UNKNOWN for one in marks):
            raise OSError(marks[0].reason)
        added = sorted([*marks, stop], key=lambda one: one.is_freeze)
        latch.overwrite(self._marks, latch.encode_marks(added))
        now = self._others()
        return next((one for one in now if one.stop_id == stop.stop_id), now[0])

    def _remove_latch(self) -> None:
        try:
            os.unlink(self._latch)
            latch.sync_folder(self._folder)
        except OSError:
            if self._fleet() is None:
                raise

    def _release(self, stop_id: str) -> None:
        fleet, marks = self._fleet(), self._others()
        stops = [one.stop_id for one in self.every() if not one.is_freeze]
        if not stops:
            raise BrakeError(f"no stop is in force, so there is no {stop_id!r} to release")
        if stop_id not in stops:
            are = "stop in force is" if len(stops) == 1 else "stops in force are"
            raise BrakeError(f"the {are} {', '.join(map(repr, stops))}, not {stop_id!r}")
        # The latch last: killed in between, more is in force than shall be and never less.
        if any(one.stop_id == stop_id for one in marks):
            there = latch.whole_marks(self._marks) if stop_id == UNKNOWN else marks
            left = [one for one in there if one.stop_id != stop_id]
            latch.overwrite(self._marks, latch.encode_marks(left))
        if fleet is not None and fleet.stop_id == stop_id:
            latch.overwrite(self._latch, latch.encode(None))
        latch.sync_folder(self._folder)

    def _thaw(self, scope: str) -> None:
        marks = self._others()
        frozen = [one.scope for one in marks if one.is_freeze]
        if scope not in frozen:
            raise BrakeError(f"{scope} is not frozen; frozen: {', '.join(frozen) or 'nothing'}")
        left = [one for one in marks if not (one.is_freeze and one.scope == scope)]
        latch.overwrite(self._marks, latch.encode_marks(left))
        latch.sync_folder(self._folder)

    def _locked(self, change: Callable[[], None]) -> None:
        try:
            lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                change()
            finally:
                os.close(lock)
        except BlockingIOError as error:
            raise BrakeError("another release is under way: look again, then repeat") from error
        except OSError as error:
            raise BrakeError(f"the latch cannot be released, the stop holds: {error}") from error

    def _lock_shortly(self) -> int | None:
        """Take the folder's lock; None when it cannot be had in time: a stop goes on without."""
        try:
            lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return None
        for _ in range(_TRIES):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                time.sleep(_PAUSE_S)
            else:
                return lock
        os.close(lock)
        return None
