"""Answers of the HTTP API: a command's reply, or an error, as the document `--json` prints."""

from collections.abc import AsyncIterator, Mapping

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from amiral.base.errors import AmiralError, Broken, Invalid
from amiral.commands.output import print_error, print_reply
from amiral.commands.registry import Reply

JSON = "application/json"
TEXT = "text/plain"

_LINES = "application/x-ndjson"
_BROKEN, _TOO_LONG = 500, 413
_STATUS: Mapping[str, int] = {
    "usage": 400,
    "denied": 403,
    "not_found": 404,
    "conflict": 409,
    "unavailable": 501,
    "unreachable": 503,
}


class Leaving(AmiralError):
    """The process ends while a command still waits for something."""

    kind = "unreachable"


class TooLong(Invalid):
    """A body over the cap."""


def answer(request: Request, reply: Reply) -> Response:
    """Give a reply: JSON, the text for people to whoever accepts just that, lines of a stream."""
    if reply.items is not None:
        return StreamingResponse(_lines(reply.items), media_type=_LINES)
    return _response(request, print_reply(reply, as_json=not _wants_text(request)).out)


def complain(request: Request, error: Exception, status: int = 0) -> Response:
    """Give an error with the status of its kind, or with this one; a fault of ours is told too."""
    if not isinstance(error, AmiralError):
        error = Broken(f"a fault of amiral: {error!r}", "`amiral doctor` looks further")
    printed = print_error(error, as_json=not _wants_text(request))
    of_kind = _TOO_LONG if isinstance(error, TooLong) else _STATUS.get(error.kind, _BROKEN)
    return _response(request, printed.out + printed.err, status or of_kind)


def _response(request: Request, body: str, status: int = 200) -> Response:
    return Response(body, status, media_type=TEXT if _wants_text(request) else JSON)


async def _lines(items: AsyncIterator[Reply]) -> AsyncIterator[str]:
    try:
        async for item in items:
            yield print_reply(item, as_json=True).out
    except AmiralError as error:
        yield print_error(error, as_json=True).out


def _wants_text(request: Request) -> bool:
    return request.headers.get("accept") == TEXT
