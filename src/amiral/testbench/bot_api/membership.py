"""Who is where: the bot itself, its chats, their members, and how both change."""

from collections.abc import Mapping

from amiral.testbench.bot_api.chats import Bot, Chat, member
from amiral.testbench.bot_api.method import Method
from amiral.testbench.bot_api.wire import Json, Parameters, bad_request
from amiral.testbench.bot_api.world import World


def get_me(_world: World, bot: Bot, _parameters: Parameters) -> Json:
    """Tell who the bot is."""
    told = {**bot.data(), "can_join_groups": True, "supports_inline_queries": False}
    return {**told, "can_read_all_group_messages": bot.reads_all}


def get_chat(world: World, bot: Bot, parameters: Parameters) -> Json:
    """Tell about a chat."""
    chat = world.chat_of(bot, parameters, to_write=False)
    return {**chat.data(), "accent_color_id": 1, "max_reaction_count": 11}


def get_member(world: World, bot: Bot, parameters: Parameters) -> Json:
    """Tell what somebody is in a chat."""
    chat = world.chat_of(bot, parameters, to_write=False)
    number = parameters.whole("user_id")
    if number <= 0:
        raise bad_request("Invalid user_id specified")
    if number in world.bots and number in chat.bots:
        return member(world.bots[number].data(), chat.bots[number])
    if number not in chat.people:
        raise bad_request("Member not found")
    return member(world.people[number], chat.people[number])


def leave(world: World, bot: Bot, parameters: Parameters) -> bool:
    """Leave a group."""
    chat = world.chat_of(bot, parameters, to_write=False)
    if chat.is_private:
        raise bad_request("Can't leave private chats")
    change_bot(world, chat, bot, "left", bot.data())
    return True


def change_bot(world: World, chat: Chat, bot: Bot, status: str, by: Json) -> None:
    """Make a bot something else in a chat, and let it know."""
    old = chat.bots.get(bot.id, "left")
    chat.bots[bot.id] = status
    told = {"chat": chat.data(), "from": by, "date": world.clock.now_s()}
    changed = {
        "old_chat_member": member(bot.data(), old),
        "new_chat_member": member(bot.data(), status),
    }
    world.push(bot, "my_chat_member", {**told, **changed})


METHODS: Mapping[str, Method] = {
    "getme": get_me,
    "getchat": get_chat,
    "getchatmember": get_member,
    "leavechat": leave,
}
