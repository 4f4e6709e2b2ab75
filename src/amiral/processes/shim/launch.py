# ruff: noqa: TID251, S606
"""Start one CLI so that it is on record before it runs, and tell exactly why it could not start.

Standard library only. The child is forked before it is known what it shall run: an idle shim has it
ready in its cgroup, which takes the kernel longer than all the rest. It waits for `release`: in
between the shim writes `meta.json`, so no CLI ever ran that a later owner could not find. The child
puts itself behind the fence last, the shim never does. What fails up to exec comes back through a
pipe.
"""

import _socket
import errno
import json
import os
import select
import signal
from collections.abc import Iterable

from amiral.processes import cgroup as cgroups
from amiral.processes import tree
from amiral.processes.box import go_behind
from amiral.processes.fence import Fence, FenceError, rehearse
from amiral.processes.shim.wire import Refusal

_EXEC_TIMEOUT_MS = 10_000
_STATUS_ON_FAILURE = 127
_MOST_HANDLES = 4096
_LONGEST_VERDICT = 4096
_KINDS = {
    errno.ENOENT: "not_found",
    errno.ENOTDIR: "not_found",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
}
_DEFAULTS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ)


class Plan:
    """What to run: nothing is inherited beside what stands here."""

    def __init__(
        self, argv: list[str], env: dict[str, str], cwd: str, tag: str, fence: Fence | None = None
    ) -> None:
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.tag = tag
        self.fence = fence


class Held:
    """A forked child that waits to become a CLI, or its box, and our ends of its pipes."""

    def __init__(self, pid: int, cgroup: str | None, ends: tuple[int, int, int, int, int]) -> None:
        self.identity = tree.identify(pid) or tree.Identity("", pid, 0)
        self.cgroup = cgroup
        self.stdin, self.stdout, self.stderr, self.release, self.verdict = ends
        self.is_boxed = False

    def ends(self) -> tuple[int, int, int, int, int]:
        """Give our ends of its pipes; -1 for one that is closed."""
        return self.stdin, self.stdout, self.stderr, self.release, self.verdict


def hold(tag: str) -> Held:
    """Fork a child up to the point just before exec; OSError when the system has no room for it.

    `tag` names its cgroup.
    """
    # A socket: unlike a pipe's, its ends cannot be opened anew through /proc, by which what the CLI
    # starts could answer the CLI's questions (H4).
    pipes = [_socket_pair(), *(os.pipe() for _ in range(4))]
    stdin, stdout, stderr, release, verdict = pipes
    try:
        pid = os.fork()
    except OSError:
        _close(end for pipe in pipes for end in pipe)
        raise
    if pid == 0:
        _become((stdin[0], stdout[1], stderr[1]), release[0], verdict[1])
    _close((stdin[0], stdout[1], stderr[1], release[0], verdict[1]))
    for end in (stdin[1], stdout[0], stderr[0]):
        os.set_blocking(end, False)
    ends = (stdin[1], stdout[0], stderr[0], release[1], verdict[0])
    return Held(pid, _enclose(pid, tag), ends)


def _socket_pair() -> tuple[int, int]:
    """Give the reading and the writing end of a stream."""
    reader, writer = _socket.socketpair()
    return reader.detach(), writer.detach()


def release(held: Held, plan: Plan) -> None:
    """Let it run; a Refusal when exec failed, everything cleaned up then."""
    held.is_boxed = plan.fence is not None and bool(plan.fence.covers)
    _let_go(held, plan)
    verdict = _hear(held.verdict)
    if verdict:
        abandon(held)
        raise _refusal(verdict, plan)
    _close((held.verdict,))


def abandon(held: Held) -> None:
    """End a held or failed child and give everything back."""
    os.kill(held.identity.pid, signal.SIGKILL)
    os.waitpid(held.identity.pid, 0)
    _close(end for end in held.ends() if end >= 0)
    cgroups.remove_cgroup(held.cgroup)


def _become(standard: tuple[int, int, int], release: int, verdict: int) -> None:
    stage = "folder"
    try:
        os.setpgid(0, 0)
        for target, end in enumerate(standard):
            os.dup2(end, target)
        # Connections of the shim must end when the shim hangs up, however long this child waits.
        first, last = sorted((release, verdict))
        os.closerange(len(standard), first)
        os.closerange(first + 1, last)
        os.closerange(last + 1, _MOST_HANDLES)
        for number in _DEFAULTS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if not _is_ready(release, 0):
            rehearse()
        told = _read_all(release)
        if told:
            argv, env, cwd, *fences = json.loads(told)
            os.chdir(cwd)
            stage = "fence"
            for fence in fences:
                argv = go_behind(Fence.from_json(fence), argv, cwd)
            stage = "program"
            os.execvpe(argv[0], argv, env)
    except (OSError, ValueError, FenceError) as error:
        code = getattr(error, "errno", None) or errno.EINVAL
        reason = error if stage == "fence" else code
        os.write(verdict, f"{stage}:{reason}".encode(errors="replace")[:_LONGEST_VERDICT])
    finally:
        os._exit(_STATUS_ON_FAILURE)


def _read_all(end: int) -> bytes:
    told = b""
    while chunk := os.read(end, 65536):
        told += chunk
    return told


def _let_go(held: Held, plan: Plan) -> None:
    fences = [plan.fence.as_json()] if plan.fence else []
    left = memoryview(json.dumps([plan.argv, plan.env, plan.cwd, *fences]).encode())
    try:
        while left:
            left = left[os.write(held.release, left) :]
    except BrokenPipeError:
        # It was killed meanwhile: its end is told like any other.
        pass
    finally:
        os.close(held.release)
        held.release = -1


def _hear(verdict: int) -> bytes:
    if not _is_ready(verdict, _EXEC_TIMEOUT_MS):
        return b"program:0"
    return os.read(verdict, _LONGEST_VERDICT)


def _is_ready(end: int, timeout_ms: int) -> bool:
    poller = select.poll()
    poller.register(end, select.POLLIN)
    return bool(poller.poll(timeout_ms))


def _refusal(verdict: bytes, plan: Plan) -> Refusal:
    stage, _, code = verdict.decode().partition(":")
    if stage == "fence":
        return Refusal("fence", code)
    if code == "0":
        return Refusal("failed", f"{plan.argv[0]} did not start within 10 s")
    subject = f"working folder {plan.cwd}" if stage == "folder" else plan.argv[0]
    return Refusal(_KINDS.get(int(code), "failed"), f"{subject}: {os.strerror(int(code))}")


def _enclose(pid: int, tag: str) -> str | None:
    folder = cgroups.make_cgroup(tag)
    if folder is None or cgroups.join_cgroup(folder, pid):
        return folder
    cgroups.remove_cgroup(folder)
    return None


def _close(ends: Iterable[int]) -> None:
    for end in ends:
        os.close(end)
