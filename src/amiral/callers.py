"""Who is calling: the role of whoever connected to one of our sockets."""

import os
import socket

from amiral.commands.registry import Role
from amiral.processes.peer import peer_of


def role_of(connection: socket.socket, tag: str) -> Role:
    """Give the role; what runs below a shim of this home, or as another user, is an agent."""
    peer = peer_of(connection, tag)
    return Role.AGENT if peer.uid != os.getuid() or peer.below_shim else Role.OWNER
