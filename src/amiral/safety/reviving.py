"""Starts the hub again when it was killed: the guard looks after it, as it does after the guard.

Standard library only. Only a hub that `amiral up` began is wanted: one that a service manager keeps
has somebody to start it. `amiral down` and the end of `amiral up` lift the wish.
"""

import contextlib
import os
import sys
import time

from amiral.safety.pulse import is_held

HUB = "hub"

_WISH, _LOCK, _LOG = "wanted", "lock", "process.log"
_LARGEST_LOG = 4 << 20
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _WELL_S = 4.0, 60.0, 120.0
_LONGEST = 64


def lock_path(home: str) -> str:
    """Name what the hub of a home holds as long as it lives."""
    return os.path.join(home, HUB, _LOCK)


def log_path(home: str) -> str:
    """Name what a hub in the background prints to."""
    return os.path.join(home, HUB, _LOG)


def want(home: str, port: int | None) -> None:
    """Have the hub started again whenever it is gone, at this port if one was asked for."""
    text = "" if port is None else str(port)
    file = os.open(_wish(home), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def want_no_more(home: str) -> None:
    """Let the hub be gone."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_wish(home))


class Reviving:
    """What the guard does for the hub; after a start that did not last the pauses grow."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._pause_s = _FIRST_PAUSE_S
        self._started_s = -_LONGEST_PAUSE_S

    def look(self) -> str:
        """Start the hub if it is wanted and gone; tells what was done, "" when nothing."""
        port = _wanted(self._home)
        if port is None or is_held(lock_path(self._home)):
            return ""
        since_s = time.monotonic() - self._started_s
        if since_s < self._pause_s:
            return ""
        is_first = since_s > _WELL_S
        self._pause_s = _FIRST_PAUSE_S if is_first else min(2 * self._pause_s, _LONGEST_PAUSE_S)
        self._started_s = time.monotonic()
        return f"the hub was gone and is started again: process {_start(self._home, port)}"


def _wish(home: str) -> str:
    return os.path.join(home, HUB, _WISH)


def _wanted(home: str) -> str | None:
    """Give the port asked for, "" for none, or None when no hub is wanted."""
    try:
        with open(_wish(home), encoding="ascii") as file:
            text = file.read(_LONGEST)
    except (OSError, ValueError):
        return None
    return text if text.isdigit() else ""


def _start(home: str, port: str) -> int:
    # Nothing of whatever folder we are in may pass for a module of ours.
    argv = [sys.executable, "-P", "-m", "amiral", "hub", "--json"]
    argv += ["--port", port] if port else []
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    log = log_path(home)
    _put_aside(log)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, flags, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(sys.executable, argv, os.environ, file_actions=actions, setsid=True)


def _put_aside(log: str) -> None:
    """Begin a log anew that has grown too large: nobody writes to it, for the hub is gone."""
    with contextlib.suppress(OSError):
        if os.path.getsize(log) > _LARGEST_LOG:
            os.replace(log, f"{log}.1")
