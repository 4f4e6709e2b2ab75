"""One Telegram bot as a chat service: its updates in our words, our replies in its calls."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from amiral.base.errors import AmiralError
from amiral.base.ids import new_id
from amiral.chats.adapter import (
    Abilities,
    BadMarks,
    Buttons,
    Closed,
    Gone,
    Held,
    Moved,
    Part,
    Rejected,
    Rendered,
    Unchanged,
    Unsure,
    Update,
)
from amiral.chats.incoming import Attachment, Incoming, Spot
from amiral.telegram.api import MOST_UPLOADED, Bot
from amiral.telegram.failures import Blocked, Flood, Reason, Refused, Unreachable
from amiral.telegram.incoming import lane_of, read_update
from amiral.telegram.render import answer
from amiral.telegram.upload import Upload

KINDS = ("message", "edited_message", "callback_query", "my_chat_member")

_WAIT_S = 25
_LONGEST_HELP = 256
_PRIVATE_GAP_S = 1.0
_GROUP_GAP_S = 3.0
_GONE = (Reason.THREAD_GONE, Reason.MESSAGE_GONE)
_FORGET_S = 6 * 3600.0


class TelegramAdapter:
    """What `ChatAdapter` asks for. Edits may be repeated, sends may not."""

    abilities = Abilities(
        sends_once=False, has_buttons=True, has_edits=True, longest_file=MOST_UPLOADED
    )

    def __init__(self, bot: Bot, wait_s: int = _WAIT_S) -> None:
        self._bot, self._wait_s = bot, wait_s
        self.account = f"telegram:{bot.id}"
        # Kept in memory alone: after a week of silence Telegram may go on with lower numbers, and
        # an offset from a file would have it forget them unread.
        self._offset = 0
        self._silent_s = 0.0

    def gap_s(self, chat: str) -> float:
        """Groups, whose numbers are below zero, tolerate twenty calls a minute."""
        return _GROUP_GAP_S if chat.startswith("-") else _PRIVATE_GAP_S

    async def introduce(self, commands: Mapping[str, str]) -> str:
        """Offer our commands in the menu; gives the bot's user name."""
        with _in_our_words():
            me = await self._bot.call("getMe", _Me)
            listed = [
                {"command": name, "description": told[:_LONGEST_HELP]}
                for name, told in commands.items()
            ]
            await self._bot.call("setMyCommands", object, commands=listed)
        return me.username

    async def updates(self) -> Sequence[Update]:
        """Wait for updates; Telegram forgets those given before."""
        with _in_our_words():
            found = await self._bot.updates(self._offset, wait_s=self._wait_s, kinds=KINDS)
        if found:
            self._offset, self._silent_s = max(one.number for one in found) + 1, 0.0
        else:
            self._silent_s += self._wait_s
            if self._silent_s > _FORGET_S:
                self._offset = 0
        return [Update(str(one.number), lane_of(one.raw), one.raw) for one in found]

    def read(self, raw: str) -> Incoming:
        """Put an update into our words; raises Invalid when it cannot be one."""
        return read_update(raw, self.account)

    def render(self, text: str) -> Rendered:
        """Turn Markdown into messages and entities."""
        made = answer(text)
        parts = tuple(
            Part(one.text, tuple(entity.data() for entity in one.entities)) for one in made.parts
        )
        if made.document is None:
            return Rendered(parts)
        return Rendered(parts, made.document.name, made.document.content)

    async def send(
        self, spot: Spot, part: Part, key: str, *, reply_to: str = "", buttons: Buttons = ()
    ) -> str:
        """Send one message and give its id."""
        del key
        with _in_our_words():
            sent = await self._bot.call(
                "sendMessage",
                _Sent,
                **_place(spot),
                text=part.text,
                entities=list(part.marks) or None,
                reply_parameters=_reply(reply_to),
                reply_markup=_keyboard(buttons) if buttons else None,
                link_preview_options={"is_disabled": True},
            )
        return str(sent.message_id)

    async def edit(self, spot: Spot, id: str, part: Part, *, buttons: Buttons = ()) -> None:  # noqa: A002
        """Have a message of ours read otherwise."""
        with _in_our_words():
            await self._bot.call(
                "editMessageText",
                object,
                chat_id=int(spot.chat),
                message_id=int(id),
                text=part.text,
                entities=list(part.marks) or None,
                reply_markup=_keyboard(buttons) if buttons else None,
                link_preview_options={"is_disabled": True},
            )

    async def send_document(self, spot: Spot, name: str, content: bytes, *, reply_to: str) -> str:
        """Send a file and give the message's id."""
        with _in_our_words():
            sent = await self._bot.call(
                "sendDocument",
                _Sent,
                files=[Upload("document", name, content)],
                **_place(spot),
                reply_parameters=_reply(reply_to),
            )
        return str(sent.message_id)

    async def answer_tap(self, query: str, text: str) -> None:
        """Take the hourglass off a button that was pressed."""
        with _in_our_words():
            await self._bot.call("answerCallbackQuery", object, callback_query_id=query, text=text)

    async def show_typing(self, spot: Spot) -> None:
        """Show that somebody writes, for five seconds."""
        with _in_our_words():
            await self._bot.call("sendChatAction", object, **_place(spot), action="typing")

    async def fetch(self, attachment: Attachment, folder: Path) -> Path:
        """Store a file that came along under a name of our own."""
        path = folder / new_id()
        with _in_our_words():
            await self._bot.download(attachment.ref, path)
        return path


class _Me(msgspec.Struct):
    username: str = ""


class _Sent(msgspec.Struct):
    message_id: int


def _place(spot: Spot) -> dict[str, Any]:
    place: dict[str, Any] = {"chat_id": int(spot.chat)}
    return place | ({"message_thread_id": int(spot.thread)} if spot.thread else {})


def _reply(reply_to: str) -> dict[str, object] | None:
    if not reply_to:
        return None
    return {"message_id": int(reply_to), "allow_sending_without_reply": True}


def _keyboard(buttons: Buttons) -> dict[str, object]:
    rows = [[{"text": one.label, "callback_data": one.tap} for one in row] for row in buttons]
    return {"inline_keyboard": rows}


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Tell a failure of Telegram's as the chat core knows it."""
    try:
        yield
    except Flood as error:
        raise Held(error.retry_after) from None
    except Unreachable as error:
        raise Unsure(str(error), error.next_step) from None
    except Blocked as error:
        raise Closed(str(error), error.next_step) from None
    except Refused as error:
        raise _refusal(error) from None


def _refusal(error: Refused) -> AmiralError:
    match error.reason:
        case Reason.MIGRATED:
            return Moved(str(error.to))
        case Reason.NOT_MODIFIED:
            return Unchanged(str(error))
        case Reason.BAD_ENTITIES:
            return BadMarks(str(error))
        case reason if reason in _GONE:
            return Gone(str(error))
        case Reason.CHAT_GONE:
            return Closed(str(error))
        case _:
            return Rejected(str(error), error.next_step)
