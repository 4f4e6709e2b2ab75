"""N2, N3: a worker's proxy on real sockets, against an outside that lies on the loopback."""

import asyncio
import base64
import os
import socket
import ssl
import struct
import subprocess
import urllib.error
import urllib.request
from ipaddress import ip_address

import pytest

from amiral.base.errors import Invalid
from amiral.permissions import domains
from amiral.permissions.egress import EgressProxy, environment
from amiral.permissions.exchange import Bounds, Verdict, Visit
from amiral.permissions.outside import Outside
from amiral.testbench.fake_clock import FakeClock

ALERT = bytes([21, 3, 3, 0, 2, 2, 49])
GOOD = "good.example"
BOUNDS = Bounds()


class World:
    """An internet of one machine: its names, its servers, and what was told of the way there."""

    def __init__(self):
        self.visits = []
        self.lookups = []
        self.answers = {GOOD: [["127.0.0.1"]], "a.example.org": [["127.0.0.1"]]}
        self.received = []
        self.proxies = []
        self.servers = []
        self.clients = []

    async def resolve(self, name, port):
        """Answer as the name does now; the last answer stays."""
        self.lookups.append(name)
        if name not in self.answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        answers = self.answers[name]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def serve(self, handle, address="127.0.0.1"):
        """Start a server; every connection is given to `handle`."""

        async def on_connection(reader, writer):
            try:
                await handle(reader, writer)
            except ConnectionError:
                pass
            finally:
                writer.transport.abort()

        server = await asyncio.start_server(on_connection, address, 0)
        self.servers.append(server)
        return server.sockets[0].getsockname()[1]

    async def echo(self, reader, writer):
        """Keep what comes, and answer all of it at the end."""
        data = await reader.read()
        self.received.append(data)
        writer.write(b"echo:" + data)
        await writer.drain()

    async def page(self, reader, writer):
        """Answer one request of plain HTTP, and keep all that comes of it."""
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        await writer.drain()
        writer.write_eof()
        self.received.append(head + await reader.read())

    async def proxy(self, *allowed, bounds=BOUNDS, clock=None, listener=None, **outside):
        seen = {"resolve": self.resolve, "is_public": lambda a: a == ip_address("127.0.0.1")}
        proxy = EgressProxy(
            allowed,
            self.visits.append,
            outside=Outside(**(seen | outside)),
            bounds=bounds,
            clock=clock,
        )
        self.proxies.append(proxy)
        return Door(self, await proxy.start(listener), proxy.token)

    async def close(self):
        for _, writer in self.clients:
            writer.transport.abort()
        for proxy in self.proxies:
            await proxy.close()
        for server in self.servers:
            server.close()
            await server.wait_closed()


class Door:
    """One proxy as a program of its worker sees it."""

    def __init__(self, world, port, token):
        self.world, self.port, self.token = world, port, token

    async def connect(self):
        client = await asyncio.open_connection("127.0.0.1", self.port)
        self.world.clients.append(client)
        return client

    async def send(self, *lines, token=None, after=b""):
        """Send a head with our token, or another one, and what follows it."""
        reader, writer = await self.connect()
        pair = base64.b64encode(f"amiral:{self.token if token is None else token}".encode())
        shown = [f"Proxy-Authorization: Basic {pair.decode()}"] if token != "" else []
        writer.write("\r\n".join([*lines, *shown, "", ""]).encode() + after)
        return reader, writer

    async def ask(self, *lines, token=None, after=b""):
        """Give the whole answer."""
        reader, writer = await self.send(*lines, token=token, after=after)
        async with asyncio.timeout(20):
            answer = await reader.read()
        writer.close()
        return answer

    async def tunnel(self, target, first):
        """Open a tunnel and begin it with these bytes."""
        reader, writer = await self.send(f"CONNECT {target} HTTP/1.1")
        async with asyncio.timeout(20):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.write(first)
        return reader, writer


@pytest.fixture
async def world():
    one = World()
    yield one
    await one.close()


def hello(name):
    """Give what a TLS client really sends first."""
    context = ssl.create_default_context()
    context.check_hostname = name is not None
    sent = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


