"""The ways out of workers whose network is closed: one proxy each, the same after a restart."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from amiral.base.errors import AmiralError
from amiral.permissions.egress import EgressProxy, environment
from amiral.permissions.exchange import Verdict, Visit
from amiral.store.files import write_atomic

_FILE = "way-out.json"
_LOOPBACK = "127.0.0.1"
_MOST_TOLD = 200
"""Of each worker: it may try for ever, and what was told once is told no more."""

Warn = Callable[[str], Coroutine[object, object, None]]
"""Tells the owner which connection was refused to whom."""


@dataclass(frozen=True)
class WayOut:
    """The only port that may be connected to, and the variables by which programs find it."""

    port: int
    env: Mapping[str, str]


class _Known(msgspec.Struct):
    port: int = 0
    token: str = ""
    hosts: tuple[str, ...] = ()


class WaysOut:
    """`network` is as in `[sandbox]`: open, none or the hosts; `folder` holds `<worker>/`.

    A worker's CLI outlives this process: its proxy must be found again where it was.
    """

    def __init__(self, network: tuple[str, ...] | str, folder: Path, warn: Warn) -> None:
        self._folder, self._warn = folder, warn
        self._allowed = network if isinstance(network, tuple) else ()
        self._is_open = network == "open"
        self._opening = asyncio.Lock()
        self._told: dict[str, set[str]] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self._proxies: dict[str, tuple[tuple[str, ...], EgressProxy, WayOut]] = {}

    async def of(self, worker: str, hosts: Iterable[str]) -> WayOut | None:
        """Give a worker's way to its CLI's own `hosts` and what is listed; None when open."""
        if self._is_open:
            return None
        async with self._opening:
            return await self._kept(worker, tuple(hosts))

    async def _kept(self, worker: str, wanted: tuple[str, ...]) -> WayOut:
        known = self._proxies.get(worker)
        if known is not None and known[0] == wanted:
            return known[2]
        if known is not None:
            await known[1].close()
        way = await self._open(worker, wanted)
        self._proxies[worker] = (wanted, *way)
        return way[1]

    async def restore(self) -> None:
        """Open those that running CLIs of an earlier process were told of."""
        if not self._is_open:
            for file in self._folder.glob(f"*/{_FILE}"):
                try:
                    await self.of(file.parent.name, _read(file).hosts)
                except AmiralError as error:
                    await self._warn(f"{file.parent.name} has no way out: {error.message}")

    async def close(self) -> None:
        """Close them all; running CLIs find them again when this project is served again."""
        for _, proxy, _ in self._proxies.values():
            await proxy.close()
        self._proxies.clear()

    async def _open(self, worker: str, hosts: tuple[str, ...]) -> tuple[EgressProxy, WayOut]:
        file = self._folder / worker / _FILE
        allowed = tuple(dict.fromkeys((*hosts, *self._allowed)))
        known = _read(file)
        proxy = EgressProxy(allowed, lambda visit: self._hear(worker, visit), token=known.token)
        port = await proxy.start(_listener(known.port))
        write_atomic(file, msgspec.json.encode(_Known(port, proxy.token, hosts)).decode())
        return proxy, WayOut(port, environment(port, proxy.token))

    def _hear(self, worker: str, visit: Visit) -> None:
        if visit.verdict is Verdict.ALLOWED:
            return
        where = f"{visit.host}:{visit.port}" if visit.host else "an address that cannot be read"
        text = f"{worker} did not reach {where}: {visit.reason}"
        told = self._told.setdefault(worker, set())
        if text in told or len(told) >= _MOST_TOLD:
            return
        told.add(text)
        self._telling.add(task := asyncio.create_task(self._warn(text)))
        task.add_done_callback(self._telling.discard)


def hosts_in(values: object) -> tuple[str, ...]:
    """Find the addresses of services in a CLI's own settings, as `host:port`."""
    match values:
        case str() if values.startswith(("http://", "https://")):
            return _place(values)
        case Mapping():
            return tuple(host for value in values.values() for host in hosts_in(value))
        case _:
            return ()


def _place(address: str) -> tuple[str, ...]:
    with contextlib.suppress(ValueError):
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if parts.hostname:
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            return (f"{host}:{port}",)
    return ()


def _read(file: Path) -> _Known:
    """Read where a proxy was; one that cannot be read is made anew."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Known)
    except (OSError, msgspec.DecodeError):
        return _Known()


def _listener(port: int) -> socket.socket | None:
    """Listen where it was before, None for any other port when that one is taken."""
    if port == 0:
        return None
    try:
        return socket.create_server((_LOOPBACK, port))
    except OSError:
        return None
