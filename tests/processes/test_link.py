"""An owner's end of the connection."""

import asyncio

import pytest

from amiral.base.errors import Invalid
from amiral.processes.answers import Exited, Lost, OutputGrew
from amiral.processes.link import ShimGone, ShimLink

ECHOES = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


@pytest.fixture
async def speak(yard):
    """Play a shim that says these lines to whoever connects, then hangs up."""
    servers: list[asyncio.Server] = []

    async def speak(*lines: bytes) -> str:
        async def say(reader, writer):
            await reader.readline()
            writer.writelines(line + b"\n" for line in lines)
            writer.close()

        path = str(yard.run / f"{len(servers)}.sock")
        servers.append(await asyncio.start_unix_server(say, path))
        return path

    yield speak
    for server in servers:
        server.close()
        await server.wait_closed()


HELLO = (
    b'{"n":1,"ok":true,"protocol":1,"pid":1,"session":null,"state":"idle","writer":true,'
    b'"token":1,"out":null,"exit":null,"added_later":[]}'
)


@pytest.mark.parametrize("name", ["nothing.sock", "stale.sock"])
async def test_where_nobody_listens_the_shim_is_gone(yard, name):
    if name == "stale.sock":
        server = await asyncio.start_unix_server(lambda _reader, _writer: None, yard.run / name)
        server.close()
        await server.wait_closed()
    with pytest.raises(ShimGone, match=name):
        await ShimLink.connect(yard.run / name, 1)


@pytest.mark.parametrize("lines", [[], [b"x"], [b"[]"], [b"3"], [b"{}"], [b'{"n":2}']])
async def test_a_shim_that_talks_nonsense_is_gone(speak, lines):
    with pytest.raises(ShimGone):
        await ShimLink.connect(await speak(*lines), 1)


async def test_a_later_shim_may_say_more_than_we_know(speak):
    link = await ShimLink.connect(await speak(HELLO, b'{"notice":"news","of":3}'), 1)
    notices: list = []
    await asyncio.sleep(0)
    link.on_notice(notices.append)
    assert link.hello.state == "idle"
    while not link.is_lost:
        await asyncio.sleep(0)
    assert notices == [Lost()]
    with pytest.raises(ShimGone):
        await link.kill()


async def test_no_notice_is_lost_before_somebody_listens(speak):
    notice = b'{"notice":"exit","code":0,"signal":null}'
    link = await ShimLink.connect(await speak(HELLO, notice), 1)
    while not link.is_lost:
        await asyncio.sleep(0)
    notices: list = []
    link.on_notice(notices.append)
    assert notices == [Exited(0, None), Lost()]


async def test_requests_may_overlap_and_each_gets_its_own_answer(yard):
    run = await yard.session(ECHOES)
    asked = (run.link.input_state(f"i{n}") for n in range(50))
    written = (run.link.input(f"i{n}", f"{n}\n") for n in range(0, 50, 2))
    states, deliveries = await asyncio.gather(asyncio.gather(*asked), asyncio.gather(*written))
    assert (set(states), set(deliveries)) == ({"unknown"}, {"written"})
    await run.prints(b"48\n")


async def test_a_request_given_up_is_answered_to_nobody(yard):
    run = await yard.session("import time; time.sleep(1000)")
    waiting = asyncio.create_task(run.link.input("big", "x" * 1_000_000))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await run.link.kill() == 0
    await run.exited()


async def test_hanging_up_ends_what_waits_and_not_the_cli(yard):
    run = await yard.session("import time; time.sleep(1000)")
    waiting = asyncio.create_task(run.link.input("big", "x" * 1_000_000))
    await asyncio.sleep(0)
    run.link.close()
    with pytest.raises(ShimGone):
        await waiting
    assert run.notices[-1] == Lost()
    link = await yard.connect_to(run.link.path, token=1)
    assert link.hello.state == "running"


async def test_what_a_shim_refuses_is_an_error_of_ours(yard):
    run = await yard.session(ECHOES)
    with pytest.raises(Invalid, match="fly"):
        await run.link.request("fly")
    assert not [notice for notice in run.notices if not isinstance(notice, OutputGrew)]
