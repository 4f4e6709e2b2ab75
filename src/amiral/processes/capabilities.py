"""Give up root's powers: a thread without capabilities, whose programs get none either.

Standard library only.
"""

import os

from amiral.processes import syscalls

_READ_BOUND, _DROP_BOUND = 23, 24
_MOST = 64
_VERSION_OF_THIS_THREAD = b"\x22\x05\x08\x20" + bytes(4)
_NONE = bytes(24)


def drop_capabilities() -> None:
    """Take from the calling thread every capability, and those root would get by starting programs.

    OSError where root's cannot be taken. Programs of somebody else get none anyway, once there are
    no new privileges.
    """
    is_root = 0 in os.getresuid()
    for number in range(_MOST):
        try:
            syscalls.prctl(_DROP_BOUND, number)
        except PermissionError:
            if not is_root:
                break
            if is_in_bound(number):
                raise
        except OSError:
            # Past the last one that this kernel knows.
            break
    syscalls.call("capset", _VERSION_OF_THIS_THREAD, _NONE)


def is_in_bound(number: int) -> bool:
    """Tell whether programs of this thread may still get a capability, one that there is."""
    try:
        return bool(syscalls.prctl(_READ_BOUND, number))
    except OSError:
        return False
