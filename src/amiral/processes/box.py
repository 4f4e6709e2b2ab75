# ruff: noqa: PTH100, PTH120
"""Go behind a fence here, or give the command that does so in a box of bwrap (ADR 0017).

Standard library only. The fence goes along as a file that has no name, so nobody can change it.
"""

import json
import os
import sys
from collections.abc import Sequence

from amiral.processes.bwrap import bwrap_command
from amiral.processes.fence import Fence, FenceError, apply

_PLACES = (
    *("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"),
    "/run/current-system/sw/bin/bwrap",
)
"""Never by PATH: it may name folders that agents write."""

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_SOURCES = os.path.dirname(os.path.dirname(_FOLDER))
LAUNCHER = f"{_FOLDER}/launcher.py"


def launcher(fence_file: str, argv: Sequence[str]) -> list[str]:
    """Give the command of a program that goes behind the fence in a file and becomes `argv`."""
    return [sys.executable, "-I", "-S", LAUNCHER, fence_file, "--", *argv]


def go_behind(fence: Fence, argv: Sequence[str], cwd: str) -> list[str]:
    """Put up a fence for this thread, and give what is to be run then.

    One with covers is put up in its box, by what is given. FenceError when there is no way.
    """
    if fence.covers:
        return boxed(fence, argv, cwd, hold(fence))
    apply(fence)
    return list(argv)


def hold(fence: Fence) -> int:
    """Give a fence as a file to be inherited: the command of its box reads it there."""
    handle = os.memfd_create("fence", 0)
    os.fchmod(handle, 0o600)
    os.write(handle, json.dumps(fence.as_json()).encode())
    return handle


def boxed(fence: Fence, argv: Sequence[str], cwd: str, handle: int) -> list[str]:
    """Give the command that runs `argv` in the box of a fence and behind it; `handle` is `hold`'s.

    FenceError when bwrap is not installed.
    """
    bwrap = next((path for path in _PLACES if os.access(path, os.X_OK)), "")
    if not bwrap:
        raise FenceError(f"bubblewrap is not installed ({_PLACES[0]})")
    names = os.path.realpath("/etc/resolv.conf")
    tools = (sys.prefix, sys.base_prefix, os.path.realpath(sys.executable), _SOURCES, names)
    return bwrap_command(bwrap, fence, tools, cwd, launcher(f"/proc/self/fd/{handle}", argv))
