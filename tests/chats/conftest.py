"""A small chat service with the faults of real ones, a journal, and what runs between them."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from itertools import count

import pytest

from amiral.chats.adapter import (
    Abilities,
    BadMarks,
    Gone,
    Part,
    Rendered,
    Unchanged,
    Unsure,
    Update,
)
from amiral.chats.incoming import Attachment, Incoming, Kind, Person, Quoted, Spot
from amiral.chats.intake import Intake
from amiral.chats.lanes import Lanes
from amiral.chats.outbox import Composed, Outbox
from amiral.chats.tables import CHATS
from amiral.chats.taps import TAPS
from amiral.store.journal import Journal

PATIENCE_S = 20.0


class SwiftClock:
    """Time that goes on by sleeping alone, at once."""

    START_MS = 1_800_000_000_000

    def __init__(self):
        self.time_s = 1_000.0

    def now_ms(self):
        return self.START_MS + round(self.time_s * 1000)

    def monotonic_s(self):
        return self.time_s

    async def sleep(self, seconds):
        until = self.time_s + seconds
        await asyncio.sleep(0)
        self.time_s = max(self.time_s, until)


class Service:
    """What is in the chats: `messages` by id; `calls` as they came; `faults` for the next ones."""

    def __init__(self, *, sends_once=False):
        self.account = "test:1"
        self.abilities = Abilities(sends_once, True, True, 1 << 20)
        self.messages, self.documents, self.calls = {}, [], []
        self.faults, self.keys = [], {}
        self.pending, self.arrived = [], asyncio.Event()
        self._ids = count(1)
        self.longest = 40

    def gap_s(self, chat):
        return 3.0 if chat.startswith("-") else 1.0

    async def introduce(self, commands):
        return "amiral_bot"

    def push(self, text, chat="7", thread="", number=None, **more):
        name = number or str(next(self._ids))
        told = {"chat": chat, "thread": thread, "text": text, "number": name, **more}
        raw = json.dumps(told)
        self.pending.append(Update(name, f"{chat}/{thread}", raw))
        self.arrived.set()
        return name

    async def updates(self):
        while not self.pending:
            self.arrived.clear()
            await self.arrived.wait()
        self._fault("updates")
        given, self.pending = self.pending, []
        return given

    def read(self, raw):
        told = json.loads(raw)
        spot = Spot(self.account, told["chat"], told["thread"])
        person = Person(told.get("person", "test:9"), "Bea", told.get("is_real", True))
        age_ms = 1000 * told.get("age_s", 0)
        return Incoming(
            Kind(told.get("kind", "message")),
            spot,
            person,
            told["number"],
            SwiftClock.START_MS + 1_000_000 - age_ms,
            told["text"],
            quoted=Quoted(**told["quoted"]) if "quoted" in told else None,
            attachments=(Attachment("voice", "x"),) if told.get("has_file") else (),
            tap=told.get("tap", ""),
            tap_query="q",
            is_forwarded=told.get("is_forwarded", False),
            is_private=told.get("is_private", True),
            language=told.get("language", "en"),
        )

    def render(self, text):
        size = self.longest
        pieces = [text[at : at + size] for at in range(0, len(text), size)] or ["(empty)"]
        if len(pieces) > 3:
            return Rendered((Part(pieces[0], ("bold",)),), "answer.md", text.encode())
        return Rendered(tuple(Part(piece, ("bold",)) for piece in pieces))

    async def send(self, spot, part, key, *, reply_to="", buttons=()):
        self.calls.append(("send", part.text))
        after = self._fault("send", spot, part)
        if self.abilities.sends_once and key in self.keys:
            return self.keys[key]
        name = self.keys[key] = str(next(self._ids))
        self.messages[name] = [spot, part.text, [[b.label for b in row] for row in buttons]]
        if after:
            raise Unsure("no answer")
        return name

    async def edit(self, spot, id, part, *, buttons=()):  # noqa: A002
        self.calls.append(("edit", part.text))
        after = self._fault("edit", spot, part)
        if id not in self.messages:
            raise Gone("no such message")
        now = [self.messages[id][0], part.text, [[b.label for b in row] for row in buttons]]
        if self.messages[id] == now:
            raise Unchanged("as it is")
        self.messages[id] = now
        if after:
            raise Unsure("no answer")

    async def send_document(self, spot, name, content, *, reply_to):
        self.calls.append(("document", name))
        after = self._fault("document", spot)
        self.documents.append((name, content))
        if after:
            raise Unsure("no answer")
        return str(next(self._ids))

    async def answer_tap(self, query, text):
        self.calls.append(("tap", text))
        self._fault("tap")

    async def show_typing(self, spot):
        self.calls.append(("typing", spot.chat))

    def shown(self, chat="7"):
        """What can be read in a chat but for hourglasses."""
        there = [text for spot, text, _ in self.messages.values() if spot.chat == chat]
        return [text for text in there if text != "⏳"]

    async def fetch(self, attachment, folder):
        raise Gone("no such file")

    def _fault(self, call, spot=None, part=None):
        """Raise the fault that waits for this call; True when it comes after the deed."""
        for one in self.faults:
            wanted, fault = one
            if wanted == call:
                self.faults.remove(one)
                if fault == "after":
                    return True
                raise fault
        if part is not None and "☠" in part.text and part.marks:
            raise BadMarks("cannot read these marks")
        if call != "edit" and spot is not None and spot.thread == "gone":
            raise Gone("no such thread")
        return False


class Talk:
    """One account with a journal of its own, run in tasks that a test may end and begin again."""

    def __init__(self, folder):
        self.folder, self.clock, self.service = folder, SwiftClock(), Service()
        self.answers: dict[str, str] = {}
        self.handled: list[str] = []
        self.urgent: list[str] = []
        self.tasks: list[asyncio.Task] = []
        self.journal: Journal
        self.handle: Callable = self._note

    async def open(self):
        self.journal = await Journal.open(self.folder / "journal.db", self.clock, (CHATS, TAPS))

    async def _note(self, taken):
        self.handled.append(taken.number)

    async def _urgent(self, update):
        self.urgent.append(update.number)

    async def _look_ahead(self, update):
        await self._urgent(update)

    async def _compose(self, message):
        text = self.answers.get(message)
        return None if text is None else Composed(text)

    def begin(self):
        async def handle(taken):
            await self.handle(taken)

        journal, clock, service = self.journal, self.clock, self.service
        self.intake = Intake(journal, clock, service, self._look_ahead)
        self.lanes = Lanes(journal, clock, service.account, handle)
        self.outbox = Outbox(journal, clock, service, self._compose)
        runs = (self.intake.run(), self.lanes.run(), self.outbox.run())
        self.tasks = [asyncio.create_task(one) for one in runs]

    async def end(self):
        for task in self.tasks:
            task.cancel()
        for task in self.tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self.tasks = []

    async def until(self, holds, what="it"):
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not holds():
                    for task in self.tasks:
                        assert not task.done(), task
                    await asyncio.sleep(0.002)
        except TimeoutError:
            raise AssertionError(f"{what}: {self.service.calls[-20:]}") from None

    def state(self, key):
        found = self.journal.rows("select state from chat_replies where key = ?", key)
        return found[0][0] if found else ""


@pytest.fixture
async def talk(tmp_path):
    one = Talk(tmp_path)
    await one.open()
    yield one
    await one.end()
    await one.journal.close()
