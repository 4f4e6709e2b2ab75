"""What a bot may send, and where: limits, buttons, topics, replies, rates."""

import pytest

BOT, OTHER, PERSON, STRANGER, GROUP, FORUM = 700000001, 700000002, 42, 43, -500, -1001234


def button(**more):
    return {"inline_keyboard": [[{"text": "ok", **more}]]}


@pytest.fixture
def group(api):
    api.do("chat", id=GROUP, bots={BOT: "member"}, people={PERSON: "creator"})
    return GROUP


@pytest.fixture
def forum(api):
    people = {PERSON: "creator"}
    bots = {BOT: "administrator"}
    api.do("chat", id=FORUM, type="supergroup", is_forum=True, bots=bots, people=people)
    return FORUM


async def test_a_message_is_given_as_it_stands(call, clock):
    sent = (await call.text("  hi ", reply_markup=button(callback_data="x"))).result
    assert sent["from"]["id"] == BOT and sent["chat"]["id"] == PERSON
    assert (sent["text"], sent["date"]) == ("hi", clock.now_ms() // 1000)
    assert sent["reply_markup"]["inline_keyboard"][0][0]["callback_data"] == "x"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "message text is empty"),
        (" \n ", "text must be non-empty"),
        ("\x00\r", "text must be non-empty"),
        ("a" * 4097, "message is too long"),
        ("😀" * 2049, "MESSAGE_TOO_LONG"),
        ("é" * 16385, "text is too long"),
    ],
)
async def test_a_text_has_at_least_one_character_and_at_most_4096_units(call, text, said):
    assert (await call.text(text)).refusal == f"Bad Request: {said}"


@pytest.mark.parametrize("text", ["a" * 4096, "😀" * 2048, "\n" * 9 + "a" * 4096])
async def test_4096_units_pass(call, text):
    assert (await call.text(text)).result["text"] == text.strip()


@pytest.mark.parametrize(
    ("markup", "said"),
    [
        (button(callback_data="x" * 65), "BUTTON_DATA_INVALID"),
        (button(callback_data="é" * 33), "BUTTON_DATA_INVALID"),
        (button(), "text buttons are unallowed in the inline keyboard"),
        (button(text=" ", url="u"), "inline keyboard button text must be non-empty"),
        ({"inline_keyboard": [["a"]]}, "can't parse inline keyboard button: InlineKeyboardButton"),
        ({"inline_keyboard": ["a"]}, 'field "inline_keyboard" must be an Array of Arrays'),
        ([1], "object expected as reply markup"),
        ("{", "can't parse reply keyboard markup JSON object"),
        ({"inline_keyboard": [[{"text": "a", "url": "u"}] * 101]}, "reply markup is too long"),
    ],
)
async def test_buttons_are_checked(call, markup, said):
    answer = await call.text(reply_markup=markup)
    assert answer.refusal.startswith(f"Bad Request: {said}")


async def test_keyboards_without_buttons_are_none(call):
    for name, value in (("inline_keyboard", [[]]), ("remove_keyboard", True)):
        markup: dict[str, object] = {name: value}
        assert "reply_markup" not in (await call.text(reply_markup=markup)).result


@pytest.mark.parametrize(
    ("chat", "said"),
    [("", "chat_id is empty"), (77, "chat not found"), ("@who", "chat not found")],
)
async def test_a_chat_must_be_known_to_the_bot(call, chat, said):
    assert (await call.text(chat_id=chat)).refusal == f"Bad Request: {said}"


async def test_nobody_can_be_written_to_who_has_not_begun(call, other, write):
    assert (await other.text()).refusal == "Bad Request: chat not found"
    write(bot=OTHER)
    assert (await other.text()).status == 200


@pytest.mark.parametrize(
    ("status", "kind", "code", "said"),
    [
        ("kicked", "group", 403, "Forbidden: bot was kicked from the group chat"),
        ("left", "group", 403, "Forbidden: bot is not a member of the group chat"),
        ("kicked", "supergroup", 403, "Forbidden: bot was kicked from the supergroup chat"),
        ("restricted", "group", 400, "Bad Request: not enough rights to send text messages"),
    ],
)
async def test_who_is_not_in_a_group_cannot_write_there(call, api, status, kind, code, said):
    api.do("chat", id=GROUP, type=kind, bots={BOT: status})
    answer = await call.text(chat_id=GROUP)
    assert answer.status == code and answer.refusal.startswith(said)


async def test_who_is_blocked_cannot_write(call, api):
    api.do("set_bot", chat=PERSON, bot=BOT, status="kicked", by=PERSON)
    assert (await call.text()).refusal == "Forbidden: bot was blocked by the user"


