"""Start one CLI so that it is on record before it runs, and tell exactly why it could not start.

Standard library only. The child waits for `release`: in between the shim writes `meta.json`, so no CLI ever
ran that a later owner could not find. Whatever fails before or in exec comes back through a pipe.
"""

import os
import select
import signal
from typing import NamedTuple

from amiral.processes import cgroup as cgroups
from amiral.processes import tree
from amiral.processes.wire import Refusal

_EXEC_TIMEOUT_MS = 10_000
_STATUS_ON_FAILURE = 127
_DEFAULTS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ)


class Plan(NamedTuple):
    """What to run: nothing is inherited beside what stands here."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    tag: str


class Held(NamedTuple):
    """A forked CLI that waits for its release, and our ends of its pipes."""

    identity: tree.Identity
    cgroup: str | None
    stdin: int
    stdout: int
    stderr: int
    release: int
    verdict: int


def hold(plan: Plan) -> Held:
    """Fork the CLI up to the point just before exec."""
    pipes = [os.pipe() for _ in range(5)]
    stdin, stdout, stderr, release, verdict = pipes
    pid = os.fork()
    if pid == 0:
        _become(plan, (stdin[0], stdout[1], stderr[1]), release, verdict[1])
    for end in (stdin[0], stdout[1], stderr[1], release[0], verdict[1]):
        os.close(end)
    for end in (stdin[1], stdout[0], stderr[0]):
        os.set_blocking(end, False)
    folder = cgroups.make_cgroup(plan.tag)
    if folder is not None and not cgroups.join_cgroup(folder, pid):
        cgroups.remove_cgroup(folder)
        folder = None
    identity = tree.identify(pid) or tree.Identity("", pid, 0)
    return Held(identity, folder, stdin[1], stdout[0], stderr[0], release[1], verdict[0])


def release(held: Held, plan: Plan) -> None:
    """Let it run; a Refusal when exec failed, everything cleaned up then."""
    os.write(held.release, b"!")
    os.close(held.release)
    verdict = _hear(held.verdict)
    os.close(held.verdict)
    if verdict:
        abandon(held)
        raise _refusal(verdict, plan)


def abandon(held: Held) -> None:
    """End a held or failed child and give everything back."""
    os.kill(held.identity.pid, signal.SIGKILL)
    os.waitpid(held.identity.pid, 0)
    for end in (held.stdin, held.stdout, held.stderr):
        os.close(end)
    cgroups.remove_cgroup(held.cgroup)


def _become(
    plan: Plan, standard: tuple[int, int, int], release: tuple[int, int], verdict: int
) -> None:
    stage = "folder"
    try:
        os.setpgid(0, 0)
        for target, end in enumerate(standard):
            os.dup2(end, target)
        for number in _DEFAULTS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.close(release[1])
        if os.read(release[0], 1):
            os.chdir(plan.cwd)
            stage = "program"
            os.execvpe(plan.argv[0], plan.argv, plan.env)
    except OSError as error:
        os.write(verdict, f"{stage}:{error.errno}".encode())
    finally:
        os._exit(_STATUS_ON_FAILURE)


def _hear(verdict: int) -> bytes:
    poller = select.poll()
    poller.register(verdict, select.POLLIN)
    if not poller.poll(_EXEC_TIMEOUT_MS):
        return b"program:0"
    return os.read(verdict, 64)


def _refusal(verdict: bytes, plan: Plan) -> Refusal:
    stage, _, code = verdict.decode().partition(":")
    if code == "0":
        return Refusal("failed", f"{plan.argv[0]} did not start within 10 s")
    error = OSError(int(code), os.strerror(int(code)))
    subject = f"working folder {plan.cwd}" if stage == "folder" else plan.argv[0]
    kinds = ((FileNotFoundError, "not_found"), (PermissionError, "denied"))
    kind = next((kind for kinds_error, kind in kinds if isinstance(error, kinds_error)), "failed")
    return Refusal(kind, f"{subject}: {error.strerror}")
