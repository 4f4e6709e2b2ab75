"""The console answers whoever knocks, and outlives every way of knocking wrongly."""

import asyncio
import gc
import json
import shutil
import tempfile
from pathlib import Path

import pytest

from amiral.base.errors import NotFound
from amiral.commands.registry import Commands, Reply, Role, command
from amiral.commands.table import TABLE
from amiral.console import Console

PATIENCE_S = 20.0


class Topic:
    """A few commands of the table with answers of our own."""

    def __init__(self):
        self.callers = []
        self.held = asyncio.Event()
        self.is_open = False

    @command("status")
    async def status(self, caller):
        self.callers.append(caller)
        return Reply("all is well", {"well": True})

    @command("health")
    async def health(self, caller):
        await self.held.wait()
        return Reply("\x1b[31mred\u202etxt", {"text": "\x1b[31mred\u202etxt"}, 1)

    @command("list")
    async def list(self, caller):
        raise ZeroDivisionError("a slip of ours")

    @command("workers")
    async def workers(self, caller):
        raise NotFound("no such thing", "look elsewhere")

    @command("down")
    async def down(self, caller, *, agents=False):
        return Reply()

    @command("events")
    async def events(self, caller, *, follow=False, since=0):
        return Reply(items=self._count(since, follow))

    async def _count(self, since, follow):
        self.is_open = True
        try:
            for number in range(since):
                yield Reply(f"event {number}", {"seq": number})
            if follow:
                await self.held.wait()
                for number in range(1000):
                    yield Reply("x" * 100_000, {"seq": number})
        finally:
            self.is_open = False


class Client:
    """One connection to the console."""

    def __init__(self, path: Path):
        self._path = path

    async def __aenter__(self):
        self.reader, self.writer = await asyncio.open_unix_connection(self._path, limit=1 << 26)
        return self

    async def __aexit__(self, *_):
        self.writer.close()

    async def say(self, *argv, **more):
        self.writer.write(json.dumps({"argv": argv, **more}).encode() + b"\n")
        return await self.frames()

    async def flood(self, size):
        for _ in range(size >> 20):
            self.writer.write(b"x" * (1 << 20))
            await self.writer.drain()

    async def frames(self):
        async with asyncio.timeout(PATIENCE_S):
            whole = await self.reader.read()
        return [json.loads(line) for line in whole.split(b"\n") if line]


class Place:
    def __init__(self, folder: Path):
        self.folder, self.path = folder, folder / "console.sock"
        self.topic, self.role = Topic(), Role.OWNER
        self.faults: list[dict] = []
        self.servers: list[asyncio.Server] = []

    async def serve(self):
        asyncio.get_running_loop().set_exception_handler(lambda _, told: self.faults.append(told))
        console = Console(Commands(TABLE, self.topic), lambda _: self.role)
        self.servers.append(await console.serve(self.path))

    def close(self):
        while self.servers:
            self.servers.pop().close()

    def client(self) -> Client:
        return Client(self.path)

    async def ask(self, *argv, **more):
        async with self.client() as client:
            return await client.say(*argv, **more)

    async def until(self, holds):
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await asyncio.sleep(0.003)


@pytest.fixture
async def place():
    folder = Path(tempfile.mkdtemp(prefix="amiral-"))
    place = Place(folder)
    await place.serve()
    yield place
    assert await place.ask("status", "--json") == [{"out": '{"well":true}\n'}, {"exit": 0}]
    gc.collect()
    place.close()
    assert place.faults == [], "no fault is left to the loop"
    shutil.rmtree(folder)


async def test_an_answer_comes_in_frames_and_the_exit_code_last(place):
    assert await place.ask("status") == [{"out": "all is well\n"}, {"exit": 0}]
    assert await place.ask("events", "--since", "2") == [
        {"out": "event 0\n"},
        {"out": "event 1\n"},
        {"exit": 0},
    ]
    assert await place.ask("events", "--since", "1", "--json") == [
        {"out": '{"seq":0}\n'},
        {"exit": 0},
    ]
    assert await place.ask("down") == [{"exit": 0}], "nothing to say, nothing said"
    assert [caller.surface for caller in place.topic.callers] == ["console"]


async def test_a_request_may_arrive_in_pieces_and_with_more_than_we_know(place):
    async with place.client() as client:
        for piece in (b'{"argv": ["sta', b'tus"], "cwd": "/", "tty":', b'false, "new": [1]}\n'):
            client.writer.write(piece)
            await client.writer.drain()
            await asyncio.sleep(0)
        assert await client.frames() == [{"out": "all is well\n"}, {"exit": 0}]


