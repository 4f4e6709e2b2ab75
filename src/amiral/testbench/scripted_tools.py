"""The tools of the scripted CLI: they really read, write and run, below its working folder."""

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

NAMES: Mapping[str, str] = {"write": "Write", "edit": "Edit", "read": "Read", "bash": "Bash"}
"""The CLI's own name of each tool of a scenario."""

_SHELL = "/bin/sh"
_LONGEST_RUN_S = 600.0
_LONGEST_LOOK_S = 0.05
_LONGEST_SUMMARY = 200

Pause = Callable[[float], None]


def summary_of(args: Mapping[str, str]) -> str:
    """Say a call's first argument in one line."""
    first = next(iter(args.values()), "")
    return " ".join(first.split())[:_LONGEST_SUMMARY]


def is_inside(args: Mapping[str, str]) -> bool:
    """Tell whether a path argument stays below the working folder, links followed."""
    if "path" not in args:
        return True
    try:
        return Path(args["path"]).resolve().is_relative_to(Path.cwd().resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def run_tool(tool: str, args: Mapping[str, str], pause: Pause) -> str:
    """Do it; the result is one word or line, "failed: …" when it could not be done.

    `pause` is called while a command runs; what it raises ends the command.
    """
    try:
        match tool:
            case "write":
                return _write(Path(args["path"]), args["text"])
            case "edit":
                return _edit(Path(args["path"]), args["old"], args["new"])
            case "read":
                return f"{len(Path(args['path']).read_bytes())} bytes"
            case _:
                return _bash(args["command"], pause)
    except (OSError, ValueError) as error:
        return f"failed: {error}"


def _write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return "written"


def _edit(path: Path, old: str, new: str) -> str:
    text = path.read_bytes().decode("utf-8")
    if text.count(old) != 1:
        return f"failed: the old text stands {text.count(old)} times in the file, not once"
    return _write(path, text.replace(old, new))


def _bash(command: str, pause: Pause) -> str:
    output = _nameless_file()
    try:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, output, 2),
        ]
        argv = [_SHELL, "-c", command]
        pid = os.posix_spawn(_SHELL, argv, os.environ, file_actions=actions, setpgroup=0)
        code = _wait(pid, pause)
        shown = os.pread(output, _LONGEST_SUMMARY, 0).decode("utf-8", "replace")
    finally:
        os.close(output)
    return f"exit {code}: {' '.join(shown.split())}"


def _nameless_file() -> int:
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"scripted-{os.urandom(8).hex()}"  # noqa: S108
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    path.unlink()
    return descriptor


def _wait(pid: int, pause: Pause) -> int:
    waited, look = 0.0, 0.001
    try:
        while waited < _LONGEST_RUN_S:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            pause(look)
            waited, look = waited + look, min(look * 2, _LONGEST_LOOK_S)
    except BaseException:
        _kill(pid)
        raise
    return _kill(pid)


def _kill(pid: int) -> int:
    os.killpg(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
