"""The routes of one project: its commands, events, stream and page."""

from dataclasses import dataclass

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from amiral import __version__
from amiral.base import events as ev
from amiral.base.clock import iso_utc
from amiral.base.errors import Invalid
from amiral.base.plain import one_line
from amiral.commands.registry import Commands, Reply
from amiral.store.journal import Journal
from amiral.web.answers import answer
from amiral.web.fanout import Fanout
from amiral.web.history import Row, read_stretch
from amiral.web.live import Live
from amiral.web.openapi import describe
from amiral.web.page import assets, render_page
from amiral.web.paths import LOOKS
from amiral.web.patience import Patience
from amiral.web.routes import CommandRoutes, application, reading, serving

_READING = "events"
"""The command whose rights count for the stream, the events and the page."""

_MOST_EVENTS = 1000
_MOST_BYTES = 1 << 20


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
        self._fanout, self._shown = fanout, shown
        self._table = CommandRoutes(commands, patience)

    def app(self) -> ASGIApp:
        """Give the routes as one application; `request.state.caller` must be there."""
        reads = {"/api/events": self._events, "/api/stream": self._stream}
        reads |= {"/openapi.json": self._document, "/": self._page}
        routes = [reading(path, endpoint) for path, endpoint in reads.items()]
        return application([*self._table.routes(LOOKS), *map(serving, assets()), *routes])

    async def _events(self, request: Request) -> Response:
        """A stretch of the journal after `since`: at most `limit` events, or about 1 MiB."""
        self._table.check_may(request, _READING)
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
        self._table.check_may(request, _READING)
        return Live(self._fanout, request)

    async def _document(self, request: Request) -> Response:
        return answer(request, Reply(data=describe(self._commands.offered(), __version__)))

    async def _page(self, request: Request) -> Response:
        self._table.check_may(request, _READING)
        place = f"{self._fanout.epoch}:{self._fanout.newest}"
        names = sorted(kind.__name__ for kind in ev.ALL)
        is_read_only = self._shown.is_read_only
        page = render_page(self._shown.title, place, names, is_read_only=is_read_only)
        return HTMLResponse(page)


def _number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name, str(default))
    if not (given.isascii() and given.isdecimal() and len(given) <= len(str(1 << 62))):
        raise Invalid(f"{name} must be a whole number, 0 or more (got {one_line(given, 40)!r})")
    return min(int(given), 1 << 62)


def _event(row: Row) -> dict[str, object]:
    seq, ts_ms, by, name, version, payload = row
    stamp = {"seq": seq, "ts": iso_utc(ts_ms), "by": by, "name": name, "version": version}
    return {**stamp, "payload": msgspec.Raw(payload)}
