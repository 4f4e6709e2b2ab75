"""Speaks to the Bot API, one call and its answer; the token leaves this file in requests alone.

The exceptions of aiohttp, and the variables of its frames, hold the address and so the token. None
of them gets out: a call ends in a result or in a failure of ours that never saw them.
"""

import asyncio
import contextlib
import importlib
import json
import logging
import os
import re
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec

from amiral.base.errors import Broken, Invalid
from amiral.telegram.answers import RawUpdate, raw_update, read_answer
from amiral.telegram.arrival import arriving
from amiral.telegram.failures import Reason, Refused, Unreachable
from amiral.telegram.upload import Upload

API_BASE = "https://api.telegram.org"
MOST_UPLOADED = 50 << 20
MOST_DOWNLOADED = 20 << 20

_CALL_S = 20.0
_FILES_S = 300.0
_CONNECT_S = 10.0
_PIECE = 64 << 10
_MOST_ANSWERED = 16 << 20
_OK = 200
_TOKEN = re.compile(r"[0-9]{6,16}:[A-Za-z0-9_-]{30,64}")
_ADDRESS = re.compile(r"https?://[^\s@?#]+")
_PROXIES = ("http", "https", "socks4", "socks5", "socks5h")
# All of these happen before a request is on its way.
_UNSENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)

AnswerT = TypeVar("AnswerT")
OutcomeT = TypeVar("OutcomeT")


@dataclass(frozen=True)
class _Answered:
    status: int
    body: bytearray


@dataclass(frozen=True)
class _Silence:
    what: str
    is_unsent: bool


@dataclass(frozen=True)
class _Unwritten:
    number: int


class _File(msgspec.Struct):
    file_path: str = ""
    file_size: int = 0


class Connections:
    """The connections of all bots of a process, through `proxy` ("" for none).

    An http or https proxy needs nothing more, a socks one the extra `amiral[socks]`. The proxies
    that the environment names are not used. Raises Invalid, and Broken without the extra.
    """

    def __init__(self, proxy: str = "") -> None:
        scheme = proxy.partition("://")[0].lower()
        if proxy and scheme not in _PROXIES:
            raise Invalid(
                "the proxy is no usable address (not shown: a password may be in it)",
                f"begin it with one of: {', '.join(f'{name}://' for name in _PROXIES)}",
            )
        self._socks = proxy if scheme.startswith("socks") else ""
        self._proxy = None if self._socks else proxy or None
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        aiohttp_log = logging.getLogger("aiohttp")
        aiohttp_log.setLevel(max(aiohttp_log.level, logging.WARNING))
        self._session = aiohttp.ClientSession(
            connector=self._connector(),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "amiral"},
        )
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self._session.close()

    def request(self, verb: str, address: str, *, limit_s: float, **more: Any) -> Any:  # noqa: ANN401
        """Begin a request; where a redirect would lead, the token has no business."""
        timeout = aiohttp.ClientTimeout(total=limit_s, sock_connect=_CONNECT_S)
        more |= {"timeout": timeout, "proxy": self._proxy, "allow_redirects": False}
        return self._session.request(verb, address, **more)

    def _connector(self) -> aiohttp.BaseConnector:
        if not self._socks:
            return aiohttp.TCPConnector(limit=0)
        try:
            socks: Any = importlib.import_module("aiohttp_socks")
        except ImportError:
            what = "a socks proxy needs a package that is not installed"
            raise Broken(what, "pip install amiral[socks]") from None
        url = re.sub("^socks5h:", "socks5:", self._socks, flags=re.IGNORECASE)
        connector: aiohttp.BaseConnector = socks.ProxyConnector.from_url(url, rdns=True, limit=0)
        return connector


