"""What people do in chats, as a test says it: write, edit, press a button."""

import re

from msgspec import Struct, field

from amiral.base.errors import Invalid, NotFound
from amiral.testbench.bot_api.chats import ANONYMOUS, Bot, Chat, is_in
from amiral.testbench.bot_api.entities import commands, units
from amiral.testbench.bot_api.media import album_id
from amiral.testbench.bot_api.messages import Box, Standing
from amiral.testbench.bot_api.queue import TAP_S
from amiral.testbench.bot_api.taps import ANSWER_WITHIN_S
from amiral.testbench.bot_api.wire import Json
from amiral.testbench.bot_api.world import World

_MEDIA = ("photo", "document", "voice", "video", "audio")
_COMMAND_TO = re.compile(r"\s*/\w+(?:@(\w+))?", re.ASCII)


class Enclosed(Struct, forbid_unknown_fields=True):
    """A file that comes along: its content in hexadecimal, or a size alone (of zeros)."""

    kind: str = "document"
    name: str = ""
    type: str = ""
    hex: str = ""
    size: int = 0


class Elsewhere(Struct, forbid_unknown_fields=True):
    """A message of another chat that is answered here; bots get no text of it but a quote."""

    user: int
    chat: int = 0
    message_id: int = 0


class Say(Struct, forbid_unknown_fields=True):
    """Somebody writes. In private `bot` is whom; in a group all bots that may read it get it.

    `quote` is a part of the message replied to. `forwarded_from` is a person's number, or the name
    of one who hides it. `more` goes into the message as it is.
    """

    chat: int
    user: int
    text: str = ""
    bot: int = 0
    reply_to: int = 0
    quote: str = ""
    elsewhere: Elsewhere | None = None
    thread: int = 0
    forwarded_from: int | str = 0
    is_anonymous: bool = False
    file: Enclosed | None = None
    more: Json = field(default_factory=dict)


class Album(Struct, forbid_unknown_fields=True):
    """Somebody sends files that belong together; the text stands below the first."""

    say: Say
    files: list[Enclosed]


class Edit(Struct, forbid_unknown_fields=True):
    """Somebody changes what was written."""

    chat: int
    message_id: int
    text: str
    bot: int = 0


class Remove(Struct, forbid_unknown_fields=True):
    """Somebody takes a message away; bots are not told."""

    chat: int
    message_id: int
    bot: int = 0


class Press(Struct, forbid_unknown_fields=True):
    """Somebody presses a button, or a client claims so: `data` need not be one of the message's."""

    chat: int
    bot: int
    user: int
    message_id: int
    data: str
    within_s: float = ANSWER_WITHIN_S


def person(world: World, number: int) -> Json:
    """Give somebody, who needs not be introduced."""
    return world.people.setdefault(
        number, {"id": number, "is_bot": False, "first_name": f"Person {number}"}
    )


def say(world: World, wish: Say) -> Json:
    """Carry it out; gives the message."""
    chat, bots = _audience(world, wish)
    box = world.box(wish.bot, chat)
    message = {
        "message_id": world.messages.number(box),
        **_sender(world, chat, wish),
        "chat": chat.data(),
        "date": world.clock.now_s(),
        **_thread(world, chat, box, wish),
        **_reply(world, box, wish),
        **_origin(world, wish),
        **_content(world, wish),
        **wish.more,
    }
    world.messages.add(box, message)
    deliver(world, chat, bots, "message", message)
    return message


def album(world: World, wish: Album) -> list[Json]:
    """Carry it out; gives the messages."""
    sent = []
    group = {"media_group_id": album_id(), **wish.say.more}
    for number, file in enumerate(wish.files):
        one = Say(wish.say.chat, wish.say.user, bot=wish.say.bot, thread=wish.say.thread)
        one.text = "" if number else wish.say.text
        one.file, one.more = file, group
        sent.append(say(world, one))
    return sent


def edit(world: World, wish: Edit) -> Json:
    """Carry it out; gives the message as it is now."""
    chat = world.chat(wish.chat)
    standing = _standing(world, world.box(wish.bot, chat), wish.message_id)
    key = "text" if "text" in standing.message else "caption"
    for name in ("entities", "caption_entities"):
        standing.message.pop(name, None)
    standing.message.update({**_text(key, wish.text), "edit_date": world.clock.now_s()})
    bots = [world.bot(number) for number in chat.bots if not chat.is_private or number == wish.bot]
    deliver(world, chat, bots, "edited_message", standing.message)
    return standing.message


def remove(world: World, wish: Remove) -> None:
    """Carry it out."""
    world.messages.remove(world.box(wish.bot, world.chat(wish.chat)), wish.message_id)


def press(world: World, wish: Press) -> Json:
    """Carry it out; gives the callback query."""
    bot, chat = world.bot(wish.bot), world.chat(wish.chat)
    standing = world.messages.get(world.box(wish.bot, chat), wish.message_id)
    gone = {"chat": chat.data(), "message_id": wish.message_id, "date": 0}
    query = {
        "id": world.taps.add(bot.id, wish.within_s),
        "from": person(world, wish.user),
        "message": dict(standing.message) if standing else gone,
        "chat_instance": f"{hash((bot.id, chat.id)) & 0xFFFF_FFFF}",
        "data": wish.data,
    }
    world.push(bot, "callback_query", query, TAP_S)
    return query


