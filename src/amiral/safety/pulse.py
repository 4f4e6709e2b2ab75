"""The guard's lock and its sign of life, and how others read them. Standard library only.

The lock tells that one runs: the kernel drops it with its process (R30). The file beside it, of
fixed size and overwritten in place, so that a full disk is no death, tells that it still looks
(S09): sequence, boot id, pid, start time and monotonic time stand inside.
"""

import fcntl
import json
import os
import time

from amiral.processes.tree import Identity, boot_id, identify

FOLDER = "guard"

_SIZE = 1024
_LONGEST_TOLD = 120
_LOCK, _BEAT = "lock", "beat.json"
_STALE_S = 15.0
_TRIES = 5
_PAUSE_S = 0.02


class Pulse:
    """What is known of the guard: `is_running`, or `hangs` when it lives and does not look.

    `process` is the one that beat last, None when no beat can be read. It may be dead by now, and
    its number another's: signal it by this identity alone.
    """

    __slots__ = ("age_s", "is_held", "process", "told")

    def __init__(
        self, process: Identity | None, age_s: float | None, told: str, *, is_held: bool
    ) -> None:
        self.process = process
        self.age_s = age_s
        self.told = told
        self.is_held = is_held

    @property
    def pid(self) -> int:
        """Its number for people, 0 when unknown."""
        return self.process.pid if self.process else 0

    @property
    def is_running(self) -> bool:
        """Whether it lives and has looked at the brake not long ago."""
        return self.is_held and self.age_s is not None and self.age_s < _STALE_S

    @property
    def text(self) -> str:
        """Say it for people."""
        if self.is_running:
            return f"guard running (process {self.pid})"
        if self.is_held:
            return f"the guard hangs (process {self.pid}): end it, another takes its place"
        return "no guard runs: amiral guard"


def take(home: str) -> int | None:
    """Become the one guard of a home; None when there is one already."""
    folder = os.path.join(home, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for _ in range(_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            # Whoever looks whether one runs holds it for a moment.
            time.sleep(_PAUSE_S)
        else:
            return lock
    os.close(lock)
    return None


def beat(home: str, number: int, told: str) -> None:
    """Show that we look; `told` is the last thing done, in one short line."""
    me = identify(os.getpid())
    fields = {
        "seq": number,
        "boot_id": boot_id(),
        "pid": os.getpid(),
        "start": me.start if me else 0,
        "mono_s": round(time.monotonic(), 3),
        "told": told[:_LONGEST_TOLD],
    }
    data = json.dumps(fields).encode()[: _SIZE - 1].ljust(_SIZE - 1) + b"\n"
    path = os.path.join(home, FOLDER, _BEAT)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.pwrite(file, data, 0)
    finally:
        os.close(file)


def pulse_of(home: str) -> Pulse:
    """Look whether a guard runs; never raises, changes nothing."""
    process, age_s, told = _last(home)
    return Pulse(process, age_s, told, is_held=is_held(os.path.join(home, FOLDER, _LOCK)))


def _last(home: str) -> tuple[Identity | None, float | None, str]:
    try:
        with open(os.path.join(home, FOLDER, _BEAT), "rb") as file:
            fields = json.loads(file.read(_SIZE))
        age_s = time.monotonic() - float(fields["mono_s"])
        is_ours = fields["boot_id"] == boot_id() and age_s > -1.0
        # A guard of before there was a start time in it is no process that could be signalled.
        process = Identity(str(fields["boot_id"]), int(fields["pid"]), int(fields.get("start", 0)))
        return process, max(0.0, age_s) if is_ours else None, str(fields["told"])
    except (OSError, ValueError, LookupError, TypeError):
        return None, None, ""


def is_held(path: str) -> bool:
    """Tell whether a living process holds a lock."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False
