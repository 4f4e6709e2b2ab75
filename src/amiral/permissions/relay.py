"""Bytes carried between two connections; no more of them is held than a buffer takes."""

import asyncio
import contextlib
import socket
import struct
from ipaddress import IPv6Address
from typing import NamedTuple, Self

from amiral.permissions.domains import Address

_CHUNK = 1 << 15
_RESET = struct.pack("ii", 1, 0)


class End(NamedTuple):
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def of(cls, connected: socket.socket, buffer_bytes: int) -> Self:
        """Take over a socket that is connected; it is closed when that fails."""
        try:
            # One whose machine went away without a word is found out by the kernel in the end.
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            reader, writer = await asyncio.open_connection(sock=connected, limit=buffer_bytes)
        except BaseException:
            connected.close()
            raise
        writer.transport.set_write_buffer_limits(high=0)
        return cls(reader, writer)

    async def say(self, data: bytes) -> None:
        """Write and wait until the kernel has all of it, as long as the other side takes for it."""
        self.writer.write(data)
        await self.writer.drain()

    async def part(self, within_s: float) -> None:
        """End our side and let the other read: closing over what came unread loses what we said."""
        with contextlib.suppress(OSError):
            async with asyncio.timeout(within_s):
                self.writer.write_eof()
                await self._discard()

    def drop(self) -> None:
        """End it at once; harmless when it has ended."""
        self.writer.transport.abort()

    def break_off(self) -> None:
        """End it so that the other side sees an error, not an end that looks like all of it."""
        held: socket.socket = self.writer.get_extra_info("socket")
        with contextlib.suppress(OSError):
            held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.drop()

    async def _discard(self) -> None:
        while await self.reader.read(_CHUNK):
            pass

    async def pour(self, into: Self, most: int | None = None) -> None:
        """Pass on what comes until it ends, or `most` bytes and nothing of what follows."""
        left = most
        while left != 0 and (data := await self.reader.read(min(left or _CHUNK, _CHUNK))):
            await into.say(data)
            left = None if left is None else left - len(data)
        if most is not None:
            await self._discard()


async def connect(address: Address, port: int, buffer_bytes: int) -> End:
    """Connect to an address. Raises OSError."""
    family = socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET
    connected = socket.socket(family, socket.SOCK_STREAM)
    try:
        connected.settimeout(0)
        await asyncio.get_running_loop().sock_connect(connected, (str(address), port))
    except BaseException:
        connected.close()
        raise
    return await End.of(connected, buffer_bytes)


async def carry(client: End, upstream: End, *, most: int | None, linger_s: float) -> None:
    """Carry both ways until the server ends; `most` bounds what the client sends.

    A client that ends leaves the server so long to end too. Raises OSError, TimeoutError among
    them, when a side broke: then what was carried is not all.
    """
    async with asyncio.timeout(None) as limit:
        sending = asyncio.create_task(_send(client, upstream, most, limit, linger_s))
        try:
            await upstream.pour(client)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)


async def _send(
    client: End, upstream: End, most: int | None, limit: asyncio.Timeout, linger_s: float
) -> None:
    with contextlib.suppress(OSError):
        await client.pour(upstream, most)
        upstream.writer.write_eof()
    limit.reschedule(asyncio.get_running_loop().time() + linger_s)
