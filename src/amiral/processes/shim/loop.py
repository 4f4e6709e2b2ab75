# ruff: noqa: TID251
"""The loop of a shim: who is connected, which pipe is ready, when it is over.

Standard library only, one thread, waits for nobody. Started by `python -I -S -c SHIM_CODE ROOT
SOCKET` with the listening socket as its stdin: its owner may connect before it has begun.
"""

import _socket
import os
import select
import signal
import time
from collections.abc import Callable

from amiral.processes import syscalls
from amiral.processes.peer import peer_of
from amiral.processes.shim.durable import remove
from amiral.processes.shim.program import Program
from amiral.processes.shim.requests import Requests
from amiral.processes.shim.wire import Connection
from amiral.processes.tree import TAG_VARIABLE

SHIM_CODE = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from amiral.processes.shim.loop import main; main(sys.argv[2])"
)
IDLE_S = 600.0
_FAREWELL_S = 1.0
_MAX_CONNECTIONS = 64
_IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

Interest = dict[int, tuple[int, Callable[[], object]]]


class Shim:
    """One shim. Each round asks anew what to wait for: nothing is registered, nothing forgotten."""

    def __init__(self, path: str, listener: _socket.socket, wake: int, idle_s: float) -> None:
        self._listener = listener
        self._wake = wake
        self._home = os.environ.get(TAG_VARIABLE, "").partition(":")[0]
        self._requests = Requests(path)
        self._idle_until = time.monotonic() + idle_s
        self._leave_by: float | None = None

    def run(self) -> None:
        """Serve until there is nothing left to mind."""
        try:
            while not self._is_done():
                self._round()
        finally:
            self._requests.let_go()

    def _round(self) -> None:
        interest = self._interest()
        poller = select.poll()
        for handle, (events, _) in interest.items():
            poller.register(handle, events)
        for handle, _ in poller.poll(self._timeout_ms()):
            interest[handle][1]()
        self._tend()

    def _interest(self) -> Interest:
        wanted: Interest = {
            self._listener.fileno(): (select.POLLIN, self._accept_all),
            self._wake: (select.POLLIN, self._reap),
        }
        for one in self._requests.connections:
            events = select.POLLIN if one.wants_requests else 0
            events |= select.POLLOUT if one.has_unsent else 0
            wanted[one.handle] = (events, _served(self._requests, one))
        if self._requests.program is not None:
            wanted |= _pipes_of(self._requests.program)
        return wanted

    def _accept_all(self) -> None:
        try:
            while True:
                # What `accept` of the socket module wraps; importing that is a sixth of our start.
                handle, _ = self._listener._accept()  # type: ignore[attr-defined]  # noqa: SLF001
                self._accept(_socket.socket(fileno=handle))
        except OSError:
            return

    def _accept(self, arrived: _socket.socket) -> None:
        os.set_blocking(arrived.fileno(), False)
        peer = peer_of(arrived, self._home)
        connection = Connection(arrived.detach())
        if peer.uid != os.getuid() or peer.below_shim:
            self._requests.turn_away(connection, "agents and other users have no say here")
        elif not self._has_place():
            self._requests.turn_away(connection, f"{_MAX_CONNECTIONS} are connected already")
        else:
            self._requests.connections.append(connection)

    def _has_place(self) -> bool:
        present = self._requests.connections
        if len(present) >= _MAX_CONNECTIONS:
            for stranger in [one for one in present if one.token is None][:1]:
                stranger.close()
                present.remove(stranger)
        return len(present) < _MAX_CONNECTIONS

    def _reap(self) -> None:
        os.read(self._wake, 4096)
        if self._requests.program is not None:
            self._requests.program.reap()

    def _tend(self) -> None:
        program = self._requests.program
        if program is not None:
            program.tend()
            if program.is_over and self._leave_by is None:
                self._leave_by = time.monotonic() + _FAREWELL_S
        self._requests.tend()

    def _timeout_ms(self) -> float:
        program = self._requests.program
        idle_until = min(self._idle_until, self._requests.hold_at() or self._idle_until)
        wake_at = self._leave_by or (program.wake_at() if program else idle_until)
        return -1 if wake_at is None else max(0.0, wake_at - time.monotonic()) * 1000 + 1

    def _is_done(self) -> bool:
        if self._leave_by is not None:
            is_heard = not any(one.has_unsent for one in self._requests.connections)
            return is_heard or time.monotonic() >= self._leave_by
        if self._requests.program is not None:
            return False
        return self._requests.is_unwanted or time.monotonic() >= self._idle_until


def _served(requests: Requests, one: Connection) -> Callable[[], None]:
    return lambda: requests.serve(one)


def _pipes_of(program: Program) -> Interest:
    wanted: Interest = {}
    if program.feed.is_waiting:
        wanted[program.feed.pipe] = (select.POLLOUT, program.feed.write)
    if program.has_room:
        wanted[program.stdout] = (select.POLLIN, program.read_output)
    if program.stderr >= 0:
        wanted[program.stderr] = (select.POLLIN, program.read_errors)
    return wanted


def main(path: str, idle_s: float = IDLE_S) -> None:
    """Run as a shim on the listening socket that is our stdin; `path` is its name."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    listener = _socket.socket(fileno=os.dup(0))
    os.set_blocking(listener.fileno(), False)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)
    syscalls.set_subreaper()
    try:
        Shim(path, listener, _wake_on_child(), idle_s).run()
    finally:
        remove(path)


def _wake_on_child() -> int:
    wake, waker = os.pipe()
    for end in (wake, waker):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return wake