async def until(is_so):
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.001)


async def until_still(count):
    """Wait until a number no longer grows."""
    async with asyncio.timeout(20):
        last, same = count(), 0
        while same < 100:
            await asyncio.sleep(0.001)
            same = same + 1 if count() == last else 0
            last = count()


def status(answer):
    return int(answer.split(b" ", 2)[1])


# ---------------------------------------------------------------- what is allowed


@pytest.mark.parametrize("target", [GOOD, "GOOD.Example", "good.example."])
async def test_n3_a_tunnel_to_a_listed_host_carries_both_ways_and_is_told(world, target):
    port = await world.serve(world.echo)
    door = await world.proxy(f"{GOOD}:{port}")
    sent = hello(GOOD)
    reader, writer = await door.tunnel(f"{target}:{port}", sent)
    writer.write(b"more")
    writer.write_eof()
    assert await reader.read() == b"echo:" + sent + b"more"
    assert world.received == [sent + b"more"]
    assert world.visits == [Visit(GOOD, port, Verdict.ALLOWED, "at 127.0.0.1")]


@pytest.mark.parametrize("name", ["xn--bcher-kva.example", "bücher.example", "Bücher.EXAMPLE."])
async def test_n3_a_name_in_punycode_and_in_letters_is_one(world, name):
    port = await world.serve(world.echo)
    world.answers["xn--bcher-kva.example"] = [["127.0.0.1"]]
    door = await world.proxy(f"bücher.example:{port}")
    sent = hello("xn--bcher-kva.example")
    reader, writer = await door.tunnel(f"{name}:{port}", sent)
    writer.write_eof()
    assert await reader.read() == b"echo:" + sent
    assert world.lookups == ["xn--bcher-kva.example"]


async def test_a_suffix_takes_the_hosts_below_it(world):
    port = await world.serve(world.echo)
    door = await world.proxy(f"*.example.org:{port}")
    reader, writer = await door.tunnel(f"a.example.org:{port}", hello("A.example.org"))
    writer.write_eof()
    assert (await reader.read()).startswith(b"echo:")


async def test_the_first_bytes_may_come_one_by_one(world):
    port = await world.serve(world.echo)
    door = await world.proxy(f"{GOOD}:{port}")
    sent = hello(GOOD)
    reader, writer = await door.tunnel(f"{GOOD}:{port}", b"")
    for byte in sent:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0)
    writer.write_eof()
    assert await reader.read() == b"echo:" + sent


async def test_n3_plain_http_is_passed_on_without_the_token(world):
    port = await world.serve(world.page)
    door = await world.proxy(f"{GOOD}:{port}")
    answer = await door.ask(f"GET http://{GOOD}:{port}/a?b HTTP/1.1", "Host: evil.io", "X: 1")
    assert answer.endswith(b"\r\n\r\nhello")
    head = f"GET /a?b HTTP/1.1\r\nHost: {GOOD}:{port}\r\nx: 1\r\nConnection: close\r\n\r\n"
    await until(lambda: world.received)
    assert world.received == [head.encode()]
    assert world.visits == [Visit(GOOD, port, Verdict.ALLOWED, "at 127.0.0.1")]


async def test_n3_of_plain_http_nothing_passes_but_the_request_that_was_judged(world):
    port = await world.serve(world.page)
    door = await world.proxy(f"{GOOD}:{port}")
    body = b"x" * 100_000
    hidden = b"GET / HTTP/1.1\r\nHost: evil.io\r\n\r\n"
    answer = await door.ask(
        f"POST http://{GOOD}:{port}/ HTTP/1.1", f"Content-Length: {len(body)}", after=body + hidden
    )
    assert answer.endswith(b"hello")
    await until(lambda: world.received)
    (received,) = world.received
    assert received.endswith(b"\r\n\r\n" + body)
    assert b"evil" not in received


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "target",
    [
        *("evil-example.com:443", "example.com.evil.io:443", "a.example.com:443", "evil.io:443"),
        *("example.org:443", "evil-example.org:443", "example.com:22", "a.example.org:8443"),
        *("93.184.216.34:443", "1572395042:443", "0x5db8d822:443", "0135.0270.0330.042:443"),
        *("[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443", "[::ffff:93.184.216.34]:443"),
        *("127.0.0.1:443", "127.1:443", "2130706433:443", "[::1]:443", "localhost:443"),
        *("example.com", "example.com:0", "me@example.com:443", "https://example.com:443"),
    ],
)
async def test_n3_a_tunnel_to_anything_else_is_refused_before_its_name_is_looked_up(world, target):
    door = await world.proxy("example.com", "*.example.org")
    answer = await door.ask(f"CONNECT {target} HTTP/1.1")
    assert status(answer) == 403
    assert b"\r\n\r\namiral: " in answer
    (visit,) = world.visits
    assert visit.verdict is Verdict.REFUSED
    assert visit.reason.encode() in answer.split(b"\r\n")[0]
    assert world.lookups == []


