# ruff: noqa: TID251
"""The one CLI a shim minds: what it is told, what it prints, and its end.

Standard library only. Nothing here waits: the shim's loop calls `feed.write`, `read_output` and
`read_errors` when a pipe is ready, and `tend` after each round.
"""

import os
import time
from collections.abc import Callable

from amiral.processes import cgroup as cgroups
from amiral.processes import tree
from amiral.processes.failpoint import reach
from amiral.processes.proc import processes_now
from amiral.processes.shim.durable import write_json
from amiral.processes.shim.feed import Feed
from amiral.processes.shim.inputs import InputLog
from amiral.processes.shim.launch import Held
from amiral.processes.shim.output import Ring, Segments

KILL_DEADLINE_S = 10.0
_END_OF_FILE_S = 0.5
_RETRY_S = 0.5
_READ_BYTES = 64 << 10
_BOX_DEPTH = 2

Tell = Callable[[dict[str, object]], None]


class Files:
    """The open files of a session folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.log = InputLog(folder)
        self.out = Segments(folder)
        self.err = Ring(folder)

    def close(self) -> None:
        """Give them back to the system."""
        for file in (self.log, self.out, self.err):
            file.close()


class Program:
    """A launched CLI with its pipes and files. A closed pipe end is -1."""

    def __init__(self, held: Held, files: Files, session: str, tag: str, tell: Tell) -> None:
        self.session = session
        self.identity = held.identity
        self.cgroup = held.cgroup
        self.feed = Feed(held.stdin, files.log)
        self.stdout, self.stderr = held.stdout, held.stderr
        self.exit: dict[str, object] | None = None
        self.out = files.out
        self._is_boxed = held.is_boxed
        self._folder = files.folder
        self._err = files.err
        self._tag = tag
        self._tell = tell
        self._status: int | None = None
        self._ended_ms = 0
        self._end_of_file_by = 0.0
        self._survivors: int | None = None
        self._retry_at: float | None = None
        self._has_complained = False

    @property
    def is_over(self) -> bool:
        """Whether `exit.json` is on disk."""
        return self.exit is not None

    @property
    def has_room(self) -> bool:
        """Whether stdout may be read on; on a full disk the CLI waits, no byte is lost."""
        return self.stdout >= 0 and self._retry_at is None

    def wake_at(self) -> float | None:
        """Tell when `tend` has something to do even if no pipe moves (monotonic seconds)."""
        if self._retry_at is not None:
            return self._retry_at
        return None if self._status is None or self.is_over else self._end_of_file_by

    def read_output(self) -> bool:
        """Store what the CLI printed; False when there was nothing."""
        chunk = _read(self.stdout)
        if chunk == b"":
            os.close(self.stdout)
            self.stdout = -1
        elif chunk:
            self._store(chunk)
        return bool(chunk)

    def read_errors(self) -> bool:
        """Keep the end of what it said on stderr, so that its pipe never fills (R08)."""
        chunk = _read(self.stderr)
        if chunk == b"":
            os.close(self.stderr)
            self.stderr = -1
        elif chunk:
            self._err.append(chunk)
        return bool(chunk)

    def roots(self) -> tuple[tree.Identity, ...]:
        """Name what the tree hangs on: the shim itself, which is never signalled, and the CLI."""
        shim = tree.identify(os.getpid())
        return (self.identity,) if shim is None else (shim, self.identity)

    def signal(self, number: int, *, is_for_tree: bool) -> None:
        """Signal the CLI alone, or every process of its tree."""
        if is_for_tree:
            tree.signal_tree(self.roots(), self._tag, self.cgroup, number)
        elif self._status is None:
            os.kill(_in_box(self.identity.pid) if self._is_boxed else self.identity.pid, number)

    def kill(self) -> int:
        """Kill the tree until it is empty and return how many survived."""
        result = tree.kill_tree(self.roots(), self._tag, self.cgroup, KILL_DEADLINE_S)
        self.reap()
        return len(result.survivors)

    def reap(self) -> None:
        """Take leave of every dead child, adopted ones too; the CLI's own exit is the end."""
        try:
            while (dead := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                if dead[0] == self.identity.pid and self._status is None:
                    self._end(dead[1])
        except ChildProcessError:
            return

    def tend(self) -> None:
        """Retry what a full disk refused; after the CLI's exit, bring the session to its end."""
        now = time.monotonic()
        if self._retry_at is not None:
            if now < self._retry_at:
                return
            self._store(b"")
        if self._status is None or self.is_over or self._retry_at is not None:
            return
        if (self.stdout < 0 and self.stderr < 0) or now >= self._end_of_file_by:
            self._conclude()

    def _end(self, status: int) -> None:
        self._status = status
        self._ended_ms = time.time_ns() // 1_000_000
        self._end_of_file_by = time.monotonic() + _END_OF_FILE_S
        self.feed.end()

    def _conclude(self) -> None:
        if self._survivors is None:
            self._survivors = self.kill()
        while self.has_room and self.read_output():
            pass
        while self.stderr >= 0 and self.read_errors():
            pass
        if self._retry_at is None:
            self._write_exit()

    def _write_exit(self) -> None:
        code = os.waitstatus_to_exitcode(self._status or 0)
        ended: dict[str, object] = {
            "code": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "ended_ms": self._ended_ms,
            "survivors": self._survivors,
        }
        reach("shim.exit.before")
        try:
            write_json(self._folder, "exit.json", ended)
        except FileNotFoundError:
            # The folder was deleted: nobody will read it.
            pass
        except OSError as error:
            self._suspend(error)
            return
        self.exit = ended
        cgroups.remove_cgroup(self.cgroup)
        self._tell({"notice": "exit", "code": ended["code"], "signal": ended["signal"]})

    def _store(self, data: bytes) -> None:
        try:
            self.out.append(data)
        except FileNotFoundError:
            self.out.pending = b""
        except OSError as error:
            self._suspend(error)
            return
        self._retry_at = None
        self._has_complained = self._has_complained and not data

    def _suspend(self, error: OSError) -> None:
        if not self._has_complained:
            self._has_complained = True
            self._tell({"notice": "disk_full", "message": error.strerror})
        self._retry_at = time.monotonic() + _RETRY_S


def _in_box(pid: int) -> int:
    """Give the program in a box of bwrap: the first child of its first child, else bwrap itself."""
    processes = processes_now().values()
    inner = pid
    for _ in range(_BOX_DEPTH):
        born = [(seen.start, seen.pid) for seen in processes if seen.parent == inner]
        if not born:
            return pid
        inner = min(born)[1]
    return inner


def _read(end: int) -> bytes | None:
    try:
        return os.read(end, _READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""