def deliver(world: World, chat: Chat, bots: list[Bot], kind: str, message: Json) -> None:
    """Let those bots have a message that are in the chat and may read it."""
    for bot in bots:
        if is_in(chat.bots, bot.id) and _may_read(bot, chat, message):
            # A copy: what waits to be fetched does not change with the message.
            world.push(bot, kind, dict(message))


def _audience(world: World, wish: Say) -> tuple[Chat, list[Bot]]:
    if wish.chat > 0:
        if wish.chat not in world.chats:
            who = person(world, wish.chat)
            world.chats[wish.chat] = Chat(wish.chat, "private", person=who)
        chat, bot = world.chat(wish.chat), world.bot(wish.bot)
        if wish.user != wish.chat:
            raise Invalid("in a private chat only its person writes")
        if chat.bots.setdefault(bot.id, "member") == "kicked":
            raise Invalid("who has blocked a bot cannot write to it")
        return chat, [bot]
    chat = world.chat(wish.chat)
    return chat, [world.bot(number) for number in chat.bots]


def _may_read(bot: Bot, chat: Chat, message: Json) -> bool:
    """Without `reads_all` a bot gets of a group only what is for it, unless it leads the group."""
    if bot.reads_all or chat.is_private or chat.bots[bot.id] == "administrator":
        return True
    if any(message.get(kind) for kind in _MEDIA) and not message.get("caption"):
        return False
    text = str(message.get("text", message.get("caption", "")))
    if not text:
        return True
    command = _COMMAND_TO.match(text)
    if command:
        return command[1] in {None, bot.username}
    replied = message.get("reply_to_message", {}).get("from", {}).get("id")
    return replied == bot.id or f"@{bot.username}" in text


def _sender(world: World, chat: Chat, wish: Say) -> Json:
    if not wish.is_anonymous:
        return {"from": person(world, wish.user)}
    group = {"id": ANONYMOUS, "is_bot": True, "first_name": "Group"}
    return {"from": {**group, "username": "GroupAnonymousBot"}, "sender_chat": chat.data()}


def _thread(world: World, chat: Chat, box: Box, wish: Say) -> Json:
    """A topic's messages all answer the one it begins with, unless they answer another."""
    if wish.thread:
        if wish.thread not in chat.topics:
            raise NotFound(f"no topic {wish.thread}", f"there are {sorted(chat.topics)}")
        root = _standing(world, box, wish.thread)
        place = {"message_thread_id": wish.thread, "is_topic_message": True}
        return {**place, "reply_to_message": root.replied()}
    if wish.reply_to and chat.type == "supergroup" and not chat.is_forum:
        replied = _standing(world, box, wish.reply_to).message
        return {"message_thread_id": replied.get("message_thread_id", wish.reply_to)}
    return {}


def _reply(world: World, box: Box, wish: Say) -> Json:
    told: Json = {}
    text = wish.quote
    if wish.reply_to:
        standing = _standing(world, box, wish.reply_to)
        told["reply_to_message"] = standing.replied()
        text = str(standing.message.get("text", standing.message.get("caption", "")))
        if wish.quote not in text:
            raise Invalid("what is quoted is no part of the message replied to")
    if wish.elsewhere:
        origin = {"type": "user", "sender_user": person(world, wish.elsewhere.user)}
        told["external_reply"] = {"origin": {**origin, "date": world.clock.now_s()}}
        if wish.elsewhere.chat:
            place = {"chat": world.chat(wish.elsewhere.chat).data()}
            told["external_reply"] |= {**place, "message_id": wish.elsewhere.message_id}
    if wish.quote:
        position = units(text[: text.index(wish.quote)])
        told["quote"] = {"text": wish.quote, "position": position, "is_manual": True}
    return told


def _origin(world: World, wish: Say) -> Json:
    at = world.clock.now_s()
    match wish.forwarded_from:
        case 0:
            return {}
        case int(number):
            who = person(world, number)
            origin = {"type": "user", "sender_user": who, "date": at}
            return {"forward_origin": origin, "forward_from": who, "forward_date": at}
        case name:
            origin = {"type": "hidden_user", "sender_user_name": name, "date": at}
            return {"forward_origin": origin, "forward_sender_name": name, "forward_date": at}


def _content(world: World, wish: Say) -> Json:
    if wish.file is None:
        return _text("text", wish.text) if wish.text else {}
    file = wish.file
    content = bytes.fromhex(file.hex)
    stored = world.files.add(file.kind, content, file.name, file.type, file.size)
    return {file.kind: stored.media(), **(_text("caption", wish.text) if wish.text else {})}


def _text(key: str, text: str) -> Json:
    found = commands(text)
    name = "entities" if key == "text" else "caption_entities"
    return {key: text, **({name: found} if found else {})}


def _standing(world: World, box: Box, number: int) -> Standing:
    standing = world.messages.get(box, number)
    if standing is None:
        raise NotFound(f"no message {number} in the chat {box[1]}")
    return standing
