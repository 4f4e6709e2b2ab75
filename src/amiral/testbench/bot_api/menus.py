"""The commands that Telegram offers to people, by whom they are for and by language."""

import json
import re
from collections.abc import Mapping

from amiral.testbench.bot_api.chats import Bot
from amiral.testbench.bot_api.method import Method
from amiral.testbench.bot_api.wire import Json, Parameters, bad_request
from amiral.testbench.bot_api.world import World

_MOST = 100
_LONGEST_NAME = 32
_LONGEST_DESCRIPTION = 256
_NAME = re.compile(r"[a-z0-9_]+", re.ASCII)
_LANGUAGE = re.compile(r"([a-z]{2})?", re.ASCII)
_FOR_ALL = ("default", "all_private_chats", "all_group_chats", "all_chat_administrators")
_FOR_A_CHAT = ("chat", "chat_administrators", "chat_member")


def set_commands(world: World, bot: Bot, parameters: Parameters) -> bool:
    """Offer these commands from now on."""
    listed = parameters.document("commands", "commands") or []
    if not isinstance(listed, list):
        raise bad_request("Expected an Array of BotCommand")
    commands = [_command(one) for one in listed]
    if len(commands) > _MOST:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    bot.menus[_place(world, bot, parameters)] = commands
    return True


def delete_commands(world: World, bot: Bot, parameters: Parameters) -> bool:
    """Offer them no more."""
    bot.menus.pop(_place(world, bot, parameters), None)
    return True


def get_commands(world: World, bot: Bot, parameters: Parameters) -> list[Json]:
    """Give what is offered at exactly this place."""
    return bot.menus.get(_place(world, bot, parameters), [])


def _command(given: object) -> Json:
    if not isinstance(given, dict):
        raise bad_request("Can't parse BotCommand: expected an Object")
    name = str(given.get("command", "")).strip().removeprefix("/")
    description = str(given.get("description", "")).strip()
    for what, text, longest in (
        ("Command", name, _LONGEST_NAME),
        ("Command description", description, _LONGEST_DESCRIPTION),
    ):
        if not text:
            raise bad_request(f"{what} must be non-empty")
        if len(text) > longest:
            raise bad_request(f"{what} length must not exceed {longest}")
    if not _NAME.fullmatch(name):
        raise bad_request("BOT_COMMAND_INVALID")
    return {"command": name, "description": description}


def _place(world: World, bot: Bot, parameters: Parameters) -> tuple[str, str]:
    language = parameters.text("language_code")
    if not _LANGUAGE.fullmatch(language):
        raise bad_request("Invalid language code specified")
    scope = parameters.document("scope", "BotCommandScope") or {"type": "default"}
    if not isinstance(scope, dict):
        raise bad_request("Can't parse BotCommandScope: BotCommandScope must be an Object")
    if scope.get("type") in _FOR_A_CHAT:
        world.chat_of(bot, Parameters(scope), to_write=False)
    elif scope.get("type") not in _FOR_ALL:
        raise bad_request("Can't parse BotCommandScope: Unsupported type specified")
    return json.dumps(scope, sort_keys=True), language


METHODS: Mapping[str, Method] = {
    "setmycommands": set_commands,
    "deletemycommands": delete_commands,
    "getmycommands": get_commands,
}