@pytest.mark.parametrize(
    "target",
    [
        *("http://evil.io/", "http://evil-example.com/", "http://example.com.evil.io/"),
        *("http://example.com:22/", "http://example.com@evil.io/", "http://127.0.0.1/"),
        *("http://2130706433/", "http://0x7f.1/", "http://[::1]/", "https://example.com/"),
        *("ftp://example.com/", "/", "http://169.254.169.254/latest/meta-data/"),
    ],
)
async def test_n3_plain_http_to_anything_else_is_refused_too(world, target):
    door = await world.proxy("example.com")
    assert status(await door.ask(f"GET {target} HTTP/1.1", "Host: example.com")) == 403
    assert [visit.verdict for visit in world.visits] == [Verdict.REFUSED]
    assert world.lookups == []


@pytest.mark.parametrize("what", ["CONNECT good.example:443", "GET http://good.example/"])
@pytest.mark.parametrize("whose", ["none", "guess", "another worker's"])
async def test_n3_without_the_token_of_this_very_proxy_nothing_is_reached(world, what, whose):
    door = await world.proxy(GOOD)
    other = await world.proxy(GOOD)
    token = {"none": "", "guess": "x" * 43, "another worker's": other.token}[whose]
    answer = await door.ask(f"{what} HTTP/1.1", token=token)
    assert status(answer) == 407
    assert b'\r\nProxy-Authenticate: Basic realm="amiral"\r\n' in answer
    (visit,) = world.visits
    assert (visit.host, visit.verdict) == (GOOD, Verdict.REFUSED)
    assert "token" in visit.reason
    assert door.token not in str(world.visits)
    assert world.lookups == []


async def test_n3_who_shows_no_token_learns_nothing_of_the_list(world):
    door = await world.proxy(GOOD)
    answers = [
        await door.ask(f"CONNECT {host}:443 HTTP/1.1", token="")
        for host in (GOOD, "evil.io", "1.1")
    ]
    assert len(set(answers)) == 1


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (hello("evil.io"), "TLS asks for evil.io in a tunnel to good.example"),
        (hello("evil-good.example"), "TLS asks for evil-good.example"),
        (hello("good.example.evil.io"), "TLS asks for good.example.evil.io"),
        (hello("127.0.0.1"), "TLS asks for no server"),
        (hello(None), "TLS asks for no server"),
        (b"GET / HTTP/1.1\r\nHost: evil.io\r\n\r\n", "a tunnel carries TLS only"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "a tunnel carries TLS only"),
        (hello(GOOD)[:5] + b"\x02" + hello(GOOD)[6:], "a tunnel carries TLS only"),
    ],
)
async def test_n3_a_tunnel_for_another_server_ends_before_a_byte_is_passed_on(world, first, why):
    port = await world.serve(world.echo)
    door = await world.proxy(f"{GOOD}:{port}")
    reader, _ = await door.tunnel(f"{GOOD}:{port}", first)
    assert await reader.read() == ALERT
    await until(lambda: world.received)
    assert world.received == [b""]
    (visit,) = world.visits
    assert visit.verdict is Verdict.REFUSED
    assert why in visit.reason


