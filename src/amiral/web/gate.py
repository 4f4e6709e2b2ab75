"""The gate before every route: who calls and from where; strict headers on every answer (R51)."""

from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from amiral.base.errors import AmiralError, Denied, Invalid
from amiral.commands.registry import Caller, Role
from amiral.web.answers import JSON, complain
from amiral.web.origin import is_foreign, is_ours
from amiral.web.page import render_closed
from amiral.web.sessions import SESSION_S, WebSessions

_SURFACE = "web"
_READS = ("GET", "HEAD")
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Door:
    """What the gate needs to know of the place: our own names, the cookie, may anything change."""

    hosts: frozenset[str]
    cookie: str
    is_read_only: bool


class Gate:
    """Lets owners through on loopback with a token, and on the unix socket whoever is there.

    A peer of the unix socket comes with its role in `scope["state"]["role"]`; an agent's role lets
    it pass and reach what agents may. What follows finds the caller in `request.state.caller`.
    """

    def __init__(self, app: ASGIApp, sessions: WebSessions, door: Door) -> None:
        self._app, self._sessions, self._door = app, sessions, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or hand the request on."""

        async def send_dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        request = Request(scope)
        try:
            judged = await self._judge(request)
        except AmiralError as error:
            judged = complain(request, error)
        if isinstance(judged, Response):
            await judged(scope, receive, send_dressed)
            return
        scope["state"]["caller"] = judged
        await self._app(scope, receive, send_dressed)

    async def _judge(self, request: Request) -> Caller | Response:
        role = request.scope["state"].get("role")
        if role is not None:
            caller = Caller("owner" if role is Role.OWNER else str(role), role, _SURFACE)
            return self._refusal(request, by_cookie=False) or caller
        if not is_ours(self._door.hosts, request.headers):
            return complain(request, Denied("this is no address of ours"))
        if is_foreign(self._door.hosts, request.headers):
            return complain(request, Denied("another page may ask nothing here"))
        if (
            request.method == "GET"
            and request.scope["path"] == "/"
            and "code" in request.query_params
        ):
            return await self._exchange(request)
        bearer = _bearer(request)
        if not self._sessions.is_open(bearer or request.cookies.get(self._door.cookie, "")):
            return _unknown(request)
        caller = Caller("owner", Role.OWNER, _SURFACE)
        return self._refusal(request, by_cookie=not bearer) or caller

    def _refusal(self, request: Request, *, by_cookie: bool) -> Response | None:
        """Refuse what may not change anything; a browser names the page that a write comes from."""
        if request.method in _READS:
            return None
        if self._door.is_read_only:
            off = Denied("nothing may be changed here", 'amiral.toml says control = "off"')
            return complain(request, off)
        if by_cookie and "origin" not in request.headers:
            return complain(request, Denied("a write by cookie needs its Origin"))
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:
            return complain(request, Invalid(f"the body must be {JSON}"), 415)
        return None

    async def _exchange(self, request: Request) -> Response:
        """Trade a code for a cookie; a code that a browser fetches ahead, or needs not, stays."""
        cookie = self._door.cookie
        leave = Response(status_code=303, headers={"location": "/"})
        if self._sessions.is_open(request.cookies.get(cookie, "")):
            return leave
        if "sec-purpose" in request.headers:
            return _unknown(request)
        token = await self._sessions.exchange(request.query_params["code"])
        if not token:
            return _unknown(request)
        kept = f"Path=/; Max-Age={SESSION_S}; HttpOnly; SameSite=Strict"
        leave.headers["set-cookie"] = f"{cookie}={token}; {kept}"
        return leave


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _unknown(request: Request) -> Response:
    """Say nothing of what is here to one who shows no token, or one that does not count."""
    if request.scope["path"].endswith("/") and "text/html" in request.headers.get("accept", ""):
        response: Response = HTMLResponse(render_closed(), 401)
    else:
        response = complain(request, Denied("a token is needed", "amiral url"), 401)
    response.headers["www-authenticate"] = "Bearer"
    return response
