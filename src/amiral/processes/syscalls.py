"""The system calls that Python does not wrap, by ctypes; nothing else talks to the kernel so.

Standard library only. Capabilities, filters and Landlock domains belong to a thread: what is asked
for here by number reaches the calling thread alone.
"""

import ctypes
import errno
import os
import sys

_SET_SUBREAPER = 36
_EVERYWHERE = {
    "io_uring_setup": 425,
    "openat2": 437,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
_NUMBERS = {
    "x86_64": _EVERYWHERE
    | {"socket": 41, "sendto": 44, "sendmsg": 46, "listen": 50, "socketpair": 53}
    | {"ioctl": 16, "capset": 126, "prlimit64": 302, "sendmmsg": 307, "seccomp": 317},
    "aarch64": _EVERYWHERE
    | {"socket": 198, "socketpair": 199, "listen": 201, "sendto": 206, "sendmsg": 211}
    | {"ioctl": 29, "capset": 91, "prlimit64": 261, "sendmmsg": 269, "seccomp": 277},
}


def _known_machine() -> str:
    is_wide_linux = sys.platform == "linux" and sys.maxsize > 1 << 32
    name = os.uname().machine if is_wide_linux else ""
    return name if name in _NUMBERS else ""


_MACHINE = _known_machine()
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_UNUSED = (ctypes.c_ulong(0),) * 3


def machine() -> str:
    """Name the instruction set this program runs with, "" when its calls are not known here."""
    return _MACHINE


def number_of(name: str) -> int:
    """Give the number of a system call on this machine; OSError where none is known."""
    if not _MACHINE:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)
    return _NUMBERS[_MACHINE][name]


def call(name: str, *arguments: int | bytes | None) -> int:
    """Make a system call; OSError as the kernel says. Bytes go by their address, None is NULL."""
    wide = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(_libc.syscall(ctypes.c_long(number_of(name)), *wide))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
    return result


def prctl(option: int, value: int = 0) -> int:
    """Make a `prctl` call with one argument; OSError as the kernel says, or where there is none."""
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), "prctl")
    result = int(_libc.prctl(option, ctypes.c_ulong(value), *_UNUSED))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "prctl")
    return result


def address_of(data: bytes) -> int:
    """Give where these bytes are, for a structure that points to them: keep them meanwhile."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def set_subreaper() -> bool:
    """Adopt every orphan below this process (kept across exec); False where the system cannot."""
    try:
        prctl(_SET_SUBREAPER, 1)
    except OSError:
        return False
    return True