async def test_n3_a_tunnel_in_which_nothing_is_said_ends(world):
    port = await world.serve(world.echo)
    door = await world.proxy(f"{GOOD}:{port}", bounds=Bounds(head_s=0.05))
    reader, _ = await door.tunnel(f"{GOOD}:{port}", hello(GOOD)[:50])
    assert await reader.read() == ALERT
    assert world.visits[0].reason == "a tunnel carries TLS only: nothing came in time"


async def test_n3_a_tunnel_that_its_client_leaves_at_once_is_told(world):
    port = await world.serve(world.echo)
    door = await world.proxy(f"{GOOD}:{port}")
    _, writer = await door.tunnel(f"{GOOD}:{port}", b"")
    writer.close()
    await until(lambda: world.visits)
    assert "left before it began" in world.visits[0].reason
    await until(lambda: world.received)
    assert world.received == [b""]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"CONNECT good.example:443 HTTP/1.1\r\nA : b\r\n\r\n", 400),
        (b"CONNECT good.example:443 HTTP/1.1\r\nA: " + b"b" * 100_000, 431),
        (b"CONNECT good.example:443 HTTP/1.1\r\n", 408),
        (b"", 408),
    ],
)
async def test_n3_a_head_that_is_unclear_or_too_long_or_never_ends_is_refused(world, sent, code):
    door = await world.proxy(GOOD, bounds=Bounds(head_s=0.2))
    reader, writer = await door.connect()
    writer.write(sent)
    assert status(await reader.read()) == code
    (visit,) = world.visits
    assert (visit.host, visit.port, visit.verdict) == ("", 0, Verdict.REFUSED)


async def test_n3_a_body_without_a_length_is_refused(world):
    door = await world.proxy(GOOD)
    answer = await door.ask(f"POST http://{GOOD}/ HTTP/1.1", "Transfer-Encoding: chunked")
    assert status(answer) == 411


async def test_who_leaves_before_having_asked_is_not_told(world):
    door = await world.proxy(GOOD, bounds=Bounds(connections=1))
    _, writer = await door.connect()
    writer.write(b"CONN")
    writer.close()
    assert status(await door.ask("CONNECT evil.io:443 HTTP/1.1")) == 403
    assert len(world.visits) == 1


async def test_a_list_that_cannot_be_read_makes_no_proxy(world):
    with pytest.raises(Invalid, match=r"'\*'"):
        await world.proxy(GOOD, "*")


# ---------------------------------------------------------------- where names lead


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("0.0.0.0", "224.0.0.1", "::1", "::", "fe80::1%lo", "fd00:ec2::254", "::ffff:127.0.0.1"),
    ],
)
@pytest.mark.parametrize("what", ["CONNECT good.example:443", "GET http://good.example/"])
async def test_n2_a_listed_name_that_leads_to_a_private_address_is_refused(world, what, address):
    world.answers[GOOD] = [[address]]
    door = await world.proxy(GOOD, is_public=domains.is_public)
    assert status(await door.ask(f"{what} HTTP/1.1")) == 403
    (visit,) = world.visits
    assert visit.verdict is Verdict.REFUSED
    assert f"{GOOD} leads to {ip_address(address)}, " in visit.reason


async def test_n2_of_the_addresses_of_a_name_none_but_the_public_ones_are_tried(world):
    port = await world.serve(world.page)
    world.answers[GOOD] = [["127.0.0.2", "10.0.0.1", "127.0.0.1"]]
    door = await world.proxy(f"{GOOD}:{port}")
    assert (await door.ask(f"GET http://{GOOD}:{port}/ HTTP/1.1")).endswith(b"hello")
    assert world.visits == [Visit(GOOD, port, Verdict.ALLOWED, "at 127.0.0.1")]


async def test_n2_a_name_that_changes_its_mind_leads_where_it_was_looked_at(world):
    port = await world.serve(world.page)
    world.answers[GOOD] = [["127.0.0.1"], ["127.0.0.2"]]
    door = await world.proxy(f"{GOOD}:{port}")
    line = f"GET http://{GOOD}:{port}/ HTTP/1.1"
    assert (await door.ask(line)).endswith(b"hello")
    assert world.lookups == [GOOD]
    assert status(await door.ask(line)) == 403
    assert world.lookups == [GOOD, GOOD]
    assert [visit.verdict for visit in world.visits] == [Verdict.ALLOWED, Verdict.REFUSED]


