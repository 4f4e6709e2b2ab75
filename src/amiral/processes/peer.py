"""Who is at the other end of a unix socket: a person's program, or one that runs below a shim.

Standard library only. What runs below a shim has the role of an agent, whatever it claims. A peer
that cannot be looked at counts as one: in doubt the lesser power.
"""

import _socket
import os
import sys

from amiral.processes.lineage import is_below_shim

_CREDENTIALS_BYTES = 12


class Peer:
    """The process that connected; `pid` is 0 where the system does not tell."""

    __slots__ = ("below_shim", "pid", "uid")

    def __init__(self, pid: int, uid: int, *, below_shim: bool) -> None:
        self.pid = pid
        self.uid = uid
        self.below_shim = below_shim


def peer_of(connection: _socket.socket, home: str) -> Peer:
    """Look at who connected; `home` is the first part of our tags (the digest of this home)."""
    if not sys.platform.startswith("linux"):
        return Peer(0, os.getuid(), below_shim=False)
    raw = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS_BYTES)
    pid, uid = (int.from_bytes(raw[at : at + 4], sys.byteorder) for at in (0, 4))
    return Peer(pid, uid, below_shim=is_below_shim(pid, home))
