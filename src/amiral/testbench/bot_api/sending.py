"""Messages that bots send: texts, drafts, typing, topics."""

from collections.abc import Mapping

from amiral.testbench.bot_api.chats import Bot, Chat, Topic
from amiral.testbench.bot_api.entities import formatted, units
from amiral.testbench.bot_api.keyboards import keyboard
from amiral.testbench.bot_api.method import Method
from amiral.testbench.bot_api.wire import Json, Parameters, bad_request
from amiral.testbench.bot_api.world import World

LONGEST_TEXT = 4096
LONGEST_CAPTION = 1024
_MOST_BYTES = 1 << 15
_ACTIONS = {
    *("typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice"),
    *("upload_document", "choose_sticker", "find_location", "record_video_note"),
}


def text_of(parameters: Parameters) -> Json:
    """Give the text and entities of a message; raises a Refusal."""
    given = parameters.text("text")
    if not given:
        raise bad_request("Message text is empty")
    if len(given.encode("utf-8", "surrogatepass")) > _MOST_BYTES:
        raise bad_request("Text is too long")
    listed = parameters.document("entities", "message entities")
    text, entities = formatted(given, parameters.text("parse_mode"), listed)
    if not text:
        raise bad_request("Text must be non-empty")
    # The first is counted before the text goes to the servers, in characters; the second by them.
    if len(text) > LONGEST_TEXT:
        raise bad_request("Message is too long")
    if units(text) > LONGEST_TEXT:
        raise bad_request("MESSAGE_TOO_LONG")
    return {"text": text, "entities": entities} if entities else {"text": text}


def caption_of(caption: str, mode: str, listed: object) -> Json:
    """Give a caption and its entities, nothing for an empty one; raises a Refusal."""
    text, entities = formatted(caption, mode, listed)
    if len(text) > LONGEST_CAPTION:
        raise bad_request("Message caption is too long")
    if units(text) > LONGEST_CAPTION:
        raise bad_request("MEDIA_CAPTION_TOO_LONG")
    told: Json = {"caption": text} if text else {}
    return {**told, "caption_entities": entities} if entities else told


def send(world: World, bot: Bot, parameters: Parameters, contents: list[Json]) -> list[Json]:
    """Have messages stand in the chat of a call: all of them, or raise a Refusal."""
    markup = keyboard(parameters)
    chat = world.chat_of(bot, parameters)
    thread = chat.check_thread(parameters.whole("message_thread_id"))
    reply = _replied(world, bot, chat, parameters)
    world.rates.spend(bot.id, chat.id, is_private=chat.is_private, count=len(contents))
    box = world.box(bot.id, chat)
    sent = []
    for content in contents:
        message = {
            "message_id": world.messages.number(box),
            "from": bot.data(),
            "chat": chat.data(),
            "date": world.clock.now_s(),
            **({"message_thread_id": thread, "is_topic_message": True} if thread else {}),
            **reply,
            **content,
            **({"reply_markup": markup} if markup else {}),
        }
        sent.append(world.messages.add(box, message, bot.id))
    return sent


def _replied(world: World, bot: Bot, chat: Chat, parameters: Parameters) -> Json:
    told = parameters.document("reply_parameters", "reply parameters") or {}
    if not isinstance(told, dict):
        raise bad_request("Object expected as reply parameters")
    number = int(told.get("message_id") or parameters.whole("reply_to_message_id"))
    if not number:
        return {}
    standing = world.messages.get(world.box(bot.id, chat), number)
    if standing is not None:
        return {"reply_to_message": standing.replied()}
    if told.get("allow_sending_without_reply"):
        return {}
    raise bad_request("Message to be replied not found")


def send_message(world: World, bot: Bot, parameters: Parameters) -> Json:
    """Send a text."""
    return send(world, bot, parameters, [text_of(parameters)])[0]


def send_draft(world: World, bot: Bot, parameters: Parameters) -> bool:
    """Show what is being written, to one person."""
    listed = parameters.document("entities", "message entities")
    formatted(parameters.text("text"), parameters.text("parse_mode"), listed)
    chat = world.chat_of(bot, parameters)
    if not chat.is_private:
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    if not parameters.whole("draft_id"):
        raise bad_request("DRAFT_ID_INVALID")
    return True


def send_action(world: World, bot: Bot, parameters: Parameters) -> bool:
    """Show that the bot is at work; the record of requests has it."""
    if parameters.text("action").lower() not in _ACTIONS:
        raise bad_request("Wrong parameter action in request")
    world.chat_of(bot, parameters)
    return True


def create_topic(world: World, bot: Bot, parameters: Parameters) -> Json:
    """Open a topic of a forum."""
    chat = world.chat_of(bot, parameters)
    if not chat.is_forum:
        raise bad_request("the chat is not a forum")
    if chat.bots[bot.id] != "administrator":
        raise bad_request("not enough rights to create a topic")
    if not parameters.text("name").strip():
        raise bad_request("TOPIC_TITLE_EMPTY")
    number = open_topic(world, chat, parameters.text("name"), bot.data())
    return {"message_thread_id": number, "name": parameters.text("name"), "icon_color": 7322096}


def open_topic(world: World, chat: Chat, name: str, by: Json) -> int:
    """Have a topic, which begins with a message that says so; both have the number given."""
    from_chat: Json = {"from": by, "chat": chat.data(), "date": world.clock.now_s()}
    box = world.box(0, chat)
    number = world.messages.number(box)
    created = {"name": name, "icon_color": 7322096}
    topic = {"message_thread_id": number, "is_topic_message": True, "forum_topic_created": created}
    world.messages.add(box, {"message_id": number, **from_chat, **topic})
    chat.topics[number] = Topic(name)
    return number


METHODS: Mapping[str, Method] = {
    "sendmessage": send_message,
    "sendmessagedraft": send_draft,
    "sendchataction": send_action,
    "createforumtopic": create_topic,
}
