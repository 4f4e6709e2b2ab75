"""The Bot API over HTTP on the loopback, with what a test does to it under `/_ctl/`."""

import inspect
import io
import json
from typing import Self

from aiohttp import web

from amiral.base.clock import Clock, SystemClock
from amiral.base.errors import AmiralError
from amiral.testbench.bot_api.control import carry_out
from amiral.testbench.bot_api.faults import Fault, Kind
from amiral.testbench.bot_api.files import MOST_UPLOADED
from amiral.testbench.bot_api.methods import method
from amiral.testbench.bot_api.record import Request
from amiral.testbench.bot_api.webhooks import Deliveries
from amiral.testbench.bot_api.wire import Parameters, Refusal, SentFile, bad_request, flood
from amiral.testbench.bot_api.world import World

_FORM_OVERHEAD = 64 << 10
_NOT_EXECUTED = {Kind.FLOOD, Kind.ERROR, Kind.BAD_GATEWAY, Kind.DROP_BEFORE, Kind.REFUSE}
_BAD_GATEWAY = "<html>\n<head><title>502 Bad Gateway</title></head>\n<body>nginx</body></html>"


class BotApi:
    """An emulator of Telegram's Bot API: strict where Telegram is. Nothing in it is kept."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.world = World(clock or SystemClock())
        self.url = ""
        self._deliveries = Deliveries(self.world)
        self.world.on_webhook = self._deliveries.start
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.stop()

    def do(self, verb: str, **fields: object) -> object:
        """Have something happen; raises Invalid or NotFound when it cannot."""
        return carry_out(self.world, verb, fields)

    async def start(self, port: int = 0) -> str:
        """Listen on the loopback, 0 at any free port; gives the address for `api_base`."""
        app = web.Application(client_max_size=MOST_UPLOADED + _FORM_OVERHEAD)
        app.router.add_route("*", "/bot{token}/{method}", self._call)
        app.router.add_get("/file/bot{token}/{path:.*}", self._download)
        app.router.add_post("/_ctl/{verb}", self._control)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self.url

    async def stop(self) -> None:
        """Drop what is being answered, and listen no more."""
        await self._deliveries.stop()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _control(self, request: web.Request) -> web.Response:
        try:
            fields = json.loads(await request.text() or "{}")
            return web.json_response(carry_out(self.world, request.match_info["verb"], fields))
        except (AmiralError, ValueError, LookupError) as error:
            return web.json_response({"error": str(error)}, status=400)

    async def _call(self, request: web.Request) -> web.StreamResponse:
        entry = self._entry(request, request.match_info["method"])
        try:
            parameters = await _parameters(request)
        except web.HTTPRequestEntityTooLarge:
            return _refused(entry, Refusal(413, "Request Entity Too Large"))
        except ValueError:
            return _refused(entry, bad_request("can't parse request body"))
        entry.parameters = parameters.shown()
        fault = self._fault(entry)
        if fault is not None and fault.kind in _NOT_EXECUTED:
            return _misanswered(request, entry, fault)
        if fault is not None and fault.kind is Kind.HANG:
            await self.world.clock.sleep(fault.seconds)
        response = await self._executed(request, entry, parameters)
        if fault is not None and fault.kind in {Kind.DROP_AFTER, Kind.GARBAGE}:
            return _misanswered(request, entry, fault)
        return response

    async def _executed(
        self, request: web.Request, entry: Request, parameters: Parameters
    ) -> web.Response:
        try:
            bot = self.world.bot_with(request.match_info["token"])
            result = method(entry.method)(self.world, bot, parameters)
            if inspect.isawaitable(result):
                result = await result
        except Refusal as refusal:
            return _refused(entry, refusal)
        entry.status = 200
        return web.json_response({"ok": True, "result": result})

    async def _download(self, request: web.Request) -> web.StreamResponse:
        entry = self._entry(request, "download")
        entry.parameters = {"path": request.match_info["path"]}
        fault = self._fault(entry)
        if fault is not None and fault.kind is Kind.HANG:
            await self.world.clock.sleep(fault.seconds)
        elif fault is not None:
            return _misanswered(request, entry, fault)
        try:
            self.world.bot_with(request.match_info["token"])
        except Refusal as refusal:
            return _refused(entry, refusal)
        stored = self.world.files.at(request.match_info["path"])
        if stored is None:
            return _refused(entry, Refusal(404, "Not Found"))
        entry.status = 200
        return web.Response(body=io.BytesIO(stored.bytes))

    def _entry(self, request: web.Request, name: str) -> Request:
        number = request.match_info["token"].partition(":")[0]
        bot = int(number) if number.isascii() and number.isdigit() else 0
        return self.world.record.add(Request(self.world.clock.now_ms(), bot, name))

    def _fault(self, entry: Request) -> Fault | None:
        fault = self.world.faults.next(entry.bot, entry.method.lower())
        entry.fault = fault.kind.value if fault else ""
        return fault


def _refused(entry: Request, refusal: Refusal) -> web.Response:
    entry.status, entry.description = refusal.code, refusal.description
    wait = refusal.parameters.get("retry_after")
    headers = {"Retry-After": str(wait)} if wait else None
    return web.json_response(refusal.data(), status=refusal.code, headers=headers)


def _misanswered(request: web.Request, entry: Request, fault: Fault) -> web.Response:
    match fault.kind:
        case Kind.FLOOD:
            return _refused(entry, flood(fault.retry_after))
        case Kind.REFUSE:
            return _refused(entry, Refusal(fault.code, fault.description))
        case Kind.ERROR:
            return _refused(entry, Refusal(500, "Internal Server Error"))
        case Kind.BAD_GATEWAY:
            entry.status = 502
            return web.Response(status=502, text=_BAD_GATEWAY, content_type="text/html")
        case Kind.GARBAGE:
            entry.status = 200
            return web.Response(text='{"ok":true,"result":{"mess', content_type="application/json")
        case _:
            entry.status = 0
            if request.transport is not None:
                request.transport.abort()
            return web.Response()


async def _parameters(request: web.Request) -> Parameters:
    """Read a call in any of its forms; raises ValueError for one that is none."""
    given: dict[str, object] = dict(request.query)
    if request.content_type == "application/json":
        told = json.loads(await request.text() or "{}")
        if not isinstance(told, dict):
            raise ValueError(told)
        return Parameters({**given, **told})
    files = {}
    for name, value in (await request.post()).items():
        if isinstance(value, web.FileField):
            files[name] = SentFile(value.filename, value.file.read(), value.content_type)
        else:
            given[name] = value if isinstance(value, str) else value.decode()
    return Parameters(given, files)
