"""What bots do to messages that stand: edit, delete, react, and say that a tap was heard."""

from collections.abc import Mapping

from amiral.testbench.bot_api.chats import Bot
from amiral.testbench.bot_api.keyboards import keyboard
from amiral.testbench.bot_api.messages import Standing
from amiral.testbench.bot_api.method import Method
from amiral.testbench.bot_api.sending import caption_of, text_of
from amiral.testbench.bot_api.wire import Json, Parameters, bad_request
from amiral.testbench.bot_api.world import World

_LONGEST_ANSWER = 200
_DELETED_WITHIN_S = 48 * 3600
_NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)
_REACTIONS = frozenset(
    "👍👎❤🔥🥰👏😁🤔🤯😱🤬😢🎉🤩🤮💩🙏👌🕊🤡🥱🥴😍🐳🌚🌭💯🤣⚡🍌🏆💔"
    "🤨😐🍓🍾💋😈😴😭🤓👻👀🎃🙈😇😨🤝✍🤗🫡🎅🎄☃💅🤪🗿🆒💘🙉🦄😘💊🙊😎👾😡"
)


def edit_text(world: World, bot: Bot, parameters: Parameters) -> Json:
    """Have a text of the bot's read otherwise; buttons not given again are gone."""
    content = text_of(parameters)
    return _edit(world, bot, parameters, "text", content)


def edit_caption(world: World, bot: Bot, parameters: Parameters) -> Json:
    """The same for the caption of a file."""
    listed = parameters.document("caption_entities", "message entities")
    content = caption_of(parameters.text("caption"), parameters.text("parse_mode"), listed)
    return _edit(world, bot, parameters, "caption", content)


def edit_buttons(world: World, bot: Bot, parameters: Parameters) -> Json:
    """Change the buttons alone."""
    return _edit(world, bot, parameters, "", {})


def _edit(world: World, bot: Bot, parameters: Parameters, key: str, content: Json) -> Json:
    markup = keyboard(parameters)
    standing = _standing(world, bot, parameters, "edit", to_write=False)
    message = standing.message
    if standing.author != bot.id or standing.is_forwarded:
        raise bad_request("Message can't be edited")
    if (key == "text") != ("text" in message) and key:
        raise bad_request(f"There is no {key} in the message to edit")
    old = {name: message[name] for name in (key, _marks(key)) if key and name in message}
    if old == content and markup == message.get("reply_markup"):
        raise bad_request(_NOT_MODIFIED)
    chat = world.chat_of(bot, parameters)
    world.rates.spend(bot.id, chat.id, is_private=chat.is_private)
    for name in (*old, "reply_markup"):
        message.pop(name, None)
    message |= {**content, "edit_date": world.clock.now_s()}
    if markup:
        message["reply_markup"] = markup
    return message


def _marks(key: str) -> str:
    return "entities" if key == "text" else "caption_entities"


def _standing(
    world: World, bot: Bot, parameters: Parameters, what: str, *, to_write: bool = True
) -> Standing:
    chat = world.chat_of(bot, parameters, to_write=to_write)
    number = parameters.whole("message_id")
    standing = world.messages.get(world.box(bot.id, chat), number)
    if standing is None:
        raise bad_request(f"message to {what} not found")
    return standing


def delete(world: World, bot: Bot, parameters: Parameters) -> bool:
    """Take a message away: the bot's own, or as an administrator any; none older than 48 hours."""
    standing = _standing(world, bot, parameters, "delete")
    chat = world.chat_of(bot, parameters)
    is_old = world.clock.now_s() - standing.message["date"] > _DELETED_WITHIN_S
    may = chat.is_private or chat.bots[bot.id] == "administrator" or standing.author == bot.id
    if is_old or not may:
        raise bad_request("message can't be deleted")
    world.messages.remove(world.box(bot.id, chat), standing.message["message_id"])
    return True


def react(world: World, bot: Bot, parameters: Parameters) -> bool:
    """Put a small sign to a message."""
    reactions = parameters.document("reaction", "reaction types") or []
    if not isinstance(reactions, list):
        raise bad_request("Expected an Array of ReactionType")
    _standing(world, bot, parameters, "react", to_write=False)
    if any(not isinstance(one, dict) or one.get("emoji") not in _REACTIONS for one in reactions):
        raise bad_request("REACTION_INVALID")
    return True


def answer_tap(world: World, bot: Bot, parameters: Parameters) -> bool:
    """Say that a tap was heard."""
    text = parameters.text("text")
    if len(text) > _LONGEST_ANSWER:
        raise bad_request("MESSAGE_TOO_LONG")
    given = {"text": text, "show_alert": parameters.flag("show_alert")}
    world.taps.answer(bot.id, parameters.text("callback_query_id"), given)
    return True


METHODS: Mapping[str, Method] = {
    "editmessagetext": edit_text,
    "editmessagecaption": edit_caption,
    "editmessagereplymarkup": edit_buttons,
    "deletemessage": delete,
    "setmessagereaction": react,
    "answercallbackquery": answer_tap,
}