async def test_refusals_are_told_on_stderr_or_as_one_document(place):
    assert await place.ask("workers") == [
        {"err": "✗ no such thing\n  look elsewhere\n"},
        {"exit": 4},
    ]
    out, ended = await place.ask("workers", "--json")
    error = {"kind": "not_found", "message": "no such thing", "next": "look elsewhere"}
    assert json.loads(out["out"]) == {"error": error}
    assert ended == {"exit": 4}
    for words in (["no-such"], [], ["say"], ["status", "--no-such"], ["events", "--since", "x"]):
        assert (await place.ask(*words))[-1] == {"exit": 2}
    assert (await place.ask("cost"))[-1] == {"exit": 1}


async def test_a_fault_of_ours_is_a_sentence_and_no_traceback(place):
    told, ended = await place.ask("list")
    assert told["err"].startswith("✗ a fault of amiral: ZeroDivisionError('a slip of ours')")
    assert "Traceback" not in told["err"]
    assert ended == {"exit": 1}


GARBAGE = {
    "nothing": b"",
    "an empty line": b"\n",
    "no json": b"GET / HTTP/1.1\r\n\r\n",
    "bytes that are no text": bytes(range(256)) + b"\n",
    "another type": b'["status"]\n',
    "argv of numbers": b'{"argv": [1, 2]}\n',
    "no argv": b'{"cwd": "/"}\n',
    "half a request": b'{"argv": ["status"',
    "a deep nest": b"[" * 200_000 + b"\n",
    "a lone surrogate": b'{"argv": ["say", "\\ud83d"]}\n',
}


@pytest.mark.parametrize("kind", GARBAGE)
async def test_what_is_no_request_is_hung_up_on(place, kind):
    async with place.client() as client:
        client.writer.write(GARBAGE[kind])
        client.writer.write_eof()
        frames = await client.frames()
    assert [frame for frame in frames if "out" in frame] == []


async def test_a_request_without_end_is_cut_off_and_costs_no_memory(place):
    async with place.client() as client:
        with pytest.raises(ConnectionError):
            await client.flood(400 << 20)


async def test_a_large_request_is_carried_out(place):
    frames = await place.ask("status", cwd="x" * (8 << 20))
    assert frames == [{"out": "all is well\n"}, {"exit": 0}]


async def test_who_hangs_up_in_mid_answer_disturbs_nobody_and_leaves_nothing_open(place):
    for _ in range(3):
        async with place.client() as client:
            client.writer.write(b'{"argv": ["events", "--follow", "--since", "1"]}\n')
            await client.reader.readline()
    assert await place.ask("status") == [{"out": "all is well\n"}, {"exit": 0}]
    place.topic.held.set()
    await place.until(lambda: not place.topic.is_open)


async def test_who_does_not_read_keeps_only_itself_waiting(place):
    async with place.client() as lazy:
        lazy.writer.write(b'{"argv": ["events", "--follow"]}\n')
        await place.until(lambda: place.topic.is_open)
        place.topic.held.set()
        assert await place.ask("status") == [{"out": "all is well\n"}, {"exit": 0}]
        assert place.topic.is_open, "a hundred megabytes wait to be read"


async def test_a_slow_answer_holds_nobody_up(place):
    async with place.client() as slow:
        slow.writer.write(b'{"argv": ["health", "--json"]}\n')
        assert await place.ask("status") == [{"out": "all is well\n"}, {"exit": 0}]
        place.topic.held.set()
        assert (await slow.frames())[-1] == {"exit": 1}


async def test_what_workers_wrote_cannot_move_the_terminal(place):
    """R54: cleaned for people, escaped and unharmed in JSON."""
    place.topic.held.set()
    told, _ = await place.ask("health")
    assert told["out"] == "red<U+202E>txt\n"
    document, _ = await place.ask("health", "--json")
    assert not {"\x1b", "\u202e"} & set(document["out"])
    assert json.loads(document["out"]) == {"text": "\x1b[31mred\u202etxt"}


async def test_an_agent_reaches_what_is_open_to_agents_and_nothing_else(place):
    """P09: whatever it claims."""
    place.role = Role.AGENT
    for words in (["status"], ["events"], ["down"], ["workers"], ["health"], ["list"]):
        told, ended = await place.ask(*words, "--json", role="owner", surface="web")
        assert json.loads(told["out"])["error"]["kind"] == "denied"
        assert ended == {"exit": 5}
    assert place.topic.callers == []
    place.role = Role.OWNER


async def test_the_socket_is_the_users_own_and_replaces_a_stale_one(place):
    assert place.path.stat().st_mode & 0o777 == 0o600
    place.close()
    assert place.path.exists(), "as after a kill"
    await place.serve()


async def test_the_end_of_the_process_leaves_no_word_behind(place):
    """A follower is let go of without a fault when the loop ends."""
    async with place.client() as follower:
        follower.writer.write(b'{"argv": ["events", "--follow"]}\n')
        await place.until(lambda: place.topic.is_open)
        answering = [task for task in asyncio.all_tasks() if "_answer" in repr(task.get_coro())]
        for task in answering:
            task.cancel()
        await asyncio.wait(answering)
        assert await follower.frames() == []
    assert not place.topic.is_open
