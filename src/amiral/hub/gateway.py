"""The hub over HTTP: an index, its own commands, and every project's page and API below `/p/`."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from amiral import __version__
from amiral.base.clock import Clock
from amiral.base.errors import Conflict, Denied, NotFound
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line
from amiral.commands.registry import Commands, Reply, Role
from amiral.hub.index import Served, path_of, render_index
from amiral.hub.marks import RUNNING
from amiral.hub.relay import Errand, Relay
from amiral.hub.upstream import Way
from amiral.store.journal import Journal
from amiral.web.answers import answer
from amiral.web.openapi import describe
from amiral.web.page import assets
from amiral.web.paths import Look, command_path
from amiral.web.patience import Patience
from amiral.web.routes import (
    CommandRoutes,
    Endpoint,
    application,
    caller_of,
    guarded,
    reading,
    serving,
)
from amiral.web.server import RoleOf, Server, Site

__all__ = ["Gateway", "Served"]

LOOKS: Final = (Look("/api/master/health", "health"), Look("/api/master/status", "status"))

_OURS = ("emergency-stop", "release", "freeze", "thaw")


class Gateway:
    """Serves until it is closed; what cannot be listened at stands in `problems`.

    A project's process takes the hub for the owner: so nobody but the owner is handed on to one.
    """

    def __init__(
        self,
        commands: Commands,
        journal: Journal,
        clock: Clock,
        role_of: RoleOf,
        site: Site,
        served: Callable[[], Sequence[Served]],
    ) -> None:
        self._commands, self._role_of, self._served = commands, role_of, served
        self._folder = site.socket_path.parent
        self._patience = Patience()
        self._relay = Relay()
        self._server = Server(journal, clock, role_of, site)
        self.problems = self._server.problems

    async def start(self) -> None:
        """Listen wherever it is possible."""
        await self._server.start(self._app())

    def new_url(self) -> str:
        """Give the page's address with a new one-time code; Broken when there is no page."""
        return self._server.new_url()

    async def close(self) -> None:
        """Hang up: what is relayed at once, commands of the hub that wait after a short grace."""
        self._patience.end()
        self._relay.close()
        await self._server.close()

    def _app(self) -> ASGIApp:
        table = CommandRoutes(self._commands, self._patience)
        return application(
            [
                *table.routes(LOOKS),
                *map(serving, assets()),
                reading("/openapi.json", self._document),
                reading("/", self._index),
                reading("/p/{project}", self._add_slash),
                *self._stops(table),
                Route("/p/{project}/{path:path}", guarded(self._hand_on), methods=["GET", "POST"]),
            ]
        )

    def _stops(self, table: CommandRoutes) -> Iterator[Route]:
        """Carry a stop out here, from whatever page it comes: a project's process may hang."""
        for name in _OURS:
            endpoint = guarded(self._instead(table.carrying_out(name)))
            yield Route(f"/p/{{project}}{command_path(name)}", endpoint, methods=["POST"])

    def _instead(self, endpoint: Endpoint) -> Endpoint:
        async def answer_instead(request: Request) -> Response:
            _check_owner(request)
            self._named(request)
            _target(request)
            return await endpoint(request)

        return answer_instead

    async def _document(self, request: Request) -> Response:
        told = describe(self._commands.offered(), __version__, LOOKS, has_events=False)
        return answer(request, Reply(data=told))

    async def _index(self, request: Request) -> Response:
        _check_owner(request)
        return HTMLResponse(render_index(self._served()))

    async def _add_slash(self, request: Request) -> Response:
        """Lead to the address that the page's relative paths start from."""
        _check_owner(request)
        self._named(request)
        location = path_of(request.path_params["project"])
        return Response(status_code=307, headers={"location": location})

    async def _hand_on(self, request: Request) -> Response:
        _check_owner(request)
        one = self._named(request)
        told = [one.name] if one.state == RUNNING else [one.name, one.state, one.detail]
        way = Way(one.socket, self._folder, lambda link: self._role_of(link) is Role.OWNER)
        return self._relay.response(Errand(" · ".join(filter(None, told)), way, _target(request)))

    def _named(self, request: Request) -> Served:
        wanted, known = request.path_params["project"], self._served()
        by_id = [one for one in known if one.id == wanted]
        found = by_id or [one for one in known if one.name == wanted]
        if len(found) > 1:
            ids = ", ".join(one.id for one in found)
            raise Conflict(f"{len(found)} projects are called {one_line(wanted)}", f"by id: {ids}")
        if not found:
            hint = did_you_mean(wanted, [one.name for one in known])
            raise NotFound(f"no project {one_line(wanted)}{hint}", "amiral projects")
        return found[0]


def _check_owner(request: Request) -> None:
    role = caller_of(request).role
    if role is not Role.OWNER:
        raise Denied(f"a project's page is not for the role {role}", "ask the owner")


def _target(request: Request) -> bytes:
    """Give what follows `/p/<project>`, as it was sent; raises NotFound when a slash is hidden."""
    parts: list[bytes] = request.scope["raw_path"].split(b"/", 3)
    shown = [unquote(part.decode("ascii")) for part in parts[:3]]
    if len(parts) < len(("", "p", "project", "path")) or shown[2] != request.path_params["project"]:
        raise NotFound("that path names no project", "amiral projects")
    query: bytes = request.scope["query_string"]
    return b"/" + parts[3] + (b"?" + query if query else b"")
