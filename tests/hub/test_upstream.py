"""One exchange over a unix socket: only with a socket of ours, and never more than a sentence."""

import socket

import pytest

from amiral.hub.upstream import Unreachable, Upstream, Way

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"


def way(path, folder=None, *, is_ours=True):
    return Way(path, folder or path.parent, lambda _: is_ours)


def answering(answer, asked=None):
    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        if asked is not None:
            asked.append(head)
        writer.write(answer)
        await writer.drain()

    return serve


async def exchange(path, target=b"/"):
    link = await Upstream.connect(way(path))
    try:
        await link.ask("GET", target, [(b"accept", b"text/plain")])
        await link.end()
        await link.end()
        head = await link.head()
        body = b""
        while data := await link.piece():
            body += data
        return head, body
    finally:
        link.hang_up()


async def test_it_asks_and_reads_the_answer(short_path, serving_raw):
    path, asked = short_path / "s.sock", list[bytes]()
    async with serving_raw(path, answering(ANSWER, asked)):
        head, body = await exchange(path, b"/a%2Fb?c=d")
    assert (head.status, body) == (200, b"hello")
    assert dict(head.headers) == {b"content-type": b"text/plain", b"content-length": b"5"}
    assert asked[0].split(b"\r\n")[0] == b"GET /a%2Fb?c=d HTTP/1.1"
    assert b"Host: amiral" in asked[0].title().replace(b"Amiral", b"amiral")


async def test_what_comes_before_the_answer_is_passed_over(short_path, serving_raw):
    path = short_path / "s.sock"
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    async with serving_raw(path, answering(early + ANSWER)):
        head, body = await exchange(path)
    assert (head.status, body) == (200, b"hello")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 799 Odd\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 200_000,
        b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    ],
)
async def test_an_answer_that_is_none_is_told_in_a_sentence(short_path, serving_raw, answer):
    path = short_path / "s.sock"
    async with serving_raw(path, answering(answer)):
        with pytest.raises(Unreachable) as told:
            await exchange(path)
    assert told.value.message


async def test_where_nobody_listens_it_says_so(short_path):
    path = short_path / "s.sock"
    with pytest.raises(Unreachable, match="No such file"):
        await Upstream.connect(way(path))
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with pytest.raises(Unreachable, match="refused"):
        await Upstream.connect(way(path))


async def test_what_is_no_socket_of_ours_is_not_connected_to(short_path, serving_raw):
    real, link, file = (short_path / name for name in ("real.sock", "link.sock", "file.sock"))
    link.symlink_to(real)
    file.touch()
    folder = short_path / "run"
    folder.mkdir()
    asked: list[bytes] = []
    async with serving_raw(real, answering(ANSWER, asked)):
        for odd in (way(link), way(file), way(real, folder)):
            with pytest.raises(Unreachable, match="no socket of ours"):
                await Upstream.connect(odd)
    assert asked == []


async def test_an_impostor_at_the_socket_is_asked_nothing(short_path, serving_raw):
    path, asked = short_path / "s.sock", list[bytes]()
    async with serving_raw(path, answering(ANSWER, asked)):
        with pytest.raises(Unreachable, match="somebody else"):
            await Upstream.connect(way(path, is_ours=False))
    assert asked == []
