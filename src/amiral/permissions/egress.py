"""The way out of a fenced worker: an HTTP proxy of its own that reaches what its owner lists.

What it promises and what it does not stands in docs/reference/egress.md.
"""

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Final

from amiral.base.clock import Clock, SystemClock
from amiral.base.errors import Broken
from amiral.permissions.domains import read_allowed
from amiral.permissions.exchange import Bounds, Exchange, Terms, Visit
from amiral.permissions.outside import Outside
from amiral.permissions.relay import End

_LOOPBACK = "127.0.0.1"
_TOKEN_BYTES = 32
_PAUSE_S = 1.0
_BOUNDS: Final = Bounds()


def environment(port: int, token: str) -> Mapping[str, str]:
    """Give the variables by which programs find their way out.

    Nothing goes around the proxy (`NO_PROXY` is empty): where the way is fenced, its refusal says
    why and the kernel's does not. git shows the token at once, and Node heeds these variables.
    """
    url = f"http://amiral:{token}@{_LOOPBACK}:{port}"
    named = {"HTTP_PROXY": url, "HTTPS_PROXY": url, "ALL_PROXY": url, "NO_PROXY": ""}
    lower = {name.lower(): value for name, value in named.items()}
    return named | lower | {"GIT_HTTP_PROXY_AUTHMETHOD": "basic", "NODE_USE_ENV_PROXY": "1"}


class EgressProxy:
    """One worker's proxy, on a port of its own, for who shows its token (a new one when "").

    `log` is called within the loop. Raises Invalid for a list that cannot be read.
    """

    def __init__(
        self,
        allowed: Sequence[str],
        log: Callable[[Visit], None],
        *,
        token: str = "",
        outside: Outside | None = None,
        clock: Clock | None = None,
        bounds: Bounds = _BOUNDS,
    ) -> None:
        self.token = token or secrets.token_urlsafe(_TOKEN_BYTES)
        self._outside = outside or Outside()
        self._clock = clock or SystemClock()
        self._bounds = bounds
        self._terms = Terms(read_allowed(allowed), self.token, self._outside, bounds, log)
        self._places = asyncio.Semaphore(bounds.connections)
        self._listener: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, listener: socket.socket | None = None) -> int:
        """Listen and give the port; Broken when that fails. A listener that is given is taken.

        It may be one of a network namespace from which nothing else can be reached.
        """
        self._listener = listener or self._listen()
        self._listener.settimeout(0)
        self._keep(self._accept(self._listener))
        port: int = self._listener.getsockname()[1]
        return port

    async def close(self) -> None:
        """Listen no more and end every connection; harmless when closed."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._listener is not None:
            self._listener.close()
        self._outside.close()

    def _listen(self) -> socket.socket:
        try:
            return socket.create_server((_LOOPBACK, 0), backlog=self._bounds.waiting)
        except OSError as error:
            raise Broken(f"nothing can listen on {_LOOPBACK}: {error.strerror}") from error

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._places.acquire()
            try:
                connected, _ = await loop.sock_accept(listener)
                client = await End.of(connected, self._bounds.buffer_bytes)
            except OSError:
                # Mostly there is no file descriptor left; later there may be.
                self._places.release()
                await self._clock.sleep(_PAUSE_S)
            else:
                self._keep(self._serve(client)).add_done_callback(self._leave(client))

    def _keep(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _leave(self, client: End) -> Callable[[asyncio.Task[None]], None]:
        def leave(_task: asyncio.Task[None]) -> None:
            client.drop()
            self._places.release()

        return leave

    async def _serve(self, client: End) -> None:
        with contextlib.suppress(OSError):
            try:
                await Exchange(client, self._terms).run()
            except BaseException:
                client.break_off()
                raise
            await client.part(self._bounds.part_s)
