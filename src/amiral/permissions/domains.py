"""Pure: which hosts a worker may reach, as its owner lists them, and the addresses nobody may.

An entry is `host`, `*.suffix` or an address, each with `:port` when another one than 443 or 80 is
meant. Names are compared as DNS sees them: lower case, punycode, no dot at the end.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from amiral.base.errors import Invalid
from amiral.base.plain import one_line

HTTP_PORT: Final = 80
WEB_PORTS: Final = frozenset({HTTP_PORT, 443})

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Host = str | Address

_MOST_PORT = 65535
_MOST_NAME = 253
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
# What inet_aton takes for an address: 127.1, 2130706433, 0x7f.1, 0177.0.0.1.
_ENDS_IN_A_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_WITH_PORT = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}))?")
# Old and new IDNA make different names of these: ß is "ss" to one and a letter to the other.
_AMBIGUOUS = frozenset("ßẞς\u200c\u200d")

_NOT_PUBLIC_4: Final = tuple(
    ipaddress.IPv4Network(block)
    for block in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
        "168.63.129.16/32",  # looks public, and is what a machine asks about itself on Azure
    )
)
_UNICAST_6: Final = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


@dataclass(frozen=True)
class Place:
    """Where a request wants to go; `host` is normalised."""

    host: Host
    port: int

    @property
    def authority(self) -> str:
        """As a Host header names it."""
        shown = f"[{self.host}]" if isinstance(self.host, ipaddress.IPv6Address) else str(self.host)
        return shown if self.port == HTTP_PORT else f"{shown}:{self.port}"


@dataclass(frozen=True)
class Entry:
    """One line of the owner's list."""

    host: Host
    is_suffix: bool
    ports: frozenset[int]

    def names(self, host: Host) -> bool:
        """Tell whether it is about this host; a suffix is not about itself."""
        if self.is_suffix:
            return isinstance(host, str) and host.endswith(f".{self.host}")
        return host == self.host


def read_host(text: str) -> Host:
    """Read a name or an address (IPv6 in brackets), normalised. Raises Invalid."""
    if text.startswith("["):
        return _read_ipv6(text)
    name = _to_ascii(text).lower().removesuffix(".")
    if _ENDS_IN_A_NUMBER.fullmatch(name):
        return _read_ipv4(name)
    if len(name) > _MOST_NAME or not _NAME.fullmatch(name):
        raise Invalid(f"{one_line(text)!r} is no name of a host")
    return name


def read_place(text: str, port: int | None = None) -> Place:
    """Read `host:port`, or `host` where a default is given. Raises Invalid."""
    host, found = _parted(text)
    if found is None and port is None:
        raise Invalid(f"{one_line(text)!r} names no port")
    return Place(read_host(host), found or port or 0)


def read_allowed(texts: Iterable[str]) -> tuple[Entry, ...]:
    """Read the owner's list. Raises Invalid that names every entry that cannot be read."""
    entries, wrong = [], []
    for text in texts:
        try:
            entries.append(_read_entry(text))
        except Invalid as error:
            wrong.append(error.message)
    if wrong:
        message = f"the list of hosts cannot be read: {'; '.join(wrong)}"
        raise Invalid(message, "Write host, *.suffix or an address, with :port where needed.")
    return tuple(entries)


def why_not(allowed: Sequence[Entry], place: Place) -> str:
    """Say why the list does not let a worker go there; empty when it does."""
    entries = [entry for entry in allowed if entry.names(place.host)]
    if any(place.port in entry.ports for entry in entries):
        return ""
    if entries:
        return f"port {place.port} of {place.host} is not on the list of this worker"
    if isinstance(place.host, str):
        return f"{place.host} is not on the list of hosts of this worker"
    return f"{place.host} is an address: without being listed itself it is reached by name only"


def is_listed(allowed: Sequence[Entry], address: Address, port: int) -> bool:
    """Tell whether the owner lists this very address, which lets even a private one be reached."""
    return any(entry.host == address and port in entry.ports for entry in allowed)


def is_same_host(text: str, host: Host) -> bool:
    """Tell whether a name that a client spells its own way means this host."""
    try:
        return read_host(text) == host
    except Invalid:
        return False


def is_public(address: Address) -> bool:
    """Tell whether an address is out on the internet.

    Not so: this machine, its networks and metadata services, multicast, documentation, and IPv4
    inside IPv6, except as NAT64 writes it.
    """
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in block for block in _NOT_PUBLIC_4)
    if address.scope_id is not None:
        return False
    if address in _NAT64:
        return is_public(ipaddress.IPv4Address(address.packed[-4:]))
    return address in _UNICAST_6 and not any(address in block for block in _NOT_PUBLIC_6)


def _read_entry(text: str) -> Entry:
    host, port = _parted(text)
    suffix = host.removeprefix("*.")
    is_suffix = suffix != host
    read = read_host(suffix)
    if is_suffix and not isinstance(read, str):
        raise Invalid(f"{one_line(text)!r} is no suffix of names")
    return Entry(read, is_suffix, WEB_PORTS if port is None else frozenset({port}))


def _parted(text: str) -> tuple[str, int | None]:
    found = _WITH_PORT.fullmatch(text)
    if found is None:
        raise Invalid(f"{one_line(text)!r} is no host with a port")
    port = None if found["port"] is None else int(found["port"])
    if port is not None and not 0 < port <= _MOST_PORT:
        raise Invalid(f"{one_line(text)!r} has no port from 1 to {_MOST_PORT}")
    return found["host"], port


def _to_ascii(text: str) -> str:
    if text.isascii():
        return text
    try:
        if len(text) <= _MOST_NAME and _AMBIGUOUS.isdisjoint(text):
            return text.encode("idna").decode("ascii")
    except UnicodeError:
        pass
    raise Invalid(f"{one_line(text)!r} is not clear as a name: write it as xn--…")


def _read_ipv4(text: str) -> Address:
    try:
        return ipaddress.IPv4Address(text)
    except ValueError:
        raise Invalid(f"{one_line(text)!r} is an address in a form that is not accepted") from None


def _read_ipv6(text: str) -> Address:
    try:
        if "%" not in text and text.endswith("]"):
            return ipaddress.IPv6Address(text[1:-1])
    except ValueError:
        pass
    raise Invalid(f"{one_line(text)!r} is no IPv6 address")
