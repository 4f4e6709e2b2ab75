"""The gentle levels of a stop, by each session's own shim: interrupt its turn, then close it.

Standard library only; the project's process may be dead. Level 1 writes the lines that its driver
has prepared, level 2 closes the CLI's input, nothing else is ever sent. A level has worked when the
turn's file is gone, or the CLI: what has not ended is left to the next level.
"""

import _socket
import json
import os
import select
import time
from collections.abc import Callable, Iterable

from amiral.safety.working import Working

INTERRUPT, CLOSE, KILL = 1, 2, 3

_HELLO_S = 0.5
_LOOK_S = 0.01
_READ_BYTES = 65536
_PROTOCOL = 1
_OBSERVER = -1


class _Line:
    """A connection to one session's shim."""

    def __init__(self, session: Working) -> None:
        self.session = session
        self.token: int | None = None
        self._arrived = b""
        self._link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        os.set_blocking(self._link.fileno(), False)
        try:
            self._link.connect(session.socket)
        except OSError:
            self.close()

    @property
    def handle(self) -> int:
        """Its descriptor, -1 once it is closed."""
        return self._link.fileno()

    def ask(self, **request: object) -> None:
        """Send one request; a shim that takes none counts as gone."""
        data = json.dumps(request).encode() + b"\n"
        try:
            if self.handle >= 0 and self._link.send(data) != len(data):
                self.close()
        except OSError:
            self.close()

    def hear(self) -> None:
        """Read what has come; the answer to the first hello names the token of the owner."""
        try:
            chunk = self._link.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
        self._arrived += chunk
        *lines, self._arrived = self._arrived.split(b"\n")
        for line in lines:
            told = json.loads(line)
            if told.get("n") == 0 and self.token is None:
                self.token = int(told["token"])

    def close(self) -> None:
        """Hang up."""
        self._link.close()


def end_gently(sessions: Iterable[Working], level: int, grace_s: float) -> dict[str, int]:
    """Go from `level` up to closing, `grace_s` each; tells by folder the level that has worked.

    All sessions at once: one that hangs delays no other. What is not named is for KILL.
    """
    reached: dict[str, int] = {}
    lines = _greeted([one for one in sessions if one.is_running])
    try:
        if level <= INTERRUPT:
            busy = [line for line in lines if _interrupt(line)]
            for line in _those_ended(
                busy, lambda one: not (one.is_busy and one.is_running), grace_s
            ):
                reached[line.session.folder] = INTERRUPT
        for line in lines:
            line.ask(op="close", n=2)
        for line in _those_ended(lines, lambda one: one.is_over, grace_s):
            reached.setdefault(line.session.folder, CLOSE)
    finally:
        for line in lines:
            line.close()
    return reached


def _greeted(sessions: list[Working]) -> list[_Line]:
    """Become a writer beside the owner: with its token, which fences nobody out."""
    lines = [_Line(one) for one in sessions if one.socket]
    for line in lines:
        line.ask(op="hello", n=0, protocol=_PROTOCOL, token=_OBSERVER)
    until = time.monotonic() + _HELLO_S
    while waiting := [one for one in lines if one.handle >= 0 and one.token is None]:
        left_s = until - time.monotonic()
        if left_s <= 0:
            break
        _hear(waiting, left_s)
    greeted = [one for one in lines if one.handle >= 0 and one.token is not None]
    for line in lines:
        if line not in greeted:
            line.close()
    for line in greeted:
        line.ask(op="hello", n=1, protocol=_PROTOCOL, token=line.token)
    return greeted


def _hear(lines: list[_Line], seconds: float) -> None:
    poller = select.poll()
    by_handle = {one.handle: one for one in lines}
    for handle in by_handle:
        poller.register(handle, select.POLLIN)
    for handle, _ in poller.poll(seconds * 1000):
        try:
            by_handle[handle].hear()
        except (ValueError, LookupError, TypeError, AttributeError):
            by_handle[handle].close()


def _interrupt(line: _Line) -> bool:
    """Write what interrupts the session's turn; False when none runs or nobody knows how."""
    turn = line.session.turn()
    for key, data in turn.interrupt if turn else ():
        line.ask(op="input", n=3, id=key, data=data)
    return turn is not None and bool(turn.interrupt)


def _those_ended(
    lines: list[_Line], is_ended: Callable[[Working], bool], grace_s: float
) -> list[_Line]:
    """Give those for which it became true within the grace."""
    ended: list[_Line] = []
    until, waiting = time.monotonic() + grace_s, list(lines)
    while waiting and time.monotonic() < until:
        time.sleep(_LOOK_S)
        now = [one for one in waiting if is_ended(one.session)]
        ended += now
        waiting = [one for one in waiting if one not in now]
    return ended
