"""The HTTP server of one project, in its process: loopback with a token, and a unix socket."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from amiral.base.clock import Clock
from amiral.base.errors import AmiralError, Broken
from amiral.base.settings import Hub
from amiral.commands.registry import Commands, Role
from amiral.store.journal import Journal
from amiral.web.api import Api, Shown
from amiral.web.fanout import Fanout
from amiral.web.gate import Door, Gate
from amiral.web.listen import listen_on_loopback, listen_on_unix
from amiral.web.origin import our_hosts
from amiral.web.patience import GRACE_S, Patience
from amiral.web.sessions import WebSessions

RoleOf = Callable[[socket.socket], Role]

_MOST_CONNECTIONS = 512
_COOKIE_LENGTH = 8


@dataclass(frozen=True)
class Site:
    """Where and as what a project is served; `is_exact` = the port was asked for."""

    title: str
    hub: Hub
    is_exact: bool
    is_read_only: bool
    socket_path: Path


class WebServer:
    """Serves until it is closed; what cannot be listened at stands in `problems`."""

    def __init__(
        self, commands: Commands, journal: Journal, clock: Clock, role_of: RoleOf, site: Site
    ) -> None:
        self._commands, self._journal, self._clock = commands, journal, clock
        self._role_of, self._site = role_of, site
        self._sessions = WebSessions(journal, clock)
        self._fanout = Fanout(journal, clock)
        self._patience = Patience()
        self._listeners: list[socket.socket] = []
        self._server: uvicorn.Server | None = None
        self._base = ""
        self.problems: list[str] = []

    async def start(self) -> None:
        """Listen wherever it is possible."""
        site = self._site
        hosts: frozenset[str] = frozenset()
        with self._noting_problems():
            listener = listen_on_loopback(site.hub.host, site.hub.port, is_exact=site.is_exact)
            self._listeners.append(listener)
            address, port = listener.getsockname()[:2]
            hosts = our_hosts(address, port)
            self._base = (
                f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"
            )
            if site.hub.port not in (0, port):
                self.problems.append(f"port {site.hub.port} is in use: the page is at {port}")
        with self._noting_problems():
            self._listeners.append(listen_on_unix(site.socket_path))
        if self._listeners:
            await self._serve(hosts)

    def new_url(self) -> str:
        """Give the page's address with a new one-time code; Broken when there is no page."""
        if not self._base:
            raise Broken(self.problems[0], "repair it, then amiral down and amiral up")
        return f"{self._base}/?code={self._sessions.new_code()}"

    async def close(self) -> None:
        """Hang up: streams at once, commands that still wait after a short grace."""
        self._fanout.close()
        self._patience.end()
        if self._server is not None:
            loop = asyncio.get_running_loop()
            cut = loop.call_later(2 * GRACE_S, _abort, self._server)
            await self._server.shutdown(self._listeners)
            cut.cancel()
            self._site.socket_path.unlink(missing_ok=True)

    async def _serve(self, hosts: frozenset[str]) -> None:
        site = self._site
        shown = Shown(site.title, site.is_read_only)
        api = Api(self._commands, self._journal, self._fanout, self._patience, shown)
        cookie = f"amiral_{self._fanout.epoch[:_COOKIE_LENGTH]}"
        gate = Gate(api.app(), self._sessions, Door(hosts, cookie, site.is_read_only))
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
