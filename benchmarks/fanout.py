"""Fan-out of the journal to many streams (S3): ours, a queue a client, and a bare server.

`python -m benchmarks fanout`. All three have the same journal in front of them, on the same loop,
each in a process of its own; the clients are in this one, count every event and check that none is
missing. The bare server writes what it encodes to every connection without asking whether there is
room: it is the limit, not a design.
"""

import asyncio
import contextlib
import itertools
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import uvicorn
from benchmarks.figures import Figure, ratios, spread, table
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from amiral.base.clock import SystemClock, iso_utc
from amiral.base.events import WorkerSaid
from amiral.base.settings import Hub
from amiral.commands.registry import Commands, Role
from amiral.commands.table import TABLE
from amiral.store.journal import Journal, Stamped
from amiral.web import frames
from amiral.web.project import WebServer
from amiral.web.server import Site
from amiral.web.sessions import WEB_SESSIONS

DESIGNS = ("ours", "queue", "bare")
EVENTS = {1: 30_000, 10: 30_000, 100: 6_000}
WRITERS = (1, 8)
LINE_BYTES = 1024
LINES_READ_AT_ONCE = 50
ROUNDS = 3
DEAF_EVENTS, DEAF_BYTES = 20_000, 4096
PATIENCE_S = 120
BARE_GOAL, QUEUE_GOAL, DEAF_GOAL_MB = 0.6, 5.0, 8.0
_MARK = b'\ndata: {"seq":'
_SEQ = re.compile(rb'\ndata: \{"seq":(\d+),')


def line(number: int, size: int) -> WorkerSaid:
    """An event whose payload is one line of an agent's output."""
    return WorkerSaid("t" * 16, "developer", "s" * 16, (1, number), "x" * (size - 110))


# ------------------------------------------------------------------ the three servers


def encoded(epoch: str, one: Stamped) -> bytes:
    ts = iso_utc(one.ts_ms)
    head = frames.head(epoch, one.seq, name=one.name, ts=ts, by=one.by, version=one.version)
    return head + one.payload + frames.END


