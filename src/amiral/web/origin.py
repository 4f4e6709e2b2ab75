"""Pure: from where a browser may speak to us: our own addresses, and pages that we served (R51)."""

from collections.abc import Mapping

_HTTP_PORT = 80
_OURS = ("same-origin", "none")


def our_hosts(address: str, port: int) -> frozenset[str]:
    """Give the Host headers that mean us: loopback by its names, and the address we listen at."""
    shown = f"[{address}]" if ":" in address else address
    names = {"127.0.0.1", "localhost", "[::1]", shown}
    bare = names if port == _HTTP_PORT else set()
    return frozenset({f"{name}:{port}" for name in names} | bare)


def is_ours(hosts: frozenset[str], headers: Mapping[str, str]) -> bool:
    """Tell whether a request speaks to us by our own name: a rebound DNS name does not."""
    return headers.get("host", "").lower() in hosts


def is_foreign(hosts: frozenset[str], headers: Mapping[str, str]) -> bool:
    """Tell whether a browser says that a page of somebody else has made this request.

    The address bar, and a link that is followed, come from no page that could read the answer.
    """
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in {f"http://{host}" for host in hosts}:
        return True
    is_followed = headers.get("sec-fetch-mode") == "navigate" and origin is None
    return headers.get("sec-fetch-site", "none") not in _OURS and not is_followed