async def test_topics_take_messages_unless_they_are_the_general_one_closed_or_gone(
    call, api, forum
):
    topic = api.do("topic", chat=forum, name="work", by=PERSON)
    sent = (await call.text(chat_id=forum, message_thread_id=topic)).result
    assert sent["message_thread_id"] == topic and sent["is_topic_message"]
    gone = "Bad Request: message thread not found"
    assert (await call.text(chat_id=forum, message_thread_id=1)).refusal == gone
    assert "message_thread_id" not in (await call.text(chat_id=forum)).result
    api.do("set_topic", chat=forum, thread=topic, state="closed")
    closed = await call.text(chat_id=forum, message_thread_id=topic)
    assert closed.refusal == "Bad Request: TOPIC_CLOSED"
    api.do("set_topic", chat=forum, thread=topic, state="open")
    assert (await call.text(chat_id=forum, message_thread_id=topic)).status == 200
    api.do("set_topic", chat=forum, thread=topic, state="removed")
    assert (await call.text(chat_id=forum, message_thread_id=topic)).refusal == gone


async def test_outside_of_forums_a_thread_is_passed_over_but_not_in_private(call, group):
    assert "message_thread_id" not in (await call.text(chat_id=group, message_thread_id=7)).result
    assert (await call.text(message_thread_id=7)).refusal == "Bad Request: message thread not found"


async def test_a_bot_opens_topics_where_it_leads(call, api, forum, group):
    made = (await call("createForumTopic", chat_id=forum, name="mine")).result
    thread = made["message_thread_id"]
    assert (await call.text(chat_id=forum, message_thread_id=thread)).status == 200
    assert (await call("createForumTopic", chat_id=group, name="a")).refusal.endswith("not a forum")
    blank = await call("createForumTopic", chat_id=forum, name=" ")
    assert blank.refusal == "Bad Request: TOPIC_TITLE_EMPTY"
    api.do("set_bot", chat=forum, bot=BOT, status="member", by=PERSON)
    refused = await call("createForumTopic", chat_id=forum, name="b")
    assert refused.refusal == "Bad Request: not enough rights to create a topic"


async def test_a_reply_shows_what_it_answers_one_level_deep(call, write):
    first = write("one")["message_id"]
    second = (await call.text("two", reply_parameters={"message_id": first})).result
    assert second["reply_to_message"]["text"] == "one"
    third = (await call.text("three", reply_to_message_id=second["message_id"])).result
    assert third["reply_to_message"]["text"] == "two"
    assert "reply_to_message" not in third["reply_to_message"]


async def test_a_reply_to_nothing_is_refused_unless_it_may_stand_alone(call):
    gone = await call.text(reply_parameters={"message_id": 99})
    assert gone.refusal == "Bad Request: message to be replied not found"
    alone = {"message_id": 99, "allow_sending_without_reply": True}
    assert "reply_to_message" not in (await call.text(reply_parameters=alone)).result
    wrong = await call.text(reply_parameters=[1])
    assert wrong.refusal == "Bad Request: object expected as reply parameters"


async def test_drafts_are_shown_in_private_alone(call, group):
    draft = {"chat_id": PERSON, "draft_id": 1, "text": "so far"}
    assert (await call("sendMessageDraft", **draft)).result is True
    assert (await call("sendMessageDraft", **{**draft, "draft_id": 0})).status == 400
    assert (await call("sendMessageDraft", **{**draft, "chat_id": group})).status == 400


async def test_typing_is_recorded(call, api):
    assert (await call("sendChatAction", chat_id=PERSON, action="typing")).result is True
    wrong = await call("sendChatAction", chat_id=PERSON, action="yawn")
    assert wrong.refusal == "Bad Request: wrong parameter action in request"
    seen = api.do("requests", bot=BOT, method="sendChatAction")
    assert [one["parameters"]["action"] for one in seen] == ["typing", "yawn"]


async def test_who_says_too_much_in_private_waits_for_as_long_as_told(call, api):
    api.do("limits")
    for _ in range(3):
        assert (await call.text()).status == 200
    refused = await call.text()
    assert refused.status == 429
    assert refused.refusal == "Too Many Requests: retry after 4"
    assert refused.told["parameters"] == {"retry_after": 4}
    api.do("pass", seconds=4)
    assert (await call.text()).status == 200


async def test_a_group_takes_20_messages_a_minute_and_edits_count(call, api, group):
    api.do("limits")
    sent = (await call.text(chat_id=group)).result["message_id"]
    for number in range(19):
        text = {"chat_id": group, "message_id": sent, "text": f"{number}"}
        assert (await call("editMessageText", **text)).status == 200
    assert (await call.text(chat_id=group)).told["parameters"] == {"retry_after": 61}
    assert (await call.text()).status == 200
    api.do("pass", seconds=60)
    assert (await call.text(chat_id=group)).status == 200


async def test_a_bot_says_30_things_a_second_over_all_chats(call, api):
    api.do("limits")
    for number in range(100, 131):
        api.do("chat", id=number, type="private", bots={BOT: "member"})
    answers = [await call.text(chat_id=number) for number in range(100, 131)]
    assert [answer.status for answer in answers] == [200] * 30 + [429]
