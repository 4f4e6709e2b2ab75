"""The only file that starts programs; it reads the brake before and after each start.

Programs are started by `subprocess.Popen` (vfork: the price does not grow with our memory) and
watched by pidfd: asyncio's `Process.wait()` may hang for ever on a pipe that nobody reads. A fence
holds for the thread that puts it up and all that this thread starts: it is a new one each time. One
with covers is put up inside the box of bwrap.
"""

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import IO, Literal

from amiral.base.errors import Broken, Conflict
from amiral.base.ids import new_id
from amiral.processes.behind import awaited, behind, inside
from amiral.processes.capture import Capture
from amiral.processes.fence import Fence
from amiral.processes.tree import (
    HAS_PIDFD,
    TAG_VARIABLE,
    Identity,
    Killed,
    identify,
    kill_tree,
)
from amiral.processes.unstarted import could_not_start
from amiral.store.brake import Brake

Kind = Literal["agent", "test", "deploy", "program", "shim", "own"]

KILL_DEADLINE_S = 10.0
OUTPUT_LIMIT = 4 << 20
_POLL_S = 0.02
_MINIMAL = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ"),
    *("LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES"),
)


def base_environment() -> dict[str, str]:
    """Give the few variables any program needs: no token, no login, nothing of amiral's own."""
    return {name: os.environ[name] for name in _MINIMAL if name in os.environ}


@dataclass(frozen=True)
class Stdio:
    """File descriptors for a program; what is not given is `/dev/null`."""

    stdin: int = subprocess.DEVNULL
    stdout: int = subprocess.DEVNULL
    stderr: int = subprocess.DEVNULL


@dataclass(frozen=True)
class _Wish:
    argv: list[str]
    kind: Kind
    env: dict[str, str]
    cwd: str
    stdio: Stdio
    tag: str
    fds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ran:
    """How a program ended; `code` is negative for a signal.

    `out` and `err` hold the last bytes of each, up to the spawner's limit; `is_cut` tells that
    earlier ones are missing.
    """

    code: int
    out: bytes
    err: bytes
    timed_out: bool = False
    is_cut: bool = False


