"""Decides what an update asks for, and has it done: the one way from a chat to the product."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from amiral.base.chat_events import ChatHeard, ChatReplyChanged, ChatReplyDue
from amiral.base.clock import MS_PER_S, Clock
from amiral.base.errors import AmiralError
from amiral.base.ids import digest
from amiral.base.project_events import WarningRaised
from amiral.chats import rows
from amiral.chats.adapter import Button, ChatAdapter, Update
from amiral.chats.desk import Desk
from amiral.chats.hints import in_chat
from amiral.chats.incoming import Incoming, Kind
from amiral.chats.people import People
from amiral.chats.quoting import Quotation, quotation
from amiral.chats.rows import Taken
from amiral.chats.sentences import Sentence, say
from amiral.chats.strangers import Strangers, code_of
from amiral.chats.taps import Choice, Taps
from amiral.commands.grammar import Route, Routed, parse_chat, route
from amiral.commands.help import explain
from amiral.commands.registry import Caller, Role
from amiral.store.journal import Journal

STALE_S: Final = 300
DANGEROUS: Final = frozenset(
    {"approve", "approve-request", "deploy", "project remove", "release", "thaw"}
)
_ORDERS: Final = (Route.COMMAND, Route.STOP)


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
        self._strangers = Strangers(journal, clock, people, voice.language)
        self._under_way: dict[str, asyncio.Lock] = {}
        self._told_trouble = ""

    async def urgent(self, update: Update) -> None:
        """Carry out a stop ahead of every lane; what fails here is tried again in its lane."""
        try:
            incoming = self._adapter.read(update.raw)
            role = self._role(incoming)
            if incoming.kind is Kind.MESSAGE and role is not None and not incoming.is_forwarded:
                routed = self._route(incoming.text)
                if routed.kind is Route.STOP:
                    await self._order(incoming, update.number, role, routed)
        except AmiralError:
            return

    async def handle(self, taken: Taken) -> None:
        """Do what an update asks for; raises Invalid when it cannot be read."""
        incoming = self._adapter.read(taken.raw)
        if incoming.kind not in (Kind.MESSAGE, Kind.TAP):
            return
        role = self._role(incoming)
        await self._tell_trouble()
        if role is None:
            # Whoever is not listed hears nothing, unless a code in private makes them known.
            if not await self._let_in(incoming, taken.number):
                await self._strangers.note(incoming)
        elif incoming.kind is Kind.TAP:
            await self._press(incoming, taken.number, role)
        elif not code_of(incoming):
            await self._hear(incoming, taken.number, role)
        elif not await self._let_in(incoming, taken.number):
            await self._say(incoming, taken.number, self._our(incoming, Sentence.NO_CODE))

    def _role(self, incoming: Incoming) -> Role | None:
        if not incoming.person.is_real:
            return None
        return self._people.role(incoming.person.id, self._desk.project)

    async def _tell_trouble(self) -> None:
        """Have it known, once, that those who were paired cannot be."""
        trouble = self._people.trouble
        if trouble not in ("", self._told_trouble):
            await self._journal.append(WarningRaised("people", trouble))
        self._told_trouble = trouble

    def _route(self, text: str) -> Routed:
        desk = self._desk
        spellings = desk.table.by_chat_name()
        return route(text, desk.workers(), spellings, desk.active(), self._voice.name)

    async def _let_in(self, incoming: Incoming, number: str) -> bool:
        """Use up the code that a message brings; tells whether it counts."""
        person, code = incoming.person, code_of(incoming)
        role = self._people.pair(code, person.id, person.name) if code else None
        if role is not None:
            await self._say(incoming, number, self._our(incoming, Sentence.PAIRED, role=role))
        return role is not None

    async def _hear(self, incoming: Incoming, number: str, role: Role) -> None:
        routed = self._route(incoming.text)
        is_order = routed.kind in _ORDERS
        # What was sent together is told about once.
        together = f"album:{incoming.album}" if incoming.album else number
        if incoming.is_forwarded and _is_named(incoming, routed):
            await self._say(incoming, together, self._our(incoming, Sentence.FORWARDED))
        elif is_order and self._is_stale(incoming, routed):
            await self._ask_again(incoming, number)
        elif is_order:
            await self._order(incoming, number, role, routed)
        elif incoming.attachments:
            await self._say(incoming, together, self._our(incoming, Sentence.FILES))
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
        desk, service = self._desk, incoming.spot.account.partition(":")[0]
        try:
            parsed = parse_chat(routed, desk.table)
            if parsed.wants_help:
                return in_chat(explain(desk.table, parsed.command), desk.table)
            if desk.project and parsed.project not in ("", desk.project):
                return self._our(incoming, Sentence.OTHER_PROJECT, project=desk.project)
            reply = await desk.dispatch(Caller(incoming.person.id, role, service), parsed)
        except AmiralError as error:
            return self._told(error)
        return in_chat(reply.text, desk.table) or self._our(incoming, Sentence.DONE)

    async def _talk(self, incoming: Incoming, number: str, role: Role, routed: Routed) -> None:
        """Give a worker a message; its answer comes into the reply that is due from now on."""
        is_named, quoting = _is_named(incoming, routed), incoming.quoted
        if role is Role.VIEWER:
            await self._say(incoming, number, self._our(incoming, Sentence.LOOKING))
            return
        if not is_named and quoting and quoting.bot not in ("", self._adapter.account):
            await self._say(incoming, number, self._our(incoming, Sentence.OTHER_BOT))
            return
        spot, message = incoming.spot, digest(self._key(number), 16)
        quoted, worker = await self._quoted(incoming)
        is_theirs = worker in self._desk.workers() and not is_named
        worker = worker if is_theirs else routed.worker
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
        barred = self._barred(self._taps.action(incoming.tap), role)
        if barred:
            # Not used up: it still counts for those it is for.
            await self._answer_tap(incoming, self._our(incoming, Sentence.NOT_YOURS, roles=barred))
            return
        pressed = await self._taps.press(incoming.tap, number, incoming.person.id)
        if not pressed.action:
            used = self._our(incoming, Sentence.USED, by=pressed.used_by)
            told = used if pressed.used_by else self._our(incoming, Sentence.EXPIRED)
            await self._answer_tap(incoming, told)
            return
        await self._answer_tap(incoming, "")
        now_ms, text = self._clock.now_ms(), pressed.action
        written = replace(incoming, kind=Kind.MESSAGE, sent_ms=now_ms, text=text, tap="")
        await self._hear(written, number, role)
        await self._take_away(pressed.key)

    def _barred(self, action: str, role: Role) -> str:
        """Name those an action is for when the presser is none of them, else ""."""
        row = self._desk.table.by_name().get(self._route(action).command)
        return " or ".join(sorted(row.roles)) if row and role not in row.roles else ""

    async def _take_away(self, key: str) -> None:
        """Take the buttons off a reply of ours that was answered; requests do so themselves."""
        reply = rows.find_reply(self._journal.rows, key)
        is_ours = key.startswith(f"{self._adapter.account}:")
        if is_ours and reply is not None and reply.buttons:
            await self._journal.append(ChatReplyChanged(key, reply.text))

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


def _is_named(incoming: Incoming, routed: Routed) -> bool:
    """Tell whether a text begins with what it is for: a command, or a worker."""
    return routed.kind is not Route.IGNORED and routed.args != incoming.text.strip()
