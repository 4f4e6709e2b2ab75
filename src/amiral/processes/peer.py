"""Who is at the other end of a unix socket: a person's program, or one that runs below a shim.

Standard library only. What runs below a shim has the role of an agent, whatever it claims. A peer
that cannot be looked at counts as one: in doubt the lesser power.
"""

import os
import socket
import sys
from typing import NamedTuple

from amiral.processes import cgroup as cgroups
from amiral.processes import tree
from amiral.processes.proc import HAS_PROC

_CREDENTIALS_BYTES = 12


class Peer(NamedTuple):
    """The process that connected; `pid` is 0 where the system does not tell."""

    pid: int
    uid: int
    below_shim: bool


def peer_of(connection: socket.socket, home: str) -> Peer:
    """Look at who connected; `home` is the first part of our tags (the digest of this home)."""
    if not sys.platform.startswith("linux"):
        return Peer(0, os.getuid(), below_shim=False)
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS_BYTES)
    pid, uid = (int.from_bytes(raw[at : at + 4], sys.byteorder) for at in (0, 4))
    return Peer(pid, uid, is_below_shim(pid, home))


def is_below_shim(pid: int, home: str) -> bool:
    """Tell whether a process runs below a shim of this home, or cannot be looked at."""
    if not HAS_PROC:
        return False
    line = [pid, *tree.parents(pid)]
    if tree.identify(pid) is None or any(tree.is_under(tree.tag_of(one), home) for one in line):
        return True
    enclosing = cgroups.cgroup_name(home)
    return any(
        part == enclosing or part.startswith(enclosing + "-")
        for part in cgroups.cgroup_of(pid).split("/")
    )