class Child:
    """A program we started, until it has ended and was reaped."""

    def __init__(self, process: subprocess.Popen[bytes], tag: str) -> None:
        self.identity = identify(process.pid) or Identity("", process.pid, 0)
        self._process = process
        self._tag = tag
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._handle = -1
        self._watch()

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it has ended and was reaped."""
        return self._ended.done()

    async def exited(self) -> int:
        """Wait for its end; the code is negative for a signal."""
        return await asyncio.shield(self._ended)

    def kill(self) -> Killed:
        """Kill it with everything below it, verified; blocks for milliseconds, 10 s at worst."""
        return kill_tree((self.identity,), self._tag, None, KILL_DEADLINE_S)

    def drop(self) -> None:
        """Kill it and reap it at once: the loop may end before it hears of the end."""
        self.kill()
        self._reap()

    def _watch(self) -> None:
        if HAS_PIDFD:
            self._handle = os.pidfd_open(self.pid)
            self._loop.add_reader(self._handle, self._reap)
        else:
            self._poll()

    def _reap(self) -> None:
        if self._ended.done():
            return
        if self._handle >= 0:
            self._loop.remove_reader(self._handle)
            os.close(self._handle)
        self._ended.set_result(self._process.wait())

    def _poll(self) -> None:
        code = self._process.poll()
        if self._ended.done():
            return
        if code is None:
            self._loop.call_later(_POLL_S, self._poll)
        else:
            self._ended.set_result(code)


class Spawner:
    """Starts programs, unless a stop forbids it.

    `tag` is `<home>:<project>`: every program but our own ("own": git, version probes, the control
    plane) carries it, so that a stop finds it whatever became of its parents.
    """

    def __init__(self, brake: Brake, tag: str, output_limit: int = OUTPUT_LIMIT) -> None:
        self.tag = tag
        self._brake = brake
        self._output_limit = output_limit

    def check(self, kind: Kind, worker: str = "") -> None:
        """Raise Conflict under a stop or a freeze; our own are exempt (else no release)."""
        stop = None if kind == "own" else self._brake.state(worker)
        if stop is not None:
            told = f"{stop.name} is in force ({stop.reason})"
            raise Conflict(f"{told}: no {kind} is started", stop.way_out)

    def start(
        self,
        argv: Sequence[str],
        *,
        kind: Kind,
        env: Mapping[str, str],
        cwd: str,
        stdio: Stdio = Stdio(),
        fence: Fence | None = None,
    ) -> Child:
        """Start a program in a session of its own with exactly this environment, and watch it.

        NotFound, Denied or Broken when it cannot start, Conflict when a stop is in force. Denied
        also when its fence cannot be put up: it does not run then.
        """
        wish = self._wish(argv, kind, env, cwd, stdio)
        process = _opened(wish) if fence is None else _fenced(wish, fence).result()
        return self._kept(wish, process)

    async def run(  # noqa: PLR0913 each says one thing of the program
        self,
        argv: Sequence[str],
        *,
        kind: Kind,
        env: Mapping[str, str],
        cwd: str,
        timeout_s: float,
        stdin: bytes = b"",
        fence: Fence | None = None,
    ) -> Ran:
        """Run a program to its end; on timeout its whole tree is killed.

        What a test or deploy leaves behind is killed; what our own leave (git's upkeep) stays.
        """
        pipes = Stdio(subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
        wish = self._wish(argv, kind, env, cwd, pipes)
        process = _opened(wish) if fence is None else await awaited(_fenced(wish, fence), _undo)
        child = self._kept(wish, process)
        capture = Capture(_ends_of(process), self._output_limit)
        try:
            await capture.begin(stdin)
            timed_out = not await _ends_within(child, timeout_s)
            if timed_out or kind != "own":
                await asyncio.to_thread(child.kill)
            code = await child.exited()
            await capture.finish()
        finally:
            if not child.has_ended:
                child.drop()
            capture.close()
        out, err = capture.out.kept(), capture.err.kept()
        return Ran(code, out, err, timed_out, capture.out.is_cut or capture.err.is_cut)

    def _wish(
        self,
        argv: Sequence[str],
        kind: Kind,
        env: Mapping[str, str],
        cwd: str,
        stdio: Stdio,
    ) -> _Wish:
        self.check(kind)
        tag = self._tag_for(kind)
        exact = {**env, TAG_VARIABLE: tag} if tag else dict(env)
        return _Wish(list(argv), kind, exact, cwd, stdio, tag)

    def _kept(self, wish: _Wish, process: "subprocess.Popen[bytes]") -> Child:
        child = Child(process, wish.tag)
        # A stop between the check and the start may not have seen this program yet.
        try:
            self.check(wish.kind)
        except Conflict:
            child.drop()
            for end in (process.stdin, process.stdout, process.stderr):
                if end is not None:
                    end.close()
            raise
        return child

    def _tag_for(self, kind: Kind) -> str:
        match kind:
            case "own":
                return ""
            case "shim":
                return self.tag
            case _:
                return f"{self.tag}:run-{new_id()}"


def _opened(wish: _Wish) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            wish.argv,
            env=wish.env,
            cwd=wish.cwd,
            **vars(wish.stdio),
            bufsize=0,
            close_fds=True,
            pass_fds=wish.fds,
            start_new_session=True,
        )
    except OSError as error:
        raise could_not_start(wish.argv[0], error) from error


def _fenced(wish: _Wish, fence: Fence) -> "Future[subprocess.Popen[bytes]]":
    if fence.covers:
        return inside(
            fence, wish.argv, wish.cwd, lambda argv, fds: _opened(replace(wish, argv=argv, fds=fds))
        )
    # Opened in front of the fence, which may not allow it.
    nothing = os.open(os.devnull, os.O_RDWR)
    given = (nothing if end == subprocess.DEVNULL else end for end in vars(wish.stdio).values())
    told = behind(fence, lambda: _opened(replace(wish, stdio=Stdio(*given))))
    told.add_done_callback(lambda _: os.close(nothing))
    return told


def _undo(process: "subprocess.Popen[bytes]") -> None:
    with process:
        process.kill()


def _ends_of(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise Broken(f"program {process.pid} was started without pipes")
    return process.stdin, process.stdout, process.stderr


async def _ends_within(child: Child, timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            await child.exited()
    except TimeoutError:
        return False
    return True
