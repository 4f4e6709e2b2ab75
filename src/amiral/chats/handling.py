"""Decides what an update asks for, and has it done: the one way from a chat to the product."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from amiral.base.chat_events import ChatHeard, ChatReplyDue
from amiral.base.clock import MS_PER_S, Clock
from amiral.base.errors import AmiralError, Denied
from amiral.base.ids import digest
from amiral.chats import rows
from amiral.chats.adapter import Button, ChatAdapter, Update
from amiral.chats.hints import in_chat
from amiral.chats.incoming import Incoming, Kind
from amiral.chats.people import People
from amiral.chats.quoting import Quotation, quotation
from amiral.chats.rows import Taken
from amiral.chats.sentences import Sentence, say
from amiral.chats.taps import Choice, Taps
from amiral.commands.grammar import Route, Routed, parse_chat, route
from amiral.commands.registry import Caller, Parsed, Reply, Role, Table
from amiral.store.journal import Journal

STALE_S: Final = 300
DANGEROUS: Final = frozenset({"approve", "approve-request", "deploy", "project remove", "release"})

_PAIR = "/pair"
_START = "/start"


class Desk(Protocol):
    """What a chat leads to: a project's workers and commands, or the fleet's commands alone."""

    table: Table
    project: str

    def workers(self) -> Collection[str]:
        """Give the ids of those one may talk to."""
        ...

    def active(self) -> str:
        """Name the worker of plain text, "" when there is none."""
        ...

    async def post(
        self, message: str, worker: str, text: str, sender: str, quoted: Quotation | None
    ) -> None:
        """Queue a message for a worker, once however often it is posted under its id."""
        ...

    async def dispatch(self, caller: Caller, parsed: Parsed) -> Reply:
        """Carry out a command."""
        ...

    async def said(self, message: str) -> str:
        """Give the answer to a message, "" while there is none."""
        ...


@dataclass(frozen=True)
class Voice:
    """How an account answers: the name people call it by, and in which language (auto: theirs)."""

    name: str = ""
    language: str = "auto"


class Handling:
    """The updates of one account. Everything it does happens once for each update."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        adapter: ChatAdapter,
        people: People,
        desk: Desk,
        voice: Voice,
    ) -> None:
        self._journal, self._clock, self._adapter = journal, clock, adapter
        self._people, self._desk, self._voice = people, desk, voice
        self._taps = Taps(journal, clock)
        self._under_way: dict[str, asyncio.Lock] = {}

    async def urgent(self, update: Update) -> None:
        """Carry out a stop ahead of every lane; what fails here is tried again in its lane."""
        try:
            incoming = self._adapter.read(update.raw)
            role = self._role(incoming)
            if incoming.kind is Kind.MESSAGE and role is not None and not incoming.is_forwarded:
                routed = self._route(incoming)
                if routed.kind is Route.STOP:
                    await self._order(incoming, update.number, role, routed)
        except AmiralError:
            return

    async def handle(self, taken: Taken) -> None:
        """Do what an update asks for; raises Invalid when it cannot be read."""
        incoming = self._adapter.read(taken.raw)
        role = self._role(incoming)
        if incoming.kind not in (Kind.MESSAGE, Kind.TAP):
            return
        if role is None:
            await self._strange(incoming, taken.number)
        elif incoming.kind is Kind.TAP:
            await self._press(incoming, taken.number, role)
        else:
            await self._hear(incoming, taken.number, role)

    def _role(self, incoming: Incoming) -> Role | None:
        if not incoming.person.is_real:
            return None
        return self._people.role(incoming.person.id, self._desk.project)

    def _route(self, incoming: Incoming) -> Routed:
        desk = self._desk
        spellings = desk.table.by_chat_name()
        return route(incoming.text, desk.workers(), spellings, desk.active(), self._voice.name)

    async def _strange(self, incoming: Incoming, number: str) -> None:
        """Whoever is not listed hears nothing, unless a code in private makes them known."""
        name, _, code = incoming.text.strip().partition(" ")
        if not incoming.is_private or name not in (_PAIR, _START) or not code:
            return
        role = self._people.pair(code, incoming.person.id, incoming.person.name)
        if role is not None:
            await self._say(incoming, number, self._our(incoming, Sentence.PAIRED, role=role))

    async def _hear(self, incoming: Incoming, number: str, role: Role) -> None:
        routed = self._route(incoming)
        is_order = routed.kind in (Route.COMMAND, Route.STOP)
        if incoming.is_forwarded and is_order:
            await self._say(incoming, number, self._our(incoming, Sentence.FORWARDED))
        elif incoming.text.strip().startswith(_PAIR):
            await self._strange(incoming, number)
        elif not incoming.text and incoming.attachments:
            await self._say(incoming, number, self._our(incoming, Sentence.FILES))
        elif is_order and self._is_stale(incoming, routed):
            await self._ask_again(incoming, number)
        elif is_order:
            await self._order(incoming, number, role, routed)
        elif routed.kind is Route.MESSAGE:
            await self._talk(incoming, number, role, routed)
        elif routed.kind is Route.ERROR:
            await self._correct(incoming, number, routed)

    def _is_stale(self, incoming: Incoming, routed: Routed) -> bool:
        age_ms = self._clock.now_ms() - incoming.sent_ms
        return routed.command in DANGEROUS and age_ms > STALE_S * MS_PER_S

    async def _ask_again(self, incoming: Incoming, number: str) -> None:
        minutes = (self._clock.now_ms() - incoming.sent_ms) // (60 * MS_PER_S)
        text = self._our(incoming, Sentence.STALE, age=f"{minutes} min")
        choice = Choice(self._our(incoming, Sentence.CARRY_OUT), incoming.text)
        await self._say(incoming, number, text, [choice])

    async def _order(self, incoming: Incoming, number: str, role: Role, routed: Routed) -> None:
        """Carry out a command and tell how it went; one that was told already is left alone.

        A stop comes here twice at once, ahead of its lane and in it.
        """
        lock = self._under_way.setdefault(number, asyncio.Lock())
        async with lock:
            if rows.find_reply(self._journal.rows, self._key(number)) is None:
                text = await self._carried_out(incoming, role, routed)
                await self._say(incoming, number, text)
        self._under_way.pop(number, None)

    async def _carried_out(self, incoming: Incoming, role: Role, routed: Routed) -> str:
        caller = Caller(incoming.person.id, role, "telegram")
        try:
            reply = await self._desk.dispatch(caller, parse_chat(routed, self._desk.table))
        except AmiralError as error:
            return self._told(error)
        return in_chat(reply.text, self._desk.table) or self._our(incoming, Sentence.DONE)

    async def _talk(self, incoming: Incoming, number: str, role: Role, routed: Routed) -> None:
        """Give a worker a message; its answer comes into the reply that is due from now on."""
        if role is Role.VIEWER:
            refused = Denied("viewers may look, not talk to workers", "ask the owner")
            await self._say(incoming, number, self._told(refused))
            return
        spot, message = incoming.spot, digest(self._key(number), 16)
        quoted, worker = await self._quoted(incoming)
        is_plain = not incoming.text.lstrip().startswith("/")
        worker = worker if worker in self._desk.workers() and is_plain else routed.worker
        try:
            await self._desk.post(message, worker, routed.args, incoming.person.id, quoted)
        except AmiralError as error:
            await self._say(incoming, number, self._told(error))
            return
        heard = self._heard(incoming, message, worker)
        due = ChatReplyDue(
            self._key(number), spot.account, spot.chat, spot.thread, incoming.id, message=message
        )
        await self._journal.append(heard, due, by=incoming.person.id)

    async def _quoted(self, incoming: Incoming) -> tuple[Quotation | None, str]:
        """Give what a message replies to, and the worker who said it ("" for anybody else)."""
        quoted = incoming.quoted
        if quoted is None:
            return None, ""
        known = rows.find_known(self._journal.rows, incoming.spot, quoted.id) if quoted.id else None
        text = known.text if known else ""
        if known and known.is_ours and known.message:
            text = await self._desk.said(known.message)
        worker = known.worker if known and known.is_ours else ""
        return quotation(quoted, known, text), worker

    async def _correct(self, incoming: Incoming, number: str, routed: Routed) -> None:
        """Say what is wrong; what may have been meant is offered, never done by itself."""
        meant = routed.suggestion
        label = self._our(incoming, Sentence.MEANT, text=meant[:40])
        await self._say(incoming, number, f"✗ {routed.error}", [Choice(label, meant)] * bool(meant))

    async def _press(self, incoming: Incoming, number: str, role: Role) -> None:
        """Do what a button stands for, as if its presser had written it just now."""
        pressed = await self._taps.press(incoming.tap, number, incoming.person.id)
        if not pressed.action:
            used = self._our(incoming, Sentence.USED, by=pressed.used_by)
            told = used if pressed.used_by else self._our(incoming, Sentence.EXPIRED)
            await self._answer_tap(incoming, told)
            return
        await self._answer_tap(incoming, "")
        written = Incoming(
            Kind.MESSAGE,
            incoming.spot,
            incoming.person,
            id=incoming.id,
            sent_ms=self._clock.now_ms(),
            text=pressed.action,
            language=incoming.language,
        )
        await self._hear(written, number, role)

    async def _answer_tap(self, incoming: Incoming, text: str) -> None:
        try:
            await self._adapter.answer_tap(incoming.tap_query, text)
        except AmiralError:
            # What was done is on record; only the hourglass on the button stays a moment longer.
            return

    async def _say(
        self, incoming: Incoming, number: str, text: str, choices: Sequence[Choice] = ()
    ) -> None:
        spot, key = incoming.spot, self._key(number)
        person = incoming.person.id if choices else ""
        offered, buttons = self._taps.offer(choices, key, person=person)
        layout: list[tuple[Button, ...]] = [buttons] if buttons else []
        due = ChatReplyDue(
            *(key, spot.account, spot.chat, spot.thread, incoming.id, text),
            buttons=rows.dump_buttons(layout),
        )
        await self._journal.append(self._heard(incoming), *offered, due, by=incoming.person.id)

    def _heard(self, incoming: Incoming, message: str = "", worker: str = "") -> ChatHeard:
        spot, person = incoming.spot, incoming.person
        return ChatHeard(
            *(spot.account, spot.chat, spot.thread, incoming.id, person.id, person.name),
            *(incoming.text, incoming.sent_ms, message, worker),
        )

    def _key(self, number: str) -> str:
        return f"{self._adapter.account}:{number}"

    def _our(self, incoming: Incoming, sentence: Sentence, **words: str) -> str:
        chosen = self._voice.language
        return say(sentence, incoming.language if chosen == "auto" else chosen, **words)

    def _told(self, error: AmiralError) -> str:
        told = f"✗ {error.message}" + (f"\n{error.next_step}" if error.next_step else "")
        return in_chat(told, self._desk.table)
