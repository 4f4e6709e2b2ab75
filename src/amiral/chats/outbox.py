"""Says replies in chats: a placeholder is sent, its text is an edit, so nothing is said twice.

A send cannot be repeated without doubt, an edit can. Whether a placeholder arrived when its answer
was lost, or we were killed, is not known: another one is sent, and the first stays an hourglass.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from amiral.base.chat_events import (
    ChatMoved,
    ChatPartSending,
    ChatPartSent,
    ChatPartUnknown,
    ChatReplyChanged,
    ChatReplyDue,
    ChatReplyFailed,
    ChatReplyShown,
    ChatThreadGone,
)
from amiral.base.clock import MS_PER_S, Clock
from amiral.base.errors import AmiralError
from amiral.base.failpoint import failpoint
from amiral.chats import rows
from amiral.chats.adapter import (
    BadMarks,
    Button,
    Buttons,
    ChatAdapter,
    Gone,
    Held,
    Moved,
    Part,
    Rejected,
    Rendered,
    Unchanged,
    Unsure,
)
from amiral.chats.incoming import Spot
from amiral.chats.pacing import Pacing
from amiral.chats.rows import Reply
from amiral.store.journal import Journal, Stamped

PLACEHOLDER = Part("⏳")
SURPLUS = Part("⋯")
# A document has no placeholder: of one that was being sent it is said that nobody knows.
DOCUMENT = -1
UNKNOWN = "?"
_NO_THREAD = "\n\n(the topic of this is gone)"
_DOUBT = "\n\n(whether the document arrived is not known)"
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0


@dataclass(frozen=True)
class Composed:
    """What a reply says, in the end or, when it is not `is_final`, for now."""

    text: str
    buttons: tuple[tuple[Button, ...], ...] = ()
    is_final: bool = True


Compose = Callable[[str], Awaitable[Composed | None]]
"""Writes the answer to the message of that id; None while there is none."""


class Outbox:
    """The replies of one account. Those of one chat wait for each other, no other does."""

    def __init__(
        self, journal: Journal, clock: Clock, adapter: ChatAdapter, compose: Compose
    ) -> None:
        self._journal, self._clock, self._adapter = journal, clock, adapter
        self._compose = compose
        self.pacing = Pacing(adapter.gap_s)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._unanswered: set[str] = set()

    async def run(self) -> None:
        """Say what is due and what comes, for ever."""
        account = self._adapter.account
        seq = self._journal.last_seq
        for key, part in rows.unsettled(self._journal.rows, account):
            await self._journal.append(_in_doubt(key, part))
        try:
            self._look()
            async for batch in self._journal.batches(seq):
                if any(map(self._concerns, batch)):
                    self._look()
        finally:
            await self._end()

    def _concerns(self, stamped: Stamped) -> bool:
        """Tell whether an event may give us something to say."""
        event = stamped.event
        if isinstance(event, ChatReplyDue | ChatReplyChanged | ChatMoved):
            return True
        message = getattr(event, "message", "")
        if message not in self._unanswered:
            return False
        self._unanswered.discard(message)
        return True

    def _look(self) -> None:
        for reply in rows.due(self._journal.rows, self._adapter.account):
            chat = reply.spot.chat
            if chat not in self._running and reply.message not in self._unanswered:
                self._running[chat] = asyncio.create_task(self._run_chat(chat), name=f"to {chat}")

    async def _run_chat(self, chat: str) -> None:
        try:
            while replies := self._ready(chat):
                for reply in replies:
                    await self._try(reply)
        finally:
            del self._running[chat]

    def _ready(self, chat: str) -> list[Reply]:
        due = rows.due(self._journal.rows, self._adapter.account)
        mine = [one for one in due if one.spot.chat == chat]
        return [one for one in mine if not one.message or one.message not in self._unanswered]

    async def _try(self, reply: Reply) -> None:
        """Say one as far as it can be said; what goes wrong is noted and tried again later."""
        wait_s = (reply.not_before_ms - self._clock.now_ms()) / MS_PER_S
        if wait_s > 0:
            await self._clock.sleep(wait_s)
        try:
            await self._say(reply)
        except Moved as moved:
            spot = reply.spot
            await self._journal.append(ChatMoved(spot.account, spot.chat, moved.to))
        except Rejected as error:
            await self._journal.append(ChatReplyFailed(reply.key, str(error), is_dead=True))
        except AmiralError as error:
            pause_s = min(_FIRST_PAUSE_S * 2 ** min(reply.tries, 6), _LONGEST_PAUSE_S)
            if isinstance(error, Held):
                pause_s = error.seconds
                self.pacing.hold(reply.spot.chat, self._clock.monotonic_s() + pause_s)
            not_before = self._clock.now_ms() + round(pause_s * MS_PER_S)
            failed = ChatReplyFailed(reply.key, str(error), False, not_before)  # noqa: FBT003
            await self._journal.append(failed)

    async def _say(self, reply: Reply) -> None:
        """Raises what the adapter raises; a part whose sending is in doubt is noted as such."""
        composed = await self._composed(reply)
        known = rows.parts(self._journal.rows, reply.key)
        if composed is None:
            if 0 not in known and not self._adapter.abilities.sends_once:
                await self._send(reply, 0, PLACEHOLDER)
            return
        notes = _DOUBT if known.get(DOCUMENT) == UNKNOWN else ""
        notes += _NO_THREAD if reply.is_outside else ""
        rendered = self._adapter.render(composed.text)
        if rendered.document and DOCUMENT not in known and not reply.shown:
            await self._send_document(reply, rendered)
        texts = [*rendered.parts]
        texts += [SURPLUS] * (max(known, default=-1) + 1 - len(texts))
        for number, part in enumerate(texts):
            is_last = number == len(rendered.parts) - 1
            buttons = composed.buttons if is_last else ()
            if is_last and notes:
                part = Part(part.text + notes, part.marks)  # noqa: PLW2901 the same part
            await self._show(reply, number, part, buttons, known.get(number, ""))
            failpoint("chat.edited")
        if not composed.is_final:
            return
        digest = hashlib.sha256(repr(composed).encode()).hexdigest()[:16]
        shown = ChatReplyShown(reply.key, len(rendered.parts), digest)
        await self._journal.append(shown)

    async def _send_document(self, reply: Reply, rendered: Rendered) -> None:
        """Send it once; whether it arrived may stay unknown."""
        await self._journal.append(ChatPartSending(reply.key, DOCUMENT))
        await self._pace(reply.spot.chat)
        try:
            sent = await self._adapter.send_document(
                reply.spot, rendered.document, rendered.content, reply_to=reply.reply_to
            )
        except Unsure:
            await self._journal.append(_in_doubt(reply.key, DOCUMENT))
            raise
        except AmiralError:
            await self._journal.append(ChatPartUnknown(reply.key, DOCUMENT))
            raise
        failpoint("chat.document")
        await self._journal.append(ChatPartSent(reply.key, DOCUMENT, sent))

    async def _composed(self, reply: Reply) -> Composed | None:
        if not reply.message:
            return Composed(reply.text, reply.buttons)
        # First, so that an event that comes meanwhile is not missed.
        self._unanswered.add(reply.message)
        composed = await self._compose(reply.message)
        if composed is not None and composed.is_final:
            self._unanswered.discard(reply.message)
        return composed

    async def _show(
        self, reply: Reply, number: int, part: Part, buttons: Buttons, known: str
    ) -> None:
        """Have a part read as it should."""
        if not known and self._adapter.abilities.sends_once:
            await self._send(reply, number, part, buttons)
            return
        stands_in = known or await self._send(reply, number, PLACEHOLDER)
        await self._pace(reply.spot.chat)
        try:
            await self._edit(reply.spot, stands_in, part, buttons)
        except Gone:
            await self._journal.append(ChatPartUnknown(reply.key, number))
            raise Unsure("the message to edit is gone") from None

    async def _edit(self, spot: Spot, stands_in: str, part: Part, buttons: Buttons) -> None:
        try:
            await self._adapter.edit(spot, stands_in, part, buttons=buttons)
        except Unchanged:
            pass
        except BadMarks:
            await self._pace(spot.chat)
            await self._adapter.edit(spot, stands_in, Part(part.text), buttons=buttons)

    async def _send(self, reply: Reply, number: int, part: Part, buttons: Buttons = ()) -> str:
        """Send a part and give the id it stands in."""
        await self._journal.append(ChatPartSending(reply.key, number))
        failpoint("chat.sending")
        await self._pace(reply.spot.chat)
        try:
            sent = await self._adapter.send(
                reply.spot,
                part,
                f"{reply.key}:{number}",
                reply_to=reply.reply_to if number == 0 else "",
                buttons=buttons,
            )
        except Gone:
            spot = reply.spot
            await self._journal.append(
                ChatPartUnknown(reply.key, number),
                ChatThreadGone(spot.account, spot.chat, spot.thread),
            )
            raise Unsure("the thread is gone") from None
        except AmiralError:
            await self._journal.append(ChatPartUnknown(reply.key, number))
            raise
        failpoint("chat.sent")
        await self._journal.append(ChatPartSent(reply.key, number, sent))
        return sent

    async def _pace(self, chat: str) -> None:
        while (wait_s := self.pacing.wait_s(chat, self._clock.monotonic_s())) > 0:
            await self._clock.sleep(wait_s)
        self.pacing.take(chat, self._clock.monotonic_s())

    async def _end(self) -> None:
        tasks = tuple(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def _in_doubt(key: str, part: int) -> ChatPartSent | ChatPartUnknown:
    if part == DOCUMENT:
        return ChatPartSent(key, part, UNKNOWN)
    return ChatPartUnknown(key, part)
