"""Chats, their members and how they change, as bots are told and can ask."""

import pytest

from amiral.base.errors import Invalid, NotFound

BOT, PERSON, GROUP = 700000001, 42, -500


@pytest.fixture
def group(api):
    api.do("chat", id=GROUP, title="Crew", bots={BOT: "member"}, people={PERSON: "creator"})
    return GROUP


async def updates(call):
    return (await call("getUpdates", offset=-99)).result


async def test_a_bot_that_is_added_is_told_so_twice(call, api):
    api.do("chat", id=GROUP)
    api.do("set_bot", chat=GROUP, bot=BOT, status="member", by=PERSON)
    member, message = await updates(call)
    changed = member["my_chat_member"]
    assert changed["from"]["id"] == PERSON
    assert changed["old_chat_member"]["status"] == "left"
    assert changed["new_chat_member"]["status"] == "member"
    assert message["message"]["new_chat_members"][0]["id"] == BOT


async def test_what_a_bot_becomes_is_told_and_can_be_asked(call, api, group):
    for status in ("administrator", "restricted", "kicked"):
        api.do("set_bot", chat=group, bot=BOT, status=status, by=PERSON)
    told = [one["my_chat_member"]["new_chat_member"] for one in await updates(call)]
    assert [one["status"] for one in told] == ["administrator", "restricted", "kicked"]
    assert told[0]["can_delete_messages"] is True


async def test_members_can_be_asked_for(call, api, group):
    async def status(number):
        return await call("getChatMember", chat_id=group, user_id=number)

    assert (await status(PERSON)).result["status"] == "creator"
    assert (await status(BOT)).result["status"] == "member"
    api.do("set_person", chat=group, person=PERSON, status="left")
    assert (await status(PERSON)).result["status"] == "left"
    assert (await status(77)).refusal == "Bad Request: member not found"
    assert (await status(0)).refusal == "Bad Request: invalid user_id specified"


async def test_a_chat_can_be_asked_about(call, group):
    assert (await call("getChat", chat_id=group)).result["title"] == "Crew"
    assert (await call("getChat", chat_id=PERSON)).result["type"] == "private"
    assert (await call("getChat", chat_id=1)).refusal == "Bad Request: chat not found"


async def test_a_bot_can_leave_a_group_but_no_person(call, api, group):
    assert (await call("leaveChat", chat_id=group)).result is True
    assert (await call.text(chat_id=group)).refusal.startswith("Forbidden: bot is not a member")
    (left,) = await updates(call)
    assert left["my_chat_member"]["from"]["id"] == BOT
    assert (await call("leaveChat", chat_id=PERSON)).status == 400
    assert api.do("state")["chats"][str(group)]["bots"] == {str(BOT): "left"}


async def test_a_group_that_becomes_a_supergroup_tells_its_new_number(call, api, group, write):
    await call.text("before", chat_id=group)
    new = api.do("migrate", chat=group, by=PERSON)
    old_says, new_says = await updates(call)
    assert old_says["message"]["migrate_to_chat_id"] == new
    assert new_says["message"]["migrate_from_chat_id"] == group
    assert new_says["message"]["chat"]["type"] == "supergroup"
    refused = await call.text(chat_id=group)
    assert refused.refusal == "Bad Request: group chat was upgraded to a supergroup chat"
    assert refused.told["parameters"] == {"migrate_to_chat_id": new}
    assert (await call.text(chat_id=new)).status == 200
    with pytest.raises(Invalid):
        api.do("migrate", chat=new, by=PERSON)


@pytest.mark.parametrize(
    ("verb", "fields", "error"),
    [
        ("dance", {}, Invalid),
        ("say", {"chat": PERSON}, Invalid),
        ("say", {"chat": PERSON, "user": PERSON, "words": "x"}, Invalid),
        ("say", {"chat": PERSON, "user": PERSON, "bot": 9}, NotFound),
        ("say", {"chat": -9, "user": PERSON}, NotFound),
        ("chat", {"id": 5, "type": "group"}, Invalid),
        ("chat", {"id": -5, "type": "channel"}, Invalid),
        ("set_bot", {"chat": PERSON, "bot": BOT, "status": "boss", "by": 1}, Invalid),
        ("topic", {"chat": PERSON, "name": "x", "by": PERSON}, Invalid),
        ("set_topic", {"chat": PERSON, "thread": 3, "state": "odd"}, Invalid),
        ("fault", {"kind": "meteor"}, Invalid),
        ("limits", {"speed": 3}, Invalid),
    ],
)
async def test_a_test_that_asks_for_nonsense_is_told_so(api, call, verb, fields, error):
    with pytest.raises(error):
        api.do(verb, **fields)


async def test_a_bot_named_again_keeps_what_waits_for_it(call, api, write):
    write("waits")
    api.do("bot", token=call.token, username="renamed_bot")
    assert (await updates(call))[0]["message"]["text"] == "waits"
    assert (await call("getMe")).result["username"] == "renamed_bot"