async def test_n2_an_answer_that_leads_to_a_private_address_leads_nowhere(world):
    async def redirect(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest\r\n\r\n")
        await writer.drain()

    port = await world.serve(redirect)
    door = await world.proxy(f"{GOOD}:{port}")
    assert await fetch(door, f"http://{GOOD}:{port}/") == 403
    assert [(visit.host, visit.verdict) for visit in world.visits] == [
        (GOOD, Verdict.ALLOWED),
        ("169.254.169.254", Verdict.REFUSED),
    ]


async def test_n2_a_private_address_that_is_listed_itself_is_reached_by_name_and_by_number(world):
    port = await world.serve(world.echo, "127.0.0.2")
    world.answers[GOOD] = [["127.0.0.2"]]
    door = await world.proxy(f"{GOOD}:{port}", f"127.0.0.2:{port}")
    for target, name in ((GOOD, GOOD), ("127.0.0.2", None), ("127.0.0.2", "127.0.0.2")):
        reader, writer = await door.tunnel(f"{target}:{port}", hello(name))
        writer.write_eof()
        assert (await reader.read()).startswith(b"echo:")
    assert {visit.reason for visit in world.visits} == {"at 127.0.0.2"}
    reader, _ = await door.tunnel(f"127.0.0.2:{port}", hello(GOOD))
    assert await reader.read() == ALERT


async def test_n2_a_private_address_is_listed_for_its_ports_alone(world):
    port = await world.serve(world.echo, "127.0.0.2")
    world.answers[GOOD] = [["127.0.0.2"]]
    door = await world.proxy(f"{GOOD}:{port}", "127.0.0.2")
    for host in (GOOD, "127.0.0.2"):
        assert status(await door.ask(f"CONNECT {host}:{port} HTTP/1.1")) == 403


async def test_n2_the_system_is_asked_when_nothing_else_is_given(world):
    port = await world.serve(world.page)
    line = f"GET http://localhost:{port}/ HTTP/1.1"
    door = await world.proxy(f"localhost:{port}", resolve=None, is_public=domains.is_public)
    assert status(await door.ask(line)) == 403
    assert "localhost leads to " in world.visits[0].reason
    door = await world.proxy(f"localhost:{port}", resolve=None, is_public=lambda _: True)
    assert (await door.ask(line)).endswith(b"hello")


async def test_a_host_that_is_not_there_is_told_as_failed(world):
    port = await world.serve(world.echo)
    world.servers[0].close()
    await world.servers[0].wait_closed()
    world.answers |= {"nowhere.example": [[]], "slow.example": [["127.0.0.1"]]}
    door = await world.proxy(
        *(f"{name}:{port}" for name in (GOOD, "nowhere.example", "no.example"))
    )
    for name in (GOOD, "nowhere.example", "no.example"):
        answer = await door.ask(f"CONNECT {name}:{port} HTTP/1.1")
        assert status(answer) == 502
        assert f"{name} cannot be reached: ".encode() in answer
    assert {visit.verdict for visit in world.visits} == {Verdict.FAILED}
    assert "Name or service not known" in world.visits[2].reason


async def test_a_name_that_takes_too_long_to_look_up_is_given_up(world):
    async def never(name, port):
        await asyncio.Event().wait()

    door = await world.proxy(GOOD, resolve=never, patience_s=0.05)
    assert status(await door.ask(f"CONNECT {GOOD}:443 HTTP/1.1")) == 502
    assert world.visits[0].reason.endswith("no answer in time")


async def test_the_next_address_is_tried_when_one_does_not_answer(world):
    port = await world.serve(world.page)
    world.answers[GOOD] = [["127.0.0.3", "::1", "127.0.0.1"]]
    door = await world.proxy(f"{GOOD}:{port}", is_public=lambda _: True)
    assert (await door.ask(f"GET http://{GOOD}:{port}/ HTTP/1.1")).endswith(b"hello")
    assert world.visits[0].reason == "at 127.0.0.1"


# ---------------------------------------------------------------- how connections end


async def test_what_a_server_breaks_off_does_not_look_whole(world):
    async def breaks(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhalf of ")
        await writer.drain()
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )

    port = await world.serve(breaks)
    door = await world.proxy(f"{GOOD}:{port}")
    with pytest.raises(ConnectionResetError):
        await door.ask(f"GET http://{GOOD}:{port}/ HTTP/1.1")


async def test_a_server_hears_of_no_end_as_long_as_its_client_waits(world):
    async def thinks(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        thinking.append(reader)
        await may_answer.wait()
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhello")
        await writer.drain()

    thinking: list[asyncio.StreamReader] = []
    may_answer = asyncio.Event()
    slow, quick = await world.serve(thinks), await world.serve(world.page)
    door = await world.proxy(f"{GOOD}:{slow}", f"{GOOD}:{quick}")
    asking = asyncio.create_task(door.ask(f"GET http://{GOOD}:{slow}/ HTTP/1.1"))
    await until(lambda: thinking)
    await door.ask(f"GET http://{GOOD}:{quick}/ HTTP/1.1")
    assert not thinking[0].at_eof()
    may_answer.set()
    assert (await asking).endswith(b"hello")


async def test_a_server_whose_client_has_left_is_left_too(world):
    gone = asyncio.Event()

    async def waits(reader, writer):
        world.received.append(await reader.readuntil(b"\r\n\r\n"))
        assert await reader.read() == b""
        await until(lambda: is_left(writer))
        gone.set()

    port = await world.serve(waits)
    door = await world.proxy(f"{GOOD}:{port}", bounds=Bounds(linger_s=0.05))
    _, writer = await door.send(f"GET http://{GOOD}:{port}/ HTTP/1.1")
    await until(lambda: world.received)
    writer.write_eof()
    async with asyncio.timeout(20):
        await gone.wait()


async def test_closing_ends_every_connection_and_listens_no_more(world):
    port = await world.serve(world.echo)
    door = await world.proxy(f"{GOOD}:{port}")
    in_tunnel, _ = await door.tunnel(f"{GOOD}:{port}", hello(GOOD))
    before_it, _ = await door.tunnel(f"{GOOD}:{port}", b"")
    silent, _ = await door.connect()
    await until(lambda: world.visits)
    await world.proxies[0].close()
    for reader in (in_tunnel, before_it, silent):
        assert await ended(reader)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", door.port)
    await until(lambda: len(world.received) == 2)
    await world.proxies[0].close()


def is_left(writer):
    """Write, and tell whether nobody is there to read it."""
    writer.write(b"x")
    return writer.transport.is_closing()


async def test_one_that_never_listened_can_be_closed():
    await EgressProxy([GOOD], print).close()


async def ended(reader):
    try:
        async with asyncio.timeout(20):
            return await reader.read() == b""
    except ConnectionResetError:
        return True


# ---------------------------------------------------------------- how much is borne


async def test_a_flood_waits_and_all_of_it_is_served_in_the_end(world):
    async def page(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        asked.append(writer)
        await may_answer.wait()
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhello")
        await writer.drain()

    asked: list[asyncio.StreamWriter] = []
    may_answer = asyncio.Event()
    port = await world.serve(page)
    door = await world.proxy(f"{GOOD}:{port}", bounds=Bounds(connections=3))
    line = f"GET http://{GOOD}:{port}/ HTTP/1.1"
    asking = [asyncio.create_task(door.ask(line)) for _ in range(60)]
    await until(lambda: asked)
    await until_still(lambda: len(asked))
    assert len(asked) == 3
    may_answer.set()
    assert all(answer.endswith(b"hello") for answer in await asyncio.gather(*asking))


async def test_connections_that_say_nothing_do_not_keep_their_places(world):
    door = await world.proxy(GOOD, bounds=Bounds(connections=2, head_s=0.05, part_s=0.05))
    for _ in range(5):
        await door.connect()
    assert status(await door.ask("CONNECT evil.io:443 HTTP/1.1")) == 403


class Flow:
    """A stream longer than all buffers on its way, and how much of it was taken from its writer."""

    whole = 64 << 20

    def __init__(self):
        self.sent = 0

    async def pour(self, writer):
        while self.sent < self.whole:
            writer.write(bytes(1 << 16))
            await writer.drain()
            self.sent += 1 << 16
        writer.write_eof()

    async def is_held_back(self):
        await until(lambda: self.sent)
        await until_still(lambda: self.sent)
        return self.sent < self.whole // 2


async def count(reader):
    got = 0
    while data := await reader.read(1 << 20):
        got += len(data)
    return got


async def test_no_more_is_held_than_buffers_take_when_a_client_does_not_read(world):
    async def server(reader, writer):
        await reader.readexactly(len(first))
        await flow.pour(writer)
        await reader.read()

    flow, first = Flow(), hello(GOOD)
    port = await world.serve(server)
    door = await world.proxy(f"{GOOD}:{port}")
    reader, _ = await door.tunnel(f"{GOOD}:{port}", first)
    assert await flow.is_held_back()
    assert await count(reader) == flow.whole


async def test_no_more_is_held_than_buffers_take_when_a_server_does_not_read(world):
    async def server(reader, writer):
        await reader.readexactly(len(first))
        await may_read.wait()
        writer.write(str(await count(reader)).encode())
        await writer.drain()

    flow, first, may_read = Flow(), hello(GOOD), asyncio.Event()
    port = await world.serve(server)
    door = await world.proxy(f"{GOOD}:{port}")
    reader, writer = await door.tunnel(f"{GOOD}:{port}", first)
    pouring = asyncio.create_task(flow.pour(writer))
    assert await flow.is_held_back()
    may_read.set()
    assert await reader.read() == str(flow.whole).encode()
    await pouring


async def test_when_no_connection_can_be_taken_it_is_tried_again_later(world):
    clock, listener = FakeClock(), socket.socket()
    listener.bind(("127.0.0.1", 0))
    door = await world.proxy(GOOD, clock=clock, listener=listener, bounds=Bounds(connections=1))
    await clock.until_sleeping(1)
    listener.listen()
    await clock.advance(1)
    assert status(await door.ask("CONNECT evil.io:443 HTTP/1.1")) == 403


# ---------------------------------------------------------------- what programs make of it


async def fetch(door, url):
    """Have a real client fetch this by the variables a worker is given; 200 or its refusal."""
    given = environment(door.port, door.token)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": given["http_proxy"]}))

    def read():
        try:
            with opener.open(url, timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    return await asyncio.to_thread(read)


def test_the_variables_lead_every_program_to_the_proxy_and_none_around_it():
    given = environment(40123, "secret")
    url = "http://amiral:secret@127.0.0.1:40123"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        assert given[name] == given[name.lower()] == url
    assert given["NO_PROXY"] == given["no_proxy"] == ""


async def test_a_real_client_finds_its_way_by_the_variables(world):
    port = await world.serve(world.page)
    door = await world.proxy(f"{GOOD}:{port}")
    assert await fetch(door, f"http://{GOOD}:{port}/") == 200
    assert await fetch(door, "http://evil.io/") == 403


async def test_git_shows_the_token_at_once_and_says_why_it_was_refused(world, tmp_path):
    port = await world.serve(world.page)
    door = await world.proxy(f"{GOOD}:{port}")

    def ls_remote(url):
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0"}
        return subprocess.run(
            ["git", "ls-remote", url],
            env={**environ, **environment(door.port, door.token)},
            capture_output=True,
            check=False,
            cwd=tmp_path,
            text=True,
        )

    await asyncio.to_thread(ls_remote, f"http://{GOOD}:{port}/x.git")
    refused = await asyncio.to_thread(ls_remote, "https://evil.io/x.git")
    assert {(visit.host, visit.verdict) for visit in world.visits} == {
        (GOOD, Verdict.ALLOWED),
        ("evil.io", Verdict.REFUSED),
    }
    assert refused.returncode
    assert "403" in refused.stderr
