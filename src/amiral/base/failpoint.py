"""Named places where a test can kill the process, to prove that nothing acknowledged is lost (P01).

Off unless AMIRAL_FAILPOINTS=1. Then AMIRAL_FAILPOINT="inbox.committed" kills the process when it
first comes to that place, "inbox.committed:3" when it comes there for the third time.
"""

import os
import re
import signal

from amiral.base.errors import Invalid

_TARGET = re.compile(r"(?P<name>[a-z][a-z0-9_.]*)(:(?P<nth>[1-9][0-9]{0,8}))?", re.ASCII)


def _armed() -> tuple[str, int]:
    if os.environ.get("AMIRAL_FAILPOINTS") != "1":
        return "", 0
    target = os.environ.get("AMIRAL_FAILPOINT", "")
    if not target:
        return "", 0
    found = _TARGET.fullmatch(target)
    if found is None:
        raise Invalid(f"AMIRAL_FAILPOINT={target!r} is not name or name:nth.")
    return found["name"], int(found["nth"] or 1)


_NAME, _NTH = _armed()
_PASSED: list[str] = []


def failpoint(name: str) -> None:
    """Die here by SIGKILL when the environment says so; otherwise cost one comparison."""
    if name != _NAME:
        return
    _PASSED.append(name)
    if len(_PASSED) == _NTH:
        os.kill(os.getpid(), signal.SIGKILL)
