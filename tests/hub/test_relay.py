"""Handing on: both ways at once, at the pace of the slower one, until one of the two ends it."""

import asyncio
import contextlib
import json

import pytest

from amiral.base.events import RoleChosen

MIB = 1 << 20
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data):
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@pytest.fixture
def raw(short_path, child, hub, serving_raw):
    """Put something else in the place of the project's process."""
    child.path.unlink()
    return lambda answer: serving_raw(child.path, answer)


# ------------------------------------------------------------------ the stream


async def append(journal, count, start=0):
    for number in range(start, start + count):
        await journal.append(RoleChosen(str(number)))


async def test_r52_events_pass_as_they_come_and_go_on_where_a_cut_left_them(hub, child):
    reader = await hub.listen(path="/p/shop/api/stream")
    assert "text/event-stream" in reader.head
    await append(child.journal, 3)
    seen = await reader.take(3)
    reader.cut()
    await append(child.journal, 5, 3)
    again = await hub.listen(reader.parser, "/p/shop/api/stream")
    seen += await again.take(5)
    assert [event.json()["payload"]["worker"] for event in seen] == [str(n) for n in range(8)]
    again.cut()


async def test_r52_ten_thousand_events_through_many_cuts_have_no_gap_and_no_double(hub, child):
    first = await hub.listen(path="/p/shop/api/stream")
    writing = asyncio.create_task(append(child.journal, 10_000))
    parser, seen = first.parser, list[int]()
    async with asyncio.timeout(60):
        reader = first
        while len(seen) < 10_000:
            async for event in reader.events():
                seen.append(event.seq)
                if len(seen) == 10_000 or len(seen) % 1_000 == 0:
                    break
            reader.cut()
            reader = await hub.listen(parser, "/p/shop/api/stream")
    await writing
    assert seen == list(range(seen[0], seen[0] + 10_000))
    reader.cut()


async def test_a_place_of_another_journal_gives_one_resync_through_the_hub_too(hub, child):
    reader = await hub.listen(path="/p/shop/api/stream", last_event_id="x")
    reader.cut()
    answer = await hub.listen(path="/p/shop/api/stream?after=garbage")
    (event,) = await answer.take(1)
    assert event.type == "resync"
    answer.cut()


async def test_a_client_that_hangs_up_ends_its_stream_in_the_project_too(hub, child, waiting_until):
    readers = [await hub.listen(path="/p/shop/api/stream") for _ in range(3)]
    assert (child.streams, hub.links_out) == (3, 3)
    readers[0].cut()
    await waiting_until(lambda: (child.streams, hub.links_out) == (2, 2))
    for reader in readers[1:]:
        reader.cut()
    await waiting_until(lambda: (child.streams, hub.links_out) == (0, 0))


async def test_a_project_that_ends_ends_its_streams_whole(hub, child):
    reader = await hub.listen(path="/p/shop/api/stream")
    await child.web.close()
    async with asyncio.timeout(5):
        assert await reader.rest() == []


async def test_a_hub_that_ends_hangs_up_at_once_and_the_project_notices(hub, child, waiting_until):
    await hub.listen(path="/p/shop/api/stream")
    body = json.dumps({"text": "hi"}).encode()
    await hub.send("POST", "/p/shop/api/commands/say", hub.write_headers(), body)
    await waiting_until(lambda: child.told.calls)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await hub.gateway.close()
    assert loop.time() - began < 2
    await waiting_until(lambda: child.streams == 0)


async def test_what_is_under_way_is_hung_up_on_at_both_ends(hub, child, waiting_until):
    reader = await hub.listen(path="/p/shop/api/stream")
    await reader.chunk()
    hub.gateway._relay.close()
    async with asyncio.timeout(5):
        assert await reader.reader.read() == b""
    await waiting_until(lambda: (child.streams, hub.links_out) == (0, 0))


async def test_a_process_killed_in_mid_stream_leaves_the_answer_unfinished(hub, raw):
    """Not ended as if all had been said: a browser comes back with its place."""
    killed = asyncio.Event()

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + chunk(b"id: e:1\ndata: {}\n\n"))
        await killed.wait()
        writer.transport.abort()

    async with raw(answer):
        reader = await hub.listen(path="/p/shop/api/stream")
        assert await reader.chunk() == b"id: e:1\ndata: {}\n\n"
        killed.set()
        async with asyncio.timeout(5):
            assert await reader.reader.read() == b"", "no last chunk"


