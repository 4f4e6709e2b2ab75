"""The internet as far as a worker may reach it: a name is looked up once, its addresses judged."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

from amiral.base.errors import Broken, Denied
from amiral.permissions import domains, relay
from amiral.permissions.domains import Address, Entry, Place
from amiral.permissions.relay import End

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a name and a port to addresses, as texts. Raises OSError."""

_LOOKUPS = 4
_MOST_ADDRESSES = 4


class Outside:
    """What lies behind the places of a list. Tests give it a `resolve` and `is_public` of theirs.

    `patience_s` is for the look-up and for each address. Without `resolve` the system is asked.
    """

    def __init__(
        self,
        resolve: Resolve | None = None,
        is_public: Callable[[Address], bool] = domains.is_public,
        patience_s: float = 15.0,
    ) -> None:
        self._resolve = resolve or self._ask_system
        self._is_public = is_public
        self._patience_s = patience_s
        # Threads of its own: names that are slow to find hold up nobody else.
        self._lookups = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="egress")

    async def reach(
        self, place: Place, allowed: Sequence[Entry], buffer_bytes: int
    ) -> tuple[Address, End]:
        """Connect to the first address that answers, of those that were judged.

        Nothing is looked up again: the name may lead elsewhere by then. Raises Denied where only
        addresses are that may not be reached, Broken where none answers.
        """
        failure: OSError = OSError("there is no address")
        try:
            found = await self._addresses(place)
        except OSError as error:
            found, failure = [], error
        for address in self._usable(found, place, allowed):
            try:
                async with asyncio.timeout(self._patience_s):
                    return address, await relay.connect(address, place.port, buffer_bytes)
            except OSError as error:
                failure = error
        said = failure.strerror or str(failure) or "no answer in time"
        raise Broken(f"{place.host} cannot be reached: {said}")

    def close(self) -> None:
        """Let look-ups end by themselves; no new one can begin."""
        self._lookups.shutdown(wait=False, cancel_futures=True)

    def _usable(
        self, found: Sequence[Address], place: Place, allowed: Sequence[Entry]
    ) -> Sequence[Address]:
        usable = [
            address
            for address in found
            if self._is_public(address) or domains.is_listed(allowed, address, place.port)
        ]
        if found and not usable:
            raise Denied(
                f"{place.host} leads to {found[0]}, which is not on the internet and not listed"
            )
        return usable[:_MOST_ADDRESSES]

    async def _addresses(self, place: Place) -> list[Address]:
        if not isinstance(place.host, str):
            return [place.host]
        async with asyncio.timeout(self._patience_s):
            texts = await self._resolve(place.host, place.port)
        return [ip_address(text) for text in dict.fromkeys(texts)]

    async def _ask_system(self, name: str, port: int) -> Sequence[str]:
        def look_up() -> list[str]:
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
            return [str(where[0]) for *_, where in found]

        return await asyncio.get_running_loop().run_in_executor(self._lookups, look_up)