class Bot:
    """One bot. Every method raises what `amiral.telegram.failures` names.

    `api_base` is the address of Telegram's server or of one's own. Raises Invalid for a token or
    address that cannot be one; the token is not repeated.
    """

    def __init__(self, token: str, connections: Connections, api_base: str = API_BASE) -> None:
        is_token = _TOKEN.fullmatch(token) is not None
        self._token = token if is_token else ""
        self.id = int(self._token.partition(":")[0] or 0)
        del token
        if not is_token:
            raise Invalid(
                "that is not a bot's token (it is not shown here)",
                "copy from @BotFather's message only the line like 123456789:AA…",
            )
        if not _ADDRESS.fullmatch(api_base):
            raise Invalid(
                "[telegram] api_base is no http(s) address without a password, ? and #",
                f'the usual one is "{API_BASE}"',
            )
        self._base = api_base.rstrip("/")
        self._connections = connections

    def __repr__(self) -> str:
        return f"Bot({self.id})"

    async def call(
        self,
        method: str,
        into: type[AnswerT],
        /,
        *,
        timeout_s: float = 0.0,
        files: Sequence[Upload] = (),
        **parameters: object,
    ) -> AnswerT:
        """Call a method; its result is converted into `into`, a type that msgspec knows.

        Parameters are JSON-like; those that are None are left out. Refused, before anything is
        sent, for files that are too big or cannot be read. `timeout_s` 0 takes the usual one.
        """
        given = {name: value for name, value in parameters.items() if value is not None}
        limit_s = timeout_s or (_FILES_S if files else _CALL_S)
        with contextlib.ExitStack() as opened:
            content = _form(method, given, files, opened) if files else json.dumps(given).encode()
            answered = await _outcome(self._post(method, content, limit_s))
        result = self._result(method, answered)
        with contextlib.suppress(msgspec.ValidationError):
            return msgspec.convert(result, into)
        raise Unreachable(method, "an answer of another shape")

    async def updates(
        self, offset: int = 0, *, wait_s: int = 25, kinds: Sequence[str] = ()
    ) -> tuple[RawUpdate, ...]:
        """Wait for updates. Telegram forgets all before `offset` from here on.

        `kinds` are those wanted from now on, the usual ones when empty.
        """
        found = await self.call(
            "getUpdates",
            list[dict[str, object]],
            timeout_s=wait_s + _CALL_S,
            offset=offset or None,
            timeout=wait_s,
            allowed_updates=list(kinds),
        )
        return tuple(map(raw_update, found))

    async def download(self, file_id: str, path: Path, *, most_bytes: int = MOST_DOWNLOADED) -> int:
        """Store a file at `path`, whole or not at all; gives its size in bytes.

        Refused when it is longer than `most_bytes`, Broken when the disk refuses.
        """
        told = await self.call("getFile", _File, file_id=file_id)
        if told.file_size > most_bytes:
            raise _too_big("download", most_bytes)
        with arriving(path) as file:
            stored = await _outcome(self._get(quote(told.file_path), file, most_bytes))
            match stored:
                case int() if stored <= most_bytes:
                    return stored
                case int():
                    raise _too_big("download", most_bytes)
                case _Unwritten():
                    raise OSError(stored.number, os.strerror(stored.number))
                case _Answered(status=404):
                    raise Refused("download", "the file is gone", Reason.OTHER)
                case _:
                    self._result("download", stored)
                    raise Unreachable("download", "no file")

    async def _post(
        self, method: str, content: aiohttp.FormData | bytes, limit_s: float
    ) -> _Answered:
        headers = {"Content-Type": "application/json"} if isinstance(content, bytes) else None
        address = f"{self._base}/bot{self._token}/{method}"
        async with self._connections.request(
            "POST", address, data=content, headers=headers, limit_s=limit_s
        ) as response:
            return await self._read(response)

    async def _get(
        self, place: str, file: BinaryIO, most_bytes: int
    ) -> int | _Answered | _Unwritten:
        address = f"{self._base}/file/bot{self._token}/{place}"
        size = 0
        async with self._connections.request("GET", address, limit_s=_FILES_S) as response:
            if response.status != _OK:
                return await self._read(response)
            async for piece in response.content.iter_chunked(_PIECE):
                size += len(piece)
                if size > most_bytes:
                    break
                try:
                    file.write(piece)
                except OSError as error:
                    return _Unwritten(error.errno or 0)
        return size

    def _result(self, method: str, answered: _Answered | _Silence) -> object:
        if isinstance(answered, _Silence):
            raise Unreachable(method, answered.what, is_unsent=answered.is_unsent)
        return read_answer(method, answered.status, answered.body)

    async def _read(self, response: aiohttp.ClientResponse) -> _Answered:
        body = bytearray()
        async for piece in response.content.iter_chunked(_PIECE):
            body += piece
            if len(body) > _MOST_ANSWERED:
                # Cut short it is no JSON any more, and told as such.
                break
        # Whoever answers may repeat what it was asked.
        return _Answered(response.status, body.replace(self._token.encode(), b"[redacted]"))


async def _outcome(work: Coroutine[Any, Any, OutcomeT]) -> OutcomeT | _Silence:
    """Await what aiohttp does, and let none of its exceptions and frames out, not as a context."""
    try:
        return await work
    except asyncio.CancelledError:
        pass
    except Exception as error:  # noqa: BLE001 whatever it is, it holds the address
        is_unsent = isinstance(error, _UNSENT) or "_socks" in type(error).__module__
        return _Silence(type(error).__name__, is_unsent)
    raise asyncio.CancelledError


def _form(
    method: str,
    given: Mapping[str, object],
    files: Sequence[Upload],
    opened: contextlib.ExitStack,
) -> aiohttp.FormData:
    # Names are not percent-encoded: Telegram would show them so.
    form = aiohttp.FormData(quote_fields=False)
    for name, value in given.items():
        form.add_field(name, value if isinstance(value, str) else json.dumps(value))
    size = 0
    for one in files:
        file, length = one.open(method)
        form.add_field(one.field, opened.enter_context(file), filename=one.shown)
        size += length
    if size > MOST_UPLOADED:
        raise _too_big(method, MOST_UPLOADED)
    return form


def _too_big(method: str, most_bytes: int) -> Refused:
    return Refused(method, f"file is too big: over {most_bytes >> 20} MB", Reason.TOO_BIG)
