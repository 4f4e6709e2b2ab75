"""The ways out of workers: the same after a restart, and told of once."""

import asyncio

import pytest

from amiral.agents.ways_out import WaysOut, hosts_in


@pytest.fixture
async def opened(tmp_path):
    made = []

    def make(network=(), warned=None):
        async def warn(text):
            (warned if warned is not None else []).append(text)

        ways = WaysOut(network, tmp_path, warn)
        made.append(ways)
        return ways

    (tmp_path / "dev").mkdir()
    yield make
    for ways in made:
        await ways.close()


async def test_an_open_network_has_no_proxy(opened, tmp_path):
    ways = opened("open")
    assert await ways.of("dev", ("a.io",)) is None
    await ways.restore()
    assert list((tmp_path / "dev").iterdir()) == []


async def test_a_running_cli_finds_its_way_out_again_after_a_restart(opened):
    first = opened()
    way = await first.of("dev", ("127.0.0.1:9",))
    assert await first.of("dev", ("127.0.0.1:9",)) == way
    await first.close()
    second = opened()
    await second.restore()
    assert await second.of("dev", ("127.0.0.1:9",)) == way


async def test_two_who_ask_at_once_get_the_same(opened):
    ways = opened()
    one, other = await asyncio.gather(ways.of("dev", ("a.io",)), ways.of("dev", ("a.io",)))
    assert one == other


async def test_what_cannot_be_opened_is_told_and_holds_nobody_up(opened, tmp_path):
    (tmp_path / "dev" / "way-out.json").write_text('{"port": 1, "hosts": ["a b"]}')
    warned: list[str] = []
    await opened(warned=warned).restore()
    assert len(warned) == 1
    assert warned[0].startswith("dev has no way out: ")


async def test_a_refusal_is_told_once(opened, tmp_path):
    warned: list[str] = []
    way = await opened(warned=warned).of("dev", ("a.io",))
    for _ in range(3):
        reader, writer = await asyncio.open_connection("127.0.0.1", way.port)
        writer.write(b"CONNECT b.io:443 HTTP/1.1\r\nHost: b.io:443\r\n\r\n")
        await writer.drain()
        assert b"407" in await reader.read(200)
        writer.close()
    assert len(warned) == 1
    assert warned[0].startswith("dev did not reach b.io:443: ")


def test_the_services_a_cli_was_told_of_are_found_in_its_settings():
    told = {"A": "http://127.0.0.1:80/v1", "b": {"base_url": "https://x.io"}, "c": 5, "d": "x.io"}
    assert hosts_in(told) == ("127.0.0.1:80", "x.io:443")
    assert hosts_in({"bad": "http://[::1", "v6": "http://[::1]:9"}) == ("[::1]:9",)
