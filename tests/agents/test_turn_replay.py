"""Recorded output, with a crash after any of its lines: the journal tells each thing once (R32)."""

import asyncio
import contextlib
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from amiral.agents import rows
from amiral.agents.control import Control
from amiral.agents.driver import Driver, Finished, Seen
from amiral.agents.drivers import scripted
from amiral.agents.drivers.claude import driver as claude
from amiral.agents.framing import Framer, Line
from amiral.agents.session import Session
from amiral.agents.sessions import Sessions
from amiral.agents.tables import ENGINE
from amiral.agents.tail import OutputTail
from amiral.agents.turn import TurnLimits, Turns
from amiral.agents.words import Words
from amiral.base import events as ev
from amiral.base.clock import SystemClock
from amiral.conversations.store import CONVERSATIONS
from amiral.store.brake import Brake
from amiral.store.journal import Journal

TRANSCRIPTS = Path(__file__).parent / "drivers" / "transcripts"
RECORDED = [
    ("claude", "permissions"),
    ("claude", "interrupt-tool"),
    ("claude", "unasked"),
    ("scripted", "tools"),
    ("scripted", "errors"),
    ("scripted", "limit"),
]
DRIVERS: dict[str, Driver[Any]] = {"claude": claude.DRIVER, "scripted": scripted.DRIVER}


class Recorded(Sessions):
    """The sessions of a turn, in place of those under shims: one whose output a test lets grow."""

    def __init__(self, journal, driver, folder):
        self.journal, self.driver, self.place = journal, driver, folder
        self.session = None

    def folder(self, _session):
        return self.place

    def hold(self, _worker, _place, *, is_begun):
        return contextlib.nullcontext()

    async def acquire(self, _worker, _conversation, _place):
        return await self.find(rows.find_session(self.journal.rows, "s1"))

    async def find(self, row):
        if self.session is None:
            state = msgspec.json.decode(row.snapshot or "{}", type=self.driver.state_type)
            tail = OutputTail(self.place, row.snapshot_at)
            self.session = Session(row, self.driver, state, tail)
        return self.session

    async def bury(self, _session):
        pass

    async def finish(self, _session, _reason):
        pass

    def forget(self, _session):
        if self.session is not None:
            self.session.detach()
        self.session = None


class Replay:
    """Turns over a recorded stream, with the messages that were answered in it."""

    def __init__(self, folder: Path, driver: str, stream: bytes, make_worker):
        self.folder, self.driver, self.stream = folder, DRIVERS[driver], stream
        self.worker = make_worker(tools=("Read",))
        self.messages = self._messages()
        self.out = folder / "out.000001"

    def _messages(self) -> list[str]:
        """One for each final event: the id the CLI named, else one of ours."""
        state, seen = self.driver.state_type(), ""
        found: list[str] = []
        for line in Framer().feed(self.stream):
            read = self.driver.read(state, line.data if isinstance(line, Line) else b"")
            state = read.state
            for signal in read.signals:
                if isinstance(signal, Seen):
                    seen = signal.message
                elif isinstance(signal, Finished):
                    found.append(seen or f"m{len(found)}")
                    seen = ""
        return found

    async def play(self, crashes: list[int]) -> list[tuple[str, bytes]]:
        """Answer every message; the process dies whenever so many bytes were printed."""
        self.out.write_bytes(b"")
        clock = SystemClock()
        self.journal = await Journal.open(
            self.folder / "journal.db", clock, (ENGINE, CONVERSATIONS)
        )
        opened = ("s1", "dev", "dev-owner", self.driver.name, "/shop", "/none", "seat", "", "k")
        await self.journal.append(ev.SessionOpened(*opened), ev.SessionLaunched("s1", "dev", 1))
        brake = Brake(self.folder / "brake")
        brake.prepare()
        self.sessions = Recorded(self.journal, self.driver, self.folder)
        words, limits = Words(self.journal, "shop"), TurnLimits(600, 1)
        self.turns = Turns(self.journal, clock, brake, self.sessions, words, limits)
        pending = sorted(crashes)
        for message in self.messages:
            await self.journal.append(
                ev.MessageQueued(message, "dev", "dev-owner", f"do {message}", "owner")
            )
            await self._answer(message, pending)
        told = self.told()
        await self.journal.close()
        return told

    async def _answer(self, message: str, pending: list[int]) -> None:
        while (queued := rows.find_waiting(self.journal.rows, message)) is not None:
            if queued.state == "parked":
                who = (queued.turn, message, "dev")
                await self.journal.append(ev.TurnEnded(*who, "", (1, 0), "cancelled"))
                return
            cut = pending[0] if pending else len(self.stream)
            self.print_up_to(cut)
            turn = asyncio.create_task(self.turns.run(queued, self.worker, Control()))
            await self.until(lambda turn=turn, cut=cut: turn.done() or self.has_read(cut))
            if turn.done():
                turn.result()
                continue
            turn.cancel()
            await asyncio.gather(turn, return_exceptions=True)
            await self.journal.append()
            self.sessions.forget("s1")
            del pending[:1]

    def print_up_to(self, cut: int) -> None:
        with self.out.open("ab") as file:
            file.write(self.stream[file.tell() : cut])

    def has_read(self, cut: int) -> bool:
        session = self.sessions.session
        whole = self.stream.rfind(b"\n", 0, cut) + 1
        return session is not None and session.position >= (1, whole)

    async def until(self, holds) -> None:
        async with asyncio.timeout(20):
            while not holds():
                await asyncio.sleep(0)

    def told(self) -> list[tuple[str, bytes]]:
        """What the journal holds, with the names of turns taken out: they are random."""
        stamped = self.journal.read(0, 100_000)
        turns = [one.event.turn for one in stamped if isinstance(one.event, ev.TurnStarted)]
        found = []
        for one in stamped:
            payload = one.payload
            for number, turn in enumerate(turns):
                payload = payload.replace(turn.encode(), b"turn%d" % number)
            found.append((one.name, payload))
        return found


@pytest.fixture
def replay(tmp_path, works):
    def make(driver: str, name: str) -> Replay:
        folder = tmp_path / str(next(numbers))
        folder.mkdir(mode=0o700)
        stream = (TRANSCRIPTS / driver / f"{name}.jsonl").read_bytes()
        return Replay(folder, driver, stream, works.make_worker)

    numbers = count()
    return make


def borders(stream: bytes) -> list[int]:
    return [at + 1 for at, byte in enumerate(stream) if byte == 10][:-1]


@pytest.mark.parametrize(("driver", "name"), RECORDED)
async def test_r32_a_crash_after_any_line_tells_everything_exactly_once(replay, driver, name):
    whole = await replay(driver, name).play([])
    stream = replay(driver, name).stream
    assert len(whole) > 5
    for cut in borders(stream):
        assert await replay(driver, name).play([cut]) == whole, f"cut at {cut}"


@pytest.mark.parametrize(("driver", "name"), [("claude", "limit"), ("scripted", "tools")])
async def test_r32_a_crash_after_every_line_tells_everything_exactly_once(replay, driver, name):
    whole = await replay(driver, name).play([])
    stream = replay(driver, name).stream
    assert await replay(driver, name).play(borders(stream)) == whole


async def test_r32_a_crash_in_the_middle_of_a_line_tells_everything_exactly_once(replay):
    whole = await replay("scripted", "tools").play([])
    stream = replay("scripted", "tools").stream
    for cut in range(3, len(stream) - 1, 37):
        assert await replay("scripted", "tools").play([cut, cut + 1]) == whole, f"cut at {cut}"
