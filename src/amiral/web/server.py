"""What serves an application over HTTP: loopback with a token, and a unix socket."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from amiral.base.clock import Clock
from amiral.base.errors import AmiralError, Broken
from amiral.base.settings import Hub
from amiral.commands.registry import Role
from amiral.store.journal import Journal
from amiral.web.gate import Door, Gate
from amiral.web.listen import listen_on_loopback, listen_on_unix
from amiral.web.origin import our_hosts
from amiral.web.patience import GRACE_S
from amiral.web.sessions import WebSessions

RoleOf = Callable[[socket.socket], Role]

_MOST_CONNECTIONS = 512
_COOKIE_LENGTH = 8


@dataclass(frozen=True)
class Site:
    """Where and as what it is served; `is_exact` = the port was asked for.

    Without `hub` it is served on the unix socket alone, and the hub's gateway shows its page.
    """

    title: str
    hub: Hub | None
    is_exact: bool
    is_read_only: bool
    socket_path: Path


class Server:
    """Serves one application until it is closed; what cannot be listened at is in `problems`."""

    def __init__(self, journal: Journal, clock: Clock, role_of: RoleOf, site: Site) -> None:
        self._role_of, self._site = role_of, site
        self._sessions = WebSessions(journal, clock)
        self._cookie = f"amiral_{journal.epoch[:_COOKIE_LENGTH]}"
        self._listeners: list[socket.socket] = []
        self._server: uvicorn.Server | None = None
        self._base = ""
        self.problems: list[str] = []

    async def start(self, app: ASGIApp) -> None:
        """Listen wherever it is possible; `app` finds who asks in `request.state.caller`."""
        hosts: frozenset[str] = frozenset()
        if self._site.hub is not None:
            with self._noting_problems():
                hosts = self._listen_on_loopback(self._site.hub)
        with self._noting_problems():
            self._listeners.append(listen_on_unix(self._site.socket_path))
        if self._listeners:
            await self._serve(Gate(app, self._sessions, self._door(hosts)))

    def new_url(self) -> str:
        """Give the page's address with a new one-time code; Broken when there is no page."""
        if self._site.hub is None:
            raise Broken("the hub serves the page", "amiral url")
        if not self._base:
            raise Broken(self.problems[0], "repair it, then amiral down and amiral up")
        return f"{self._base}/?code={self._sessions.new_code()}"

    async def close(self) -> None:
        """Take nothing more, let what is being answered end, hang up on it after a short grace."""
        if self._server is not None:
            loop = asyncio.get_running_loop()
            cut = loop.call_later(2 * GRACE_S, _abort, self._server)
            await self._server.shutdown(self._listeners)
            cut.cancel()
            self._site.socket_path.unlink(missing_ok=True)

    def _listen_on_loopback(self, hub: Hub) -> frozenset[str]:
        """Listen there and give the Host headers that mean us."""
        listener = listen_on_loopback(hub.host, hub.port, is_exact=self._site.is_exact)
        self._listeners.append(listener)
        address, port = listener.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        self._base = f"http://{shown}:{port}"
        if hub.port not in (0, port):
            self.problems.append(f"port {hub.port} is in use: the page is at {port}")
        return our_hosts(address, port)

    def _door(self, hosts: frozenset[str]) -> Door:
        return Door(hosts, self._cookie, self._site.is_read_only)

    async def _serve(self, gate: Gate) -> None:
        config = uvicorn.Config(
            gate,
            http=_connections(self._role_of),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
        )
        config.load()
        # Started and ended by hand: `serve` would take our signals and wake ten times a second.
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup(self._listeners)

    @contextlib.contextmanager
    def _noting_problems(self) -> Iterator[None]:
        try:
            yield
        except AmiralError as error:
            self.problems.append(error.message)


def _connections(role_of: RoleOf) -> type[H11Protocol]:
    class Connection(H11Protocol):
        """A connection that knows its peer's role, looked at when it connects, on the unix socket.

        On loopback it has none: a token must tell.
        """

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            link = transport.get_extra_info("socket")
            if link.family == socket.AF_UNIX:
                self.app_state = {**self.app_state, "role": role_of(link)}

    return Connection


def _abort(server: uvicorn.Server) -> None:
    """Hang up on who does not read what is left for it."""
    for connection in list(server.server_state.connections):
        connection.transport.abort()