async def test_what_is_said_is_passed_on_at_once_however_little(hub, raw):
    go_on = asyncio.Event()

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + chunk(b":"))
        await go_on.wait()
        writer.write(chunk(b"x") + b"0\r\n\r\n")
        await writer.drain()

    async with raw(answer):
        reader = await hub.listen(path="/p/shop/api/stream")
        async with asyncio.timeout(5):
            assert await reader.chunk() == b":"
            go_on.set()
            assert (await reader.chunk(), await reader.chunk()) == (b"x", b"")


# ------------------------------------------------------------------ pace


async def test_p11_one_who_does_not_read_slows_only_itself_and_fills_nothing(hub, child, raw):
    sent = 0

    async def answer(reader, writer):
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD)
        while True:
            writer.write(chunk(b"x" * 65_536))
            await writer.drain()
            sent += 65_536

    async with raw(answer):
        idle = await hub.listen(path="/p/shop/api/stream")
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.2)
        assert 0 < sent < 8 * MIB, "the kernel's buffers and a few pieces"
        quick = await hub.listen(path="/p/shop/api/stream")
        async with asyncio.timeout(20):
            for _ in range(100):
                assert len(await quick.chunk()) > 0
        assert (await hub.get("/api/master/health")).status == 200
        idle.cut()
        quick.cut()


