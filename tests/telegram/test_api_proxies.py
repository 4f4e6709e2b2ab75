"""Calls go through the proxy that is set, and through none that is not."""

import asyncio
import base64
import sys
import types

import aiohttp
import pytest

from amiral.base.errors import Broken, Invalid
from amiral.telegram.api import Bot, Connections
from amiral.telegram.failures import Unreachable


class Proxy:
    """A plain HTTP proxy: it passes requests on, or answers them all with `status`."""

    def __init__(self) -> None:
        self.status = 0
        self.heads: list[str] = []
        self.port = 0

    async def serve(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head.decode())
        if self.status:
            answer = f"HTTP/1.1 {self.status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            writer.write(answer.encode())
        else:
            await self._pass_on(head, reader, writer)
        writer.close()

    async def _pass_on(self, head, reader, writer):
        verb, url, rest = head.split(b" ", 2)
        host, _, path = url.removeprefix(b"http://").partition(b"/")
        name, _, port = host.decode().partition(":")
        to_reader, to = await asyncio.open_connection(name, int(port))
        rest = rest.replace(b"\r\n", b"\r\nconnection: close\r\n", 1)
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0] or 0)
        to.write(verb + b" /" + path + b" " + rest + await reader.readexactly(length))
        writer.write(await to_reader.read())
        to.close()


@pytest.fixture
async def proxy():
    proxy = Proxy()
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    yield proxy
    server.close()


async def test_an_http_proxy_is_gone_through_with_its_login(proxy, api, token):
    async with Connections(f"http://me:hidden-password@127.0.0.1:{proxy.port}") as connections:
        told = await Bot(token, connections, api.url).call("getMe", dict)
    assert told["username"] == "amiral_bot"
    (head,) = proxy.heads
    assert head.startswith(f"POST {api.url}/bot")
    login = base64.b64encode(b"me:hidden-password").decode()
    assert f"Proxy-Authorization: Basic {login}" in head


@pytest.mark.parametrize("status", [407, 502])
async def test_a_proxy_that_opens_no_tunnel_lets_nothing_out(proxy, token, told, status):
    proxy.status = status
    async with Connections(f"http://me:hidden-password@127.0.0.1:{proxy.port}") as connections:
        with pytest.raises(Unreachable) as failure:
            await Bot(token, connections, "https://api.invalid").call("getMe", dict)
    assert failure.value.is_unsent
    assert proxy.heads[0].startswith("CONNECT api.invalid:443")
    assert "bot7" not in proxy.heads[0]
    assert "hidden-password" not in told(failure.value)


async def test_a_proxy_that_is_not_there_got_nothing(token, api):
    async with Connections("http://127.0.0.1:9") as connections:
        with pytest.raises(Unreachable) as failure:
            await Bot(token, connections, api.url).call("getMe", dict)
    assert failure.value.is_unsent


async def test_proxies_of_the_environment_are_not_used(monkeypatch, token, api):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with Connections() as connections:
        assert await Bot(token, connections, api.url).call("getMe", dict)


@pytest.mark.parametrize("proxy", ["127.0.0.1:3128", "ftp://hidden-password@x", "://x"])
def test_a_proxy_that_is_none_is_refused_without_being_shown(proxy):
    with pytest.raises(Invalid, match="the proxy is no usable address") as refused:
        Connections(proxy)
    assert "hidden-password" not in str(refused.value)
    assert "socks5://" in refused.value.next_step


async def test_a_socks_proxy_without_its_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp_socks", None)
    with pytest.raises(Broken) as missing:
        async with Connections("socks5://127.0.0.1:9"):
            pass
    assert missing.value.next_step == "pip install amiral[socks]"


async def test_what_a_socks_proxy_refuses_was_not_sent(monkeypatch, token, api, told):
    # The package's errors are known by where they come from: it may not be there to ask.
    refused = type("ProxyError", (Exception,), {"__module__": "aiohttp_socks._errors"})

    class Connector(aiohttp.TCPConnector):
        async def _create_connection(self, req, *_more):
            raise refused(f"{req.url}")

    package = types.ModuleType("aiohttp_socks")
    maker = types.SimpleNamespace(from_url=lambda _url, **_more: Connector())
    package.ProxyConnector = maker  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aiohttp_socks", package)
    async with Connections("socks5://127.0.0.1:9") as connections:
        with pytest.raises(Unreachable) as failure:
            await Bot(token, connections, api.url).call("getMe", dict)
    assert failure.value.is_unsent
    assert "secretsecret" not in told(failure.value)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("socks5h://me:pw@127.0.0.1:9", "socks5://me:pw@127.0.0.1:9"),
        ("socks5://127.0.0.1:9", "socks5://127.0.0.1:9"),
        ("SOCKS4://127.0.0.1:9", "SOCKS4://127.0.0.1:9"),
    ],
)
async def test_a_socks_proxy_is_the_packages_business_names_looked_up_there(
    monkeypatch, token, api, given, used
):
    asked = []

    def from_url(url, **more):
        asked.append((url, more))
        return aiohttp.TCPConnector()

    package = types.ModuleType("aiohttp_socks")
    package.ProxyConnector = types.SimpleNamespace(from_url=from_url)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aiohttp_socks", package)
    async with Connections(given) as connections:
        assert await Bot(token, connections, api.url).call("getMe", dict)
    assert asked == [(used, {"rdns": True, "limit": 0})]
