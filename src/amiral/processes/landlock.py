"""Landlock: which files and TCP ports a thread, and all it starts, may still use.

Standard library only. Rights and what they need are those of the kernel's landlock(7); what an
older kernel does not know is left out here, and whether that will do is `fence.apply`'s question.
"""

import errno
import os
import stat
import struct

from amiral.processes import syscalls

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE = 1 << 4, 1 << 5
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK = 1 << 6, 1 << 7, 1 << 8, 1 << 9
MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = 1 << 10, 1 << 11, 1 << 12
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

_OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_SINCE = {REFER: 2, TRUNCATE: 3, IOCTL_DEV: 5}
_BIND_TCP, _CONNECT_TCP = 1, 2
_NETWORK_SINCE = 4
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2
_SCOPES_SINCE = 6

_ASK_VERSION = 1
_BENEATH, _PORT = 1, 2
_NO_SYMLINKS, _NO_MAGIC_LINKS = 0x04, 0x02
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES)


def version() -> int:
    """Give the ABI of this kernel's Landlock, 0 where there is none."""
    try:
        return syscalls.call("landlock_create_ruleset", None, 0, _ASK_VERSION)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP):
            return 0
        raise


def known_rights(rights: int, abi: int) -> int:
    """Leave out the rights that a kernel of this ABI does not know."""
    for right, since in _SINCE.items():
        if abi < since:
            rights &= ~right
    return rights


def new_ruleset(handled: int, abi: int, *, with_ports: bool) -> int:
    """Make a ruleset that is not in force yet: what it handles is refused unless allowed by a rule.

    Abstract sockets and signals to processes outside are always refused, where the kernel can.
    """
    network = _BIND_TCP | _CONNECT_TCP if with_ports else 0
    scopes = _ABSTRACT_SOCKETS | _SIGNALS if abi >= _SCOPES_SINCE else 0
    fields = 3 if scopes else 2 if abi >= _NETWORK_SINCE else 1
    asked = struct.pack("=QQQ", handled, network, scopes)[: 8 * fields]
    return syscalls.call("landlock_create_ruleset", asked, len(asked), 0)


def allow_path(ruleset: int, path: str, rights: int) -> bool:
    """Allow something at a path and below it; False when nothing can be found there any more.

    A symbolic link anywhere on the way counts as nothing: somebody may have put it there since.
    """
    try:
        handle = open_path(path)
    except OSError as error:
        if error.errno in _GONE:
            return False
        raise
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights &= _OF_A_FILE
        if rights:
            rule = struct.pack("=Qi", rights, handle)
            syscalls.call("landlock_add_rule", ruleset, _BENEATH, rule, 0)
        return True
    finally:
        os.close(handle)


def allow_port(ruleset: int, port: int) -> None:
    """Allow TCP connections to a port, of whichever host."""
    rule = struct.pack("=QQ", _CONNECT_TCP, port)
    syscalls.call("landlock_add_rule", ruleset, _PORT, rule, 0)


def restrict(ruleset: int) -> None:
    """Put a ruleset in force for the calling thread, for ever."""
    syscalls.call("landlock_restrict_self", ruleset, 0)


def open_path(path: str) -> int:
    """Open what is at a path, to name it alone; OSError also when a symbolic link is on the way."""
    how = struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC, 0, _NO_SYMLINKS | _NO_MAGIC_LINKS)
    return syscalls.call("openat2", -1, os.fsencode(path), how, len(how))