async def test_p11_a_body_that_is_not_read_stops_its_sender(hub, raw, waiting_until):
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(60)

    async with raw(answer):
        headers = hub.write_headers(content_length=str(64 * MIB))
        _, writer = await hub.send("POST", "/p/shop/api/commands/say", headers)
        sent = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                while sent < 64 * MIB:
                    writer.write(b"x" * 65_536)
                    await writer.drain()
                    sent += 65_536
        assert sent < 8 * MIB
        writer.transport.abort()


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_body_of_one_mib_arrives_whole(hub, child, is_chunked):
    text = "é" * (MIB // 2 - 40)
    body = json.dumps({"text": text, "wait": 0}, ensure_ascii=False).encode()
    assert MIB - 100 < len(body) <= MIB
    if is_chunked:
        parts = [chunk(body[at : at + 10_000]) for at in range(0, len(body), 10_000)]
        body = b"".join(parts) + b"0\r\n\r\n"
    framed = {"transfer_encoding": "chunked"} if is_chunked else {}
    answer = await hub.post_to("/p/shop/api/commands/say", body, **framed)
    assert answer.json() == {"said": text}


async def test_a_body_that_is_too_long_is_refused_by_the_project(hub, child):
    answer = await hub.post_to("/p/shop/api/commands/say", b'"' + b"x" * 3 * MIB + b'"')
    assert (answer.status, answer.json()["error"]["kind"]) == (413, "usage")
    assert child.told.calls == []


async def test_an_answer_before_the_body_has_ended_arrives(hub, raw):
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()

    async with raw(answer):
        headers, body = hub.write_headers(), b"x" * 4 * MIB
        reader, _ = await hub.send("POST", "/p/shop/api/x", headers, body, close=False)
        async with asyncio.timeout(5):
            assert b" 409 " in await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(2) == b"{}"


# ------------------------------------------------------------------ not there


def check_unreachable(answer):
    error = answer.json()["error"]
    assert (answer.status, error["kind"]) == (503, "unreachable")
    assert "shop" in error["message"]
    assert error["next"]
    assert b"Traceback" not in answer.body


async def test_a_project_without_a_process_is_told_with_the_next_step(hub, child):
    await child.web.close()
    for path in ("/p/shop/", "/p/shop/api/stream", "/p/shop/api/status"):
        check_unreachable(await hub.get(path))
    body = json.dumps({"text": "hi"}).encode()
    check_unreachable(await hub.post_to("/p/shop/api/commands/say", body))
    hub.projects = [child.served("stopped", "the brake is on")]
    answer = await hub.get("/p/shop/")
    assert "stopped · the brake is on" in answer.json()["error"]["message"]


async def test_in_a_browser_it_is_told_as_a_page(hub, child):
    await child.web.close()
    answer = await hub.get("/p/shop/", accept="text/html,*/*")
    assert (answer.status, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert b"the process of shop does not answer" in answer.body
    check_unreachable(await hub.get("/p/shop/api/status", accept="text/html,*/*"))


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\nx"])
async def test_a_process_that_ends_before_its_head_is_unreachable(hub, raw, answer):
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    async with raw(serve):
        check_unreachable(await hub.get("/p/shop/api/status"))


async def test_a_process_that_hangs_is_unreachable_after_a_while(hub, raw):
    async def serve(reader, writer):
        await reader.read()

    hub.gateway._relay._patience_s = 0.2
    async with raw(serve):
        async with asyncio.timeout(5):
            answer = await hub.get("/p/shop/api/status")
    check_unreachable(answer)
    assert "hangs" in answer.json()["error"]["message"]


async def test_a_command_that_takes_its_time_is_waited_for_while_the_process_lives(hub, child):
    hub.gateway._relay._patience_s = 0.1
    body = json.dumps({"text": "hi"}).encode()
    asking = asyncio.create_task(hub.post_to("/p/shop/api/commands/say", body))
    await asyncio.sleep(0.5)
    assert not asking.done()
    child.told.release.set()
    assert (await asking).json() == {"said": "hi"}


async def test_a_stream_in_which_nothing_happens_stays_while_the_process_lives(hub, child):
    hub.gateway._relay._patience_s = 0.1
    reader = await hub.listen(path="/p/shop/api/stream")
    await reader.chunk()
    await asyncio.sleep(0.5)
    await append(child.journal, 1)
    assert len(await reader.take(1)) == 1
    reader.cut()


async def test_a_client_that_leaves_before_the_head_lets_the_process_know(
    hub, child, waiting_until
):
    body = json.dumps({"text": "hi"}).encode()
    _, writer = await hub.send("POST", "/p/shop/api/commands/say", hub.write_headers(), body)
    await waiting_until(lambda: child.told.calls)
    writer.transport.abort()
    await waiting_until(lambda: hub.links_out == 0)


# ------------------------------------------------------------------ what passes


async def test_only_what_is_read_there_is_handed_on(hub, raw):
    asked = []

    async def serve(reader, writer):
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a=b\r\nLocation: http://evil\r\n"
            b"Content-Security-Policy: none\r\nAccess-Control-Allow-Origin: *\r\n"
            b"Content-Type: application/json\r\nConnection: keep-alive, x-odd\r\nX-Odd: 1\r\n\r\n{}"
        )
        await writer.drain()

    odd = {
        "authorization": "Bearer x",
        "proxy-authorization": "Basic x",
        "x-forwarded-for": "1.2.3.4",
        "forwarded": "for=1.2.3.4",
        "x-real-ip": "1.2.3.4",
        "te": "trailers",
        "upgrade": "h2c",
        "x-role": "owner",
        "accept": "application/json",
        "last-event-id": "e:5",
        "connection": "keep-alive, last-event-id",
        "keep-alive": "timeout=5",
        "authorization ": None,
    }
    del odd["authorization"]
    async with raw(serve):
        reader, _ = await hub.send(
            "GET", "/p/shop/api/status?a=b", {"cookie": hub.cookie, **odd}, close=False
        )
        async with asyncio.timeout(5):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    lines = asked[0].strip().split("\r\n")
    assert lines[0] == "get /api/status?a=b http/1.1"
    assert sorted(lines[1:]) == [
        *("accept: application/json", "connection: close", "host: amiral", "last-event-id: e:5")
    ]
    for name in ("set-cookie", "location", "access-control", "x-odd"):
        assert name not in head
    assert "default-src 'none'" in head


@pytest.mark.parametrize(
    "lines",
    [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Content-Length: +5\r\n",
        "Content-Length : 5\r\n",
        "X: a\r\n folded: b\r\nContent-Length: 0x5\r\n",
    ],
)
async def test_a_body_framed_in_two_ways_reaches_nobody(hub, child, lines):
    reader, writer = await hub.connect()
    cookie = f"Cookie: {hub.cookie}\r\nOrigin: {hub.origin}\r\nContent-Type: application/json\r\n"
    head = f"POST /p/shop/api/commands/say HTTP/1.1\r\nHost: {hub.host}\r\n{cookie}{lines}\r\n"
    writer.write(head.encode() + b'{"text": "hi"}')
    async with asyncio.timeout(5):
        first = await reader.readline()
    assert b" 400 " in first or b" 501 " in first
    assert child.told.calls == []


async def test_a_second_request_hidden_in_a_body_stays_in_it(hub, child):
    """With both framings h11 takes the chunks; what follows them is a request to the hub alone."""
    hidden = b"POST /api/commands/say HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
    headers = hub.write_headers(transfer_encoding="chunked", content_length="4")
    reader, writer = await hub.send("POST", "/p/shop/api/commands/say", headers, close=False)
    writer.write(b"0\r\n\r\n" + hidden)
    writer.write_eof()
    async with asyncio.timeout(10):
        told = await reader.read()
    assert told.count(b"HTTP/1.1 ") <= 2
    assert child.told.calls == []
