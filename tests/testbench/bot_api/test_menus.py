"""Commands are offered by place and language, under names that Telegram takes."""

import pytest

PERSON, BOT = 42, 700000001


def offer(name="stop", description="Stop it"):
    return [{"command": name, "description": description}]


async def test_commands_are_kept_by_scope_and_language(call, api):
    chat = {"type": "chat", "chat_id": PERSON}
    assert (await call("setMyCommands", commands=offer())).result is True
    await call("setMyCommands", commands=offer("arret"), language_code="fr")
    await call("setMyCommands", commands=offer("/mine"), scope=chat)
    assert (await call("getMyCommands")).result == offer()
    assert (await call("getMyCommands", language_code="fr")).result == offer("arret")
    assert (await call("getMyCommands", scope=chat)).result == offer("mine")
    assert (await call("getMyCommands", scope={"type": "all_group_chats"})).result == []
    assert len(api.do("state")["bots"][str(BOT)]["commands"]) == 3
    assert (await call("deleteMyCommands")).result is True
    assert (await call("getMyCommands")).result == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"commands": offer("emergency-stop")}, "BOT_COMMAND_INVALID"),
        ({"commands": offer("Stop")}, "BOT_COMMAND_INVALID"),
        ({"commands": offer("")}, "command must be non-empty"),
        ({"commands": offer("a" * 33)}, "command length must not exceed 32"),
        ({"commands": offer("a", " ")}, "command description must be non-empty"),
        ({"commands": offer("a", "d" * 257)}, "command description length must not exceed 256"),
        ({"commands": offer() * 101}, "BOT_COMMANDS_TOO_MUCH"),
        ({"commands": {}, "language_code": "english"}, "invalid language code specified"),
        ({"commands": {"a": 1}}, "expected an Array of BotCommand"),
        ({"commands": ["a"]}, "can't parse BotCommand: expected an Object"),
        ({"scope": {"type": "moon"}}, "can't parse BotCommandScope: Unsupported type specified"),
        ({"scope": [1]}, "can't parse BotCommandScope: BotCommandScope must be an Object"),
        ({"scope": {"type": "chat", "chat_id": 77}}, "chat not found"),
    ],
)
async def test_what_is_no_menu_is_refused(call, fields, said):
    assert (await call("setMyCommands", **fields)).refusal == f"Bad Request: {said}"
