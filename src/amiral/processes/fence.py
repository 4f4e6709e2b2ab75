"""The kernel calls that Python does not wrap, by ctypes; nothing else talks to the kernel so."""

import ctypes
import sys

_PR_SET_CHILD_SUBREAPER = 36


def set_subreaper() -> bool:
    """Adopt every orphan below this process (kept across exec); False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0
