# ruff: noqa: PTH100, PTH120, PTH123
"""Go behind a fence and become a program: for what is started by others than us.

Standard library only. Run as `python -I -S launcher.py FENCE_FILE -- PROGRAM [ARGUMENT …]`. What
fails is told in one line on stderr: 126 when the fence cannot be read or put up, 127 when there is
no such program; nothing was run then.
"""

import json
import os
import signal
import stat
import sys
from collections.abc import Sequence

sys.path.append(os.path.dirname(os.path.abspath(__file__)).rpartition("/amiral/")[0])

from amiral.processes.fence import Fence, FenceError, apply

NOT_BEHIND, NOT_FOUND = 126, 127
_LONGEST = 16 << 20
_STANDARD = 3
_HIGHEST = (1 << 31) - 1
_USAGE = "usage: launcher.py FENCE_FILE -- PROGRAM [ARGUMENT …]"


def main(arguments: Sequence[str]) -> int:
    """Become the program; comes back only when it cannot be started, with the exit code."""
    match arguments:
        case [file, "--", *argv] if argv:
            return _start(file, argv)
        case _:
            return _fail(NOT_BEHIND, _USAGE)


def _start(file: str, argv: list[str]) -> int:
    try:
        fence = _read(file)
        # What is open would be open behind the fence too.
        os.closerange(_STANDARD, _HIGHEST)
        apply(fence)
    except (OSError, ValueError, RecursionError, FenceError) as error:
        return _fail(NOT_BEHIND, f"the fence cannot be put up: {error}")
    # Python ignores these, and programs would go on to.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        return _fail(NOT_FOUND if is_missing else NOT_BEHIND, f"{argv[0]}: {error.strerror}")


def _read(file: str) -> Fence:
    """Read a fence; OSError or ValueError when there is none, or others may have written it."""
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as opened:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > _LONGEST:
            raise ValueError(f"{file} is no file of a fence")
        if seen.st_uid != os.geteuid() or seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ValueError(f"{file} may be written by others")
        return Fence.from_json(json.loads(opened.read()))


def _fail(code: int, why: str) -> int:
    os.write(2, f"amiral: {why}\n".encode(errors="backslashreplace"))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
