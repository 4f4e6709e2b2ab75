"""Run a program where no network is but the loopback: `python -m amiral.testbench.netns -- CMD…`.

The program takes this one's place (same pid, same standard streams), in a network namespace of its
own with `lo` up: nothing it starts can reach the outside. All that must talk to one another, such
as model server, project process and agent CLI, has to be started below the same CMD. Linux only;
needs util-linux' `unshare`, and root or user namespaces.
"""

import fcntl
import os
import socket
import struct
import sys
from collections.abc import Sequence

_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914
_IS_UP = 0x1
_REQUEST = struct.Struct("16sh22x")


def is_isolated() -> bool:
    """Tell whether this process has no network interface but the loopback."""
    return [name for _, name in socket.if_nameindex()] == ["lo"]


def isolating(command: Sequence[str]) -> list[str]:
    """Give the command line that runs `command` isolated; runs it as it is when we are already."""
    if is_isolated():
        return list(command)
    return [sys.executable, "-m", "amiral.testbench.netns", "--", *command]


def main(argv: Sequence[str]) -> int:
    """Become the command; returns (with an exit code) only when that fails."""
    match list(argv):
        case ["--", *command] if command:
            owner = [] if os.geteuid() == 0 else ["--map-current-user", "--keep-caps"]
            inside = [sys.executable, "-m", "amiral.testbench.netns", "--up", *command]
            return _become(["unshare", "--net", *owner, "--", *inside])
        case ["--up", *command] if command:
            _raise_loopback()
            return _become(command)
    print("usage: python -m amiral.testbench.netns -- COMMAND…", file=sys.stderr)
    return 2


def _become(command: list[str]) -> int:
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"Error: {command[0]}: {error.strerror}", file=sys.stderr)
    return 1


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, _GET_FLAGS, _REQUEST.pack(b"lo", 0))
        _, flags = _REQUEST.unpack(answer)
        fcntl.ioctl(any_socket, _SET_FLAGS, _REQUEST.pack(b"lo", flags | _IS_UP))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
