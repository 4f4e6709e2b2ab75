"""The sockets we listen at: loopback alone, and a unix socket for our own user."""

import errno
import ipaddress
import socket
from pathlib import Path

from amiral.base.errors import AmiralError, Broken, Conflict, Denied

MOST_PORTS = 11

_LOCALHOST = "127.0.0.1"
_BACKLOG = 128


def listen_on_loopback(host: str, port: int, *, is_exact: bool) -> socket.socket:
    """Listen at a loopback address; a port that nobody asked for may be one of the next ten.

    Raises Denied for an address that others could reach, Conflict when the port is taken.
    """
    address = _loopback(host)
    ports = range(port, port + (1 if is_exact or port == 0 else MOST_PORTS))
    for number in ports:
        try:
            return _bound(address, number)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise _cannot(f"{address}:{number}", error) from error
    taken = f"port {port}" if len(ports) == 1 else f"ports {port} to {ports[-1]}"
    raise Conflict(
        f"{taken} of {address} in use already: there is no page",
        "end what listens there, or choose another: amiral up --port N, [hub] port",
    )


def listen_on_unix(path: Path) -> socket.socket:
    """Listen on a unix socket for our own user, replacing one that a killed process left."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _cannot(str(path), error) from error
    listener.setblocking(False)  # noqa: FBT003 the only way to say it
    return listener


def _loopback(host: str) -> str:
    try:
        address = ipaddress.ip_address(_LOCALHOST if host == "localhost" else host)
    except ValueError:
        raise Denied(f"{host} is no loopback address: there is no page", "[hub] host") from None
    if not address.is_loopback:
        raise Denied(f"{host} can be reached by others: there is no page", "[hub] host")
    return str(address)


def _bound(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)  # noqa: FBT003
    return listener


def _cannot(where: str, error: OSError) -> AmiralError:
    return Broken(f"cannot listen at {where}: {error.strerror or error}")
