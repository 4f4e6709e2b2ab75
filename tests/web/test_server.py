"""Where the server listens, what it says when it cannot, and how it ends."""

import asyncio
import contextlib
import socket

import pytest

from amiral.base.errors import Broken, Conflict, Denied
from amiral.base.settings import Hub
from amiral.web.listen import MOST_PORTS, listen_on_loopback, listen_on_unix


@contextlib.contextmanager
def taken(count=1):
    """Hold so many ports in a row, and name the first."""
    for first in range(40_000, 60_000, MOST_PORTS + 1):
        held = [socket.socket() for _ in range(count)]
        try:
            for at, one in enumerate(held):
                one.bind(("127.0.0.1", first + at))
                one.listen()
        except OSError:
            continue
        else:
            yield first
            return
        finally:
            for one in held:
                one.close()


def test_a_port_that_was_asked_for_and_is_taken_is_an_error():
    with taken() as port, pytest.raises(Conflict, match=f"port {port} of 127.0.0.1 in use") as told:
        listen_on_loopback("127.0.0.1", port, is_exact=True)
    assert "--port" in told.value.next_step


def test_a_port_that_nobody_asked_for_may_be_one_of_the_next_ten():
    with taken(3) as port, listen_on_loopback("127.0.0.1", port, is_exact=False) as listener:
        assert listener.getsockname() == ("127.0.0.1", port + 3)


def test_and_no_other():
    with taken(MOST_PORTS) as port, pytest.raises(Conflict, match=f"{port} to {port + 10}"):
        listen_on_loopback("127.0.0.1", port, is_exact=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", "", "127.0.0.1.x"])
def test_r51_it_never_listens_wider_than_loopback(host):
    with pytest.raises(Denied, match="there is no page"):
        listen_on_loopback(host, 0, is_exact=True)


@pytest.mark.parametrize(
    ("host", "address"), [("localhost", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"), ("::1", "::1")]
)
def test_loopback_has_several_names(host, address):
    with listen_on_loopback(host, 0, is_exact=True) as listener:
        assert listener.getsockname()[0] == address


def test_a_port_that_one_may_not_have_says_so(tmp_path):
    with pytest.raises(Broken, match="cannot listen at"):
        listen_on_unix(tmp_path / "no" / "folder.sock")


def test_a_socket_that_a_killed_process_left_is_replaced(short_path):
    path = short_path / "s.sock"
    for _ in range(2):
        listener = listen_on_unix(path)
        assert path.stat().st_mode & 0o777 == 0o600
        listener.close()


async def test_without_a_port_the_unix_socket_serves_all_the_same(serving, short_path):
    """The project process starts, whatever the page does."""
    with taken() as port:
        async with serving(short_path, hub=Hub(port=port)) as served:
            (problem,) = served.web.problems
            assert f"port {port}" in problem
            with pytest.raises(Broken, match="in use"):
                served.web.new_url()
            reader, writer = await asyncio.open_unix_connection(served.path)
            served.links.append(writer)
            writer.write(b"GET /api/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200")


async def test_without_a_socket_the_port_serves_all_the_same(serving, short_path):
    async with serving(short_path, socket_path=short_path / "no" / "s.sock") as served:
        assert "cannot listen at" in served.web.problems[0]
        await served.log_in()
        assert (await served.get("/api/status")).status == 200


async def test_another_port_than_the_usual_one_is_told(serving, short_path):
    with taken() as port:
        async with serving(short_path, hub=Hub(port=port), is_exact=False) as served:
            assert served.port == port + 1
            assert served.web.problems == [f"port {port} is in use: the page is at {port + 1}"]


async def test_the_page_is_served_at_every_loopback_address(serving, short_path):
    async with serving(short_path, hub=Hub("::1", 0)) as served:
        assert served.url.startswith("http://[::1]:")


async def test_it_ends_quickly_with_idle_connections_and_leaves_no_socket(serving, short_path):
    async with serving(short_path) as served:
        await served.log_in()
        for _ in range(3):
            await served.send("GET", "/api/status", {"cookie": served.cookie}, close=False)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await served.web.close()
        assert loop.time() - began < 2
        assert not served.path.exists()


async def test_what_is_no_http_is_refused_and_forgotten(served):
    for noise in (b"\x16\x03\x01\x02\x00", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"):
        reader, writer = await served.connect()
        writer.write(noise + b"\r\n\r\n")
        async with asyncio.timeout(5):
            assert b" 400 " in await reader.read()
        writer.close()
    assert (await served.get("/api/status")).status == 200


async def test_an_endless_head_is_refused(served):
    reader, writer = await served.connect()
    writer.write(b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * 200_000)
    async with asyncio.timeout(5):
        with contextlib.suppress(ConnectionError):
            assert b" 400 " in await reader.read()


async def test_without_a_place_on_loopback_the_hub_serves_the_page(serving, short_path):
    async with serving(short_path, hub=None) as served:
        assert served.web.problems == []
        with pytest.raises(Broken, match="the hub serves the page") as told:
            served.web.new_url()
        assert told.value.next_step == "amiral url"
        reader, writer = await asyncio.open_unix_connection(served.path)
        served.links.append(writer)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
