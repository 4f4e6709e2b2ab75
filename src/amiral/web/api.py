"""The routes: every command by POST, what can be looked at by GET, events, stream and page."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from amiral import __version__
from amiral.base import events as ev
from amiral.base.clock import iso_utc
from amiral.base.errors import Denied, Invalid, NotFound
from amiral.base.nearest import did_you_mean
from amiral.base.plain import one_line
from amiral.commands.named import parse_named
from amiral.commands.registry import Caller, Command, Commands, Reply
from amiral.store.journal import Journal
from amiral.web.answers import TooLong, answer, complain
from amiral.web.fanout import Fanout
from amiral.web.history import Row, read_stretch
from amiral.web.live import Live
from amiral.web.openapi import describe
from amiral.web.page import Asset, assets, render_page
from amiral.web.paths import COMMANDS, LOOKS, command_name
from amiral.web.patience import Patience

Endpoint = Callable[[Request], Awaitable[Response]]

LONGEST_BODY = 1 << 20

_READING = "events"
"""The command whose rights count for the stream, the events and the page."""

_MOST_EVENTS = 1000
_MOST_BYTES = 1 << 20
_MOST_DROPPED = 16 << 20
_HUNG_UP = 400


@dataclass(frozen=True)
class Shown:
    """What the page says of the project."""

    title: str
    is_read_only: bool


class Api:
    """Translates between HTTP and the command table; decides nothing."""

    def __init__(
        self, commands: Commands, journal: Journal, fanout: Fanout, patience: Patience, shown: Shown
    ) -> None:
        self._commands, self._journal = commands, journal
        self._fanout, self._patience, self._shown = fanout, patience, shown
        self._rows = commands.table.by_name()

    def app(self) -> ASGIApp:
        """Give the routes as one application; `request.state.caller` must be there."""
        reads: dict[str, Endpoint] = {look.path: self._look(look.command) for look in LOOKS}
        reads |= {asset.path: _serve(asset) for asset in assets()}
        reads |= {"/api/events": self._events, "/api/stream": self._stream}
        reads |= {"/openapi.json": self._document, "/": self._page}
        routes = [Route(path, _guarded(read), methods=["GET"]) for path, read in reads.items()]
        post = _guarded(self._command)
        routes.append(Route(f"{COMMANDS}/{{name:path}}", post, methods=["POST"]))
        return Starlette(routes=routes, exception_handlers={HTTPException: _no_route})

    async def _command(self, request: Request) -> Response:
        row = self._row(command_name(request.path_params["name"]))
        return await self._carry_out(request, row, _arguments(await _body(request)))

    def _look(self, name: str) -> Endpoint:
        async def look(request: Request) -> Response:
            return await self._carry_out(request, self._row(name), request.path_params)

        return look

    async def _carry_out(
        self, request: Request, row: Command, arguments: Mapping[str, object]
    ) -> Response:
        parsed = parse_named(row, arguments)
        async with self._patience.limit():
            reply = await self._commands.dispatch(_caller(request), parsed)
        return answer(request, reply)

    async def _events(self, request: Request) -> Response:
        """A stretch of the journal after `since`: at most `limit` events, or about 1 MiB."""
        self._check_may_read(request)
        since = _number(request, "since", 0)
        limit = min(_number(request, "limit", _MOST_EVENTS), _MOST_EVENTS)
        newest = self._journal.last_seq
        stretch = read_stretch(
            self._journal, since, newest, most_rows=limit, most_bytes=_MOST_BYTES
        )
        told = [_event(row) for row in stretch]
        data = {"epoch": self._fanout.epoch, "last_seq": newest, "events": told}
        return answer(request, Reply(data=data))

    async def _stream(self, request: Request) -> Response:
        self._check_may_read(request)
        return Live(self._fanout, request)

    async def _document(self, request: Request) -> Response:
        return answer(request, Reply(data=describe(self._commands.offered(), __version__)))

    async def _page(self, request: Request) -> Response:
        self._check_may_read(request)
        place = f"{self._fanout.epoch}:{self._fanout.newest}"
        names = sorted(kind.__name__ for kind in ev.ALL)
        is_read_only = self._shown.is_read_only
        page = render_page(self._shown.title, place, names, is_read_only=is_read_only)
        return HTMLResponse(page)

    def _row(self, name: str) -> Command:
        row = self._rows.get(name)
        if row is None:
            hint = did_you_mean(name, self._rows)
            raise NotFound(f"no command `{one_line(name, 40)}`{hint}", "/openapi.json lists them")
        return row

    def _check_may_read(self, request: Request) -> None:
        row, caller = self._rows[_READING], _caller(request)
        if caller.role not in row.roles:
            raise Denied(f"`{row.name}` is not for the role {caller.role}", "ask the owner")


def _guarded(endpoint: Endpoint) -> Endpoint:
    """Answer whatever goes wrong; a person never meets a traceback."""

    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ClientDisconnect:
            return Response(status_code=_HUNG_UP)
        except Exception as error:  # noqa: BLE001 - it is told to the client
            return complain(request, error)

    return guarded


def _serve(asset: Asset) -> Endpoint:
    async def serve(_: Request) -> Response:
        return Response(asset.content, media_type=asset.media_type)

    return serve


async def _no_route(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    shown = f"{request.method} {one_line(request.scope['path'])}"
    return complain(request, NotFound(f"there is no {shown}", "see /openapi.json"), status)


def _caller(request: Request) -> Caller:
    caller = request.state.caller
    if not isinstance(caller, Caller):
        raise Denied("nobody is known to ask this")
    return caller


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


def _number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name, str(default))
    if not (given.isascii() and given.isdecimal() and len(given) <= len(str(1 << 62))):
        raise Invalid(f"{name} must be a whole number, 0 or more (got {one_line(given, 40)!r})")
    return min(int(given), 1 << 62)


def _event(row: Row) -> dict[str, object]:
    seq, ts_ms, by, name, version, payload = row
    stamp = {"seq": seq, "ts": iso_utc(ts_ms), "by": by, "name": name, "version": version}
    return {**stamp, "payload": msgspec.Raw(payload)}
