"""Pure: an update of Telegram's, which nobody has checked, read into our words.

Field names and their meaning: https://core.telegram.org/bots/api#update.
"""

from typing import Any

import msgspec
from msgspec import Struct, field

from amiral.base.errors import Invalid
from amiral.chats.incoming import Attachment, Incoming, Kind, Person, Quoted, Spot

_MS_PER_S = 1000
_MEDIA = ("document", "voice", "video", "audio", "animation", "video_note", "sticker")
# Who writes in the name of a group, or of a channel: it cannot be known who that is.
_NOBODY = frozenset({1087968824, 136817688, 777000})


class _User(Struct):
    id: int
    is_bot: bool = False
    first_name: str = ""
    username: str = ""
    language_code: str = ""


class _Chat(Struct):
    id: int
    type: str = ""


class _File(Struct):
    file_id: str
    file_name: str = ""
    file_size: int = 0
    mime_type: str = ""


class _Quote(Struct):
    text: str = ""


class _Said(Struct):
    """A message, or the copy of one that is replied to."""

    chat: _Chat
    message_id: int = 0
    date: int = 0
    message_thread_id: int = 0
    is_topic_message: bool = False
    from_: _User | None = field(default=None, name="from")
    sender_chat: _Chat | None = None
    text: str = ""
    caption: str = ""
    quote: _Quote | None = None
    reply_to_message: Any = None
    external_reply: Any = None
    forward_origin: Any = None
    media_group_id: str = ""
    photo: list[_File] = []
    document: _File | None = None
    voice: _File | None = None
    video: _File | None = None
    audio: _File | None = None
    animation: _File | None = None
    video_note: _File | None = None
    sticker: _File | None = None


class _Origin(Struct):
    sender_user: _User | None = None


class _Elsewhere(Struct):
    """A message of another chat that is replied to."""

    origin: _Origin


class _Tap(Struct):
    id: str
    from_: _User = field(name="from")
    message: _Said | None = None
    data: str = ""


class _Joined(Struct):
    chat: _Chat
    from_: _User = field(name="from")


class _Update(Struct):
    message: _Said | None = None
    edited_message: _Said | None = None
    callback_query: _Tap | None = None
    my_chat_member: _Joined | None = None


def read_update(raw: str, account: str) -> Incoming:
    """Read one update; raises Invalid when it is not what Telegram promises."""
    try:
        update = msgspec.json.decode(raw, type=_Update)
    except msgspec.MsgspecError as error:
        raise Invalid(f"an update that cannot be read: {error}") from error
    if update.message is not None:
        return _said(update.message, Kind.MESSAGE, account)
    if update.edited_message is not None:
        return _said(update.edited_message, Kind.EDITED, account)
    if update.callback_query is not None:
        return _tapped(update.callback_query, account)
    if update.my_chat_member is not None:
        joined = update.my_chat_member
        spot = Spot(account, str(joined.chat.id))
        return Incoming(
            Kind.JOINED, spot, _person(joined.from_), is_private=_is_private(joined.chat)
        )
    return Incoming(Kind.OTHER, Spot(account, ""), Person("", is_real=False))


def lane_of(raw: str) -> str:
    """Name the order an update belongs to; what cannot be read has one of its own."""
    try:
        return read_update(raw, "").spot.lane
    except Invalid:
        return "?"


def _said(said: _Said, kind: Kind, account: str) -> Incoming:
    return Incoming(
        kind,
        _spot(said, account),
        _author(said),
        id=str(said.message_id),
        sent_ms=said.date * _MS_PER_S,
        text=said.text or said.caption,
        quoted=_quoted(said),
        attachments=_attachments(said),
        album=said.media_group_id,
        is_forwarded=said.forward_origin is not None,
        is_private=_is_private(said.chat),
        language=said.from_.language_code if said.from_ else "",
    )


def _tapped(tap: _Tap, account: str) -> Incoming:
    said = tap.message
    spot = _spot(said, account) if said else Spot(account, "")
    return Incoming(
        Kind.TAP,
        spot,
        _person(tap.from_),
        id=str(said.message_id) if said else "",
        tap=tap.data,
        tap_query=tap.id,
        is_private=_is_private(said.chat) if said else False,
        language=tap.from_.language_code,
    )


def _spot(said: _Said, account: str) -> Spot:
    """Outside of a topic, as in the one called General, there is no number to be sent along."""
    thread = str(said.message_thread_id) if said.is_topic_message else ""
    return Spot(account, str(said.chat.id), thread)


def _author(said: _Said) -> Person:
    if said.from_ is None or said.sender_chat is not None:
        return Person("", is_real=False)
    return _person(said.from_)


def _person(user: _User) -> Person:
    is_real = not user.is_bot and user.id not in _NOBODY
    return Person(f"telegram:{user.id}", user.first_name or user.username, is_real)


def _is_private(chat: _Chat) -> bool:
    return chat.type == "private"


def _quoted(said: _Said) -> Quoted | None:
    part = said.quote.text if said.quote else ""
    if said.reply_to_message is not None:
        replied = _copy(said.reply_to_message)
        # The message that opened a topic stands here in each one that only is in that topic.
        is_root = said.is_topic_message and replied.message_id == said.message_thread_id
        if is_root and not part:
            return None
        author = _author(replied)
        return Quoted(
            str(replied.message_id),
            replied.text or replied.caption or _named(replied),
            part,
            replied.date * _MS_PER_S,
            author.name,
            bot=_bot(replied.from_) if replied.sender_chat is None else "",
        )
    if said.external_reply is not None:
        text, bot = _elsewhere(said.external_reply), _bot_elsewhere(said.external_reply)
        return Quoted(part=part, text=text, is_elsewhere=True, bot=bot)
    return Quoted(part=part) if part else None


def _copy(replied: object) -> _Said:
    try:
        return msgspec.convert(replied, _Said)
    except msgspec.ValidationError as error:
        raise Invalid(f"a reply that cannot be read: {error}") from error


def _elsewhere(reply: object) -> str:
    told = reply if isinstance(reply, dict) else {}
    return next((f"[{name}]" for name in ("photo", *_MEDIA) if name in told), "")


def _bot_elsewhere(reply: object) -> str:
    try:
        return _bot(msgspec.convert(reply, _Elsewhere).origin.sender_user)
    except msgspec.ValidationError:
        return ""


def _bot(user: _User | None) -> str:
    return f"telegram:{user.id}" if user and user.is_bot else ""


def _named(said: _Said) -> str:
    kinds = [one.kind for one in _attachments(said)]
    return f"[{kinds[0]}]" if kinds else ""


def _attachments(said: _Said) -> tuple[Attachment, ...]:
    found = [(name, getattr(said, name)) for name in _MEDIA if getattr(said, name) is not None]
    # A photo comes in several sizes, the largest last.
    found += [("photo", said.photo[-1])] if said.photo else []
    return tuple(
        Attachment(name, one.file_id, one.file_name, one.file_size, one.mime_type)
        for name, one in found
    )