async def serve_ours(journal: Journal, folder: Path) -> tuple[int, str]:
    site = Site("bench", Hub(port=0), True, False, folder / "s.sock")
    web = WebServer(Commands(TABLE), journal, SystemClock(), lambda _: Role.OWNER, site)
    await web.start()
    address, _, code = web.new_url().rpartition("/?code=")
    port = int(address.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /?code={code} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    writer.close()
    return port, re.search("set-cookie: ([^;]+)", head)[1]


async def serve_queue(journal: Journal, _: Path) -> tuple[int, str]:
    """The common pattern: each event encoded once, one item of a queue a client."""
    queues: set[asyncio.Queue[bytes]] = set()

    async def read() -> None:
        async for one in journal.subscribe(journal.last_seq):
            data = encoded(journal.epoch, one)
            for queue in queues:
                queue.put_nowait(data)

    async def stream(_: Request) -> StreamingResponse:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        queues.add(queue)

        async def items() -> AsyncIterator[bytes]:
            while True:
                yield await queue.get()

        return StreamingResponse(items(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/api/stream", stream)])
    config = uvicorn.Config(app, port=0, log_config=None, log_level="critical", lifespan="off")
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    keep.append(asyncio.create_task(read()))
    keep.append(server)
    return server.servers[0].sockets[0].getsockname()[1], ""


async def serve_bare(journal: Journal, _: Path) -> tuple[int, str]:
    """Nothing but sockets: every batch is one write to each of them."""
    links: set[asyncio.WriteTransport] = set()

    class Link(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport

        def data_received(self, _: bytes) -> None:
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            links.add(self.transport)

        def connection_lost(self, _: Exception | None) -> None:
            links.discard(self.transport)

    async def read() -> None:
        async for batch in journal.batches(journal.last_seq):
            data = b"".join(encoded(journal.epoch, one) for one in batch)
            for link in links:
                link.write(data)

    server = await asyncio.get_running_loop().create_server(Link, "127.0.0.1", 0)
    keep.append(asyncio.create_task(read()))
    keep.append(server)
    return server.sockets[0].getsockname()[1], ""


SERVERS = {"ours": serve_ours, "queue": serve_queue, "bare": serve_bare}
keep: list[object] = []


async def serve(design: str, writers: int, events: int, size: int) -> None:
    """Serve, write when told to on stdin, and tell what it took."""
    loop = asyncio.get_running_loop()

    async def order() -> str:
        return await loop.run_in_executor(None, sys.stdin.readline)

    folder = Path(tempfile.mkdtemp(dir=Path.cwd()))
    try:
        journal = await Journal.open(folder / "journal.db", SystemClock(), [WEB_SESSIONS])
        port, cookie = await SERVERS[design](journal, folder)
        tell({"port": port, "cookie": cookie})
        while await order():
            before_mb, before_s = memory_mb(), time.process_time()
            await write(journal, writers, events, size)
            await order()
            took_s, grown_mb = time.process_time() - before_s, memory_mb() - before_mb
            tell({"cpu_s": took_s, "grown_mb": grown_mb})
    finally:
        shutil.rmtree(folder)
    # Whoever never reads is not waited for.
    os._exit(0)


async def write(journal: Journal, writers: int, events: int, size: int) -> None:
    async def agent(count: int) -> None:
        for first in range(0, count, LINES_READ_AT_ONCE):
            part = range(first, min(first + LINES_READ_AT_ONCE, count))
            await journal.append(*(line(number, size) for number in part))

    await asyncio.gather(*(agent(events // writers) for _ in range(writers)))


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def tell(data: object) -> None:
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()


# ------------------------------------------------------------------ the clients


class Client(asyncio.Protocol):
    """Counts events; one that is `checked` keeps what it read, to be looked through afterwards."""

    def __init__(self, port: int, cookie: str, events: int, *, checked: bool) -> None:
        lines = ("GET /api/stream HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Cookie: {cookie}", "", "")
        self._request = "\r\n".join(lines).encode()
        self._wanted, self._checked = events, checked
        loop = asyncio.get_running_loop()
        self.begun, self.done = loop.create_future(), loop.create_future()
        self.read = bytearray()
        self._rest = self._tail = b""
        self._is_chunked = False
        self._left = self._count = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.begun.done():
            head, end, data = (self._rest + data).partition(b"\r\n\r\n")
            if not end:
                self._rest = head
                return
            assert b" 200 " in head, head
            self._is_chunked = b"chunked" in head
            self._rest = b""
            self.begun.set_result(None)
        for part in self._unchunked(data) if self._is_chunked else (data,):
            self._count_marks(part)

    def _unchunked(self, data: bytes) -> Iterator[bytes]:
        data, at = self._rest + data, 0
        while at < len(data):
            if self._left:
                part = data[at : at + self._left]
                self._left -= len(part)
                at += len(part)
                yield part
                continue
            end = data.find(b"\r\n", at + 2)
            if end < 0:
                break
            self._left = int(data[at:end].strip(), 16)
            at = end + 2
        self._rest = data[at:]

    def _count_marks(self, data: bytes) -> None:
        if self._checked:
            self.read += data
        self._count += (self._tail + data).count(_MARK)
        self._tail = (self._tail + data)[1 - len(_MARK) :]
        if self._count >= self._wanted and not self.done.done():
            self.done.set_result(None)

    def check(self) -> None:
        """Raise when an event was missing, or came twice."""
        seqs = [int(seq) for seq in _SEQ.findall(bytes(self.read))]
        assert seqs == list(range(seqs[0], seqs[0] + self._wanted)), "a gap or a double"
        assert self._count == self._wanted


@dataclass(frozen=True)
class Took:
    """One run: seconds until the last client had all, and what the server took for it."""

    seconds: float
    cpu_s: float
    grown_mb: float


async def run(
    design: str,
    writers: int,
    clients: int,
    events: int,
    *,
    size: int = LINE_BYTES,
    deaf: bool = False,
) -> Took:
    """Let so many clients read so many events; one more may be there that never reads."""
    loop = asyncio.get_running_loop()
    with start(design, writers, events, size) as server:
        told = json.loads(server.stdout.readline())
        port, cookie = told["port"], told["cookie"]
        listening = []
        for number in range(clients):
            client = Client(port, cookie, events, checked=number == 0)
            await loop.create_connection(lambda client=client: client, "127.0.0.1", port)
            listening.append(client)
        await asyncio.gather(*(client.begun for client in listening))
        silent = connect_deaf(port, cookie) if deaf else contextlib.nullcontext()
        with silent:
            began = time.perf_counter()
            order(server.stdin)
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*(client.done for client in listening))
            took_s = time.perf_counter() - began
            order(server.stdin)
            told = json.loads(server.stdout.readline())
            server.stdin.close()
        for client in listening:
            client.transport.abort()
        listening[0].check()
    return Took(took_s, told["cpu_s"], told["grown_mb"])


def connect_deaf(port: int, cookie: str) -> socket.socket:
    deaf = socket.create_connection(("127.0.0.1", port))
    request = f"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n"
    deaf.sendall(request.encode())
    deaf.recv(1)
    return deaf


def start(*arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.fanout", "--serve", *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def order(stream: IO[bytes]) -> None:
    stream.write(b"go\n")
    stream.flush()


# ------------------------------------------------------------------ figures


def figures() -> list[Figure]:
    """Every number of writers with every number of clients, the three designs taking turns."""
    found: list[Figure] = []
    for writers in WRITERS:
        for clients, events in EVENTS.items():
            found += of_case(writers, clients, events)
    return [*found, *of_deaf(), of_opencode()]


def of_case(writers: int, clients: int, events: int) -> list[Figure]:
    took: dict[str, list[Took]] = {design: [] for design in DESIGNS}
    for _ in range(ROUNDS):
        for design in DESIGNS:
            took[design].append(asyncio.run(run(design, writers, clients, events)))
    deliveries = clients * events
    rates = {name: [deliveries / one.seconds for one in runs] for name, runs in took.items()}
    cpu = {name: [one.cpu_s * 1e6 / deliveries for one in runs] for name, runs in took.items()}
    case = f"{writers} writing, {clients} reading"
    beside = ", ".join(f"{name} {statistics.median(rates[name]):,.0f}" for name in DESIGNS[1:])
    goal = QUEUE_GOAL if clients == max(EVENTS) else None
    return [
        spread(f"{case}: deliveries", rates["ours"], "a second", note=beside),
        spread(f"{case}: CPU a delivery", cpu["ours"], "µs", note=_shown(cpu)),
        ratios(f"{case}: ours / bare", rates["ours"], rates["bare"], BARE_GOAL, at_least=True),
        ratios(f"{case}: ours / queue", rates["ours"], rates["queue"], goal, at_least=True),
    ]


def of_deaf() -> list[Figure]:
    """What one more client costs that never reads 80 MB, and how the other one fares."""
    took: dict[tuple[str, bool], list[Took]] = {}
    for _ in range(ROUNDS):
        for case in itertools.product(("ours", "queue"), (False, True)):
            design, is_deaf = case
            done = asyncio.run(run(design, 1, 1, DEAF_EVENTS, deaf=is_deaf, size=DEAF_BYTES))
            took.setdefault(case, []).append(done)
    more = {
        name: [
            deaf.grown_mb - alone.grown_mb
            for alone, deaf in zip(took[name, False], took[name, True], strict=True)
        ]
        for name in ("ours", "queue")
    }
    beside = f"queue {statistics.median(more['queue']):.0f} MB"
    alone, slowed = ([1 / one.seconds for one in took["ours", deaf]] for deaf in (False, True))
    return [
        spread("a client that never reads 80 MB", more["ours"], "MB", DEAF_GOAL_MB, beside),
        ratios("the other one beside it / alone", slowed, alone, 0.95, at_least=True),
    ]


def of_opencode() -> Figure:
    """Its server beside ours needs the program; nothing here installs it."""
    there = shutil.which("opencode")
    note = f"{there} is not driven from here yet" if there else "opencode is not installed here"
    return Figure("opencode serve", None, "a second", note=note)


def _shown(values: dict[str, list[float]]) -> str:
    return ", ".join(f"{name} {statistics.median(values[name]):.2f}" for name in DESIGNS[1:])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        name, *numbers = sys.argv[2:]
        asyncio.run(serve(name, *map(int, numbers)))
    else:
        print(table(figures()))
