"""Named places where a test lets a process kill itself. Standard library only.

`AMIRAL_FAILPOINT=name` or `name:count` kills the process (SIGKILL) when it passes the place of that
name for the count-th time, and only with `AMIRAL_FAILPOINTS=1` beside it.
"""

import os
import signal

_ALLOWED = "AMIRAL_FAILPOINTS"
_CHOSEN = "AMIRAL_FAILPOINT"
_passed: dict[str, int] = {}


def reach(name: str) -> None:
    """Die here when this place was chosen."""
    if os.environ.get(_ALLOWED) != "1":
        return
    chosen, _, count = os.environ.get(_CHOSEN, "").partition(":")
    if chosen != name:
        return
    _passed[name] = _passed.get(name, 0) + 1
    if _passed[name] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)


def inherited_failpoints() -> dict[str, str]:
    """Give the variables to hand down to a program of ours; empty outside tests."""
    if os.environ.get(_ALLOWED) != "1":
        return {}
    return {_ALLOWED: "1", _CHOSEN: os.environ.get(_CHOSEN, "")}
