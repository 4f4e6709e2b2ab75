"""What every application here has: commands by POST, what can be looked at by GET, errors told."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from amiral.base.errors import Denied, Invalid, NotFound
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line
from amiral.commands.named import parse_named
from amiral.commands.registry import Caller, Command, Commands
from amiral.web.answers import TooLong, answer, complain
from amiral.web.page import Asset
from amiral.web.paths import COMMANDS, Look, command_name
from amiral.web.patience import Patience

Endpoint = Callable[[Request], Awaitable[Response]]

LONGEST_BODY = 1 << 20

_MOST_DROPPED = 16 << 20
_HUNG_UP = 400


class CommandRoutes:
    """The command table over HTTP; decides nothing."""

    def __init__(self, commands: Commands, patience: Patience) -> None:
        self._commands, self._patience = commands, patience
        self._rows = commands.table.by_name()

    def routes(self, looks: Iterable[Look]) -> list[Route]:
        """Give every command by POST, and these looks."""
        found = [reading(look.path, self._look(look.command)) for look in looks]
        post = guarded(self._command)
        return [*found, Route(f"{COMMANDS}/{{name:path}}", post, methods=["POST"])]

    def carrying_out(self, name: str) -> Endpoint:
        """Give what carries one command out by POST, for a route of its own."""

        async def carry_out(request: Request) -> Response:
            return await self._carry_out(request, self._row(name), _arguments(await _body(request)))

        return carry_out

    def check_may(self, request: Request, name: str) -> None:
        """Raise Denied when the caller may not call the command `name`."""
        row, caller = self._rows[name], caller_of(request)
        if caller.role not in row.roles:
            raise Denied(f"`{row.name}` is not for the role {caller.role}", "ask the owner")

    async def _command(self, request: Request) -> Response:
        return await self.carrying_out(command_name(request.path_params["name"]))(request)

    def _look(self, name: str) -> Endpoint:
        async def look(request: Request) -> Response:
            return await self._carry_out(request, self._row(name), request.path_params)

        return look

    async def _carry_out(
        self, request: Request, row: Command, arguments: Mapping[str, object]
    ) -> Response:
        parsed = parse_named(row, arguments)
        async with self._patience.limit():
            reply = await self._commands.dispatch(caller_of(request), parsed)
        return answer(request, reply)

    def _row(self, name: str) -> Command:
        row = self._rows.get(name)
        if row is None:
            hint = did_you_mean(name, self._rows)
            raise NotFound(f"no command `{one_line(name, 40)}`{hint}", "openapi.json lists them")
        return row


def application(routes: Sequence[Route]) -> ASGIApp:
    """Make the routes one application; `request.state.caller` must be there."""
    app = Starlette(routes=routes, exception_handlers={HTTPException: _no_route})
    # It would write addresses from the Host header, which on a unix socket means nothing.
    app.router.redirect_slashes = False
    return app


def reading(path: str, endpoint: Endpoint) -> Route:
    """Make a route that changes nothing."""
    return Route(path, guarded(endpoint), methods=["GET"])


def serving(asset: Asset) -> Route:
    """Make the route of a file."""

    async def serve(_: Request) -> Response:
        return Response(asset.content, media_type=asset.media_type)

    return reading(f"/{asset.path}", serve)


def guarded(endpoint: Endpoint) -> Endpoint:
    """Answer whatever goes wrong; a person never meets a traceback."""

    async def answering(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ClientDisconnect:
            return Response(status_code=_HUNG_UP)
        except Exception as error:  # noqa: BLE001 - it is told to the client
            return complain(request, error)

    return answering


def caller_of(request: Request) -> Caller:
    """Give who asks, as the gate has found out; raises Denied when it has not."""
    caller = request.state.caller
    if not isinstance(caller, Caller):
        raise Denied("nobody is known to ask this")
    return caller


async def _no_route(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    shown = f"{request.method} {one_line(request.scope['path'])}"
    return complain(request, NotFound(f"there is no {shown}", "see openapi.json"), status)


async def _body(request: Request) -> bytes:
    """Read the body; of one that is too long what follows is dropped, so that its end is met.

    Answered in the middle of its own sending, a client would never read why.
    """
    body, size = bytearray(), 0
    async for piece in request.stream():
        size += len(piece)
        if size <= LONGEST_BODY:
            body += piece
        elif size > _MOST_DROPPED:
            break
    if size > LONGEST_BODY:
        raise TooLong(f"the body may have {LONGEST_BODY} bytes")
    return bytes(body)


def _arguments(body: bytes) -> dict[str, object]:
    try:
        return msgspec.json.decode(body or b"{}", type=dict[str, object])
    except (ValueError, RecursionError) as error:
        raise Invalid(f"the body is no JSON object: {error}") from None
