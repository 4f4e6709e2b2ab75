"""What a bot can do to messages that stand, and to taps."""

import pytest

BOT, OTHER, PERSON, GROUP = 700000001, 700000002, 42, -500
BUTTONS = {"inline_keyboard": [[{"text": "ok", "callback_data": "x"}]]}


@pytest.fixture
async def sent(call):
    return (await call.text("old", reply_markup=BUTTONS)).result["message_id"]


@pytest.fixture
def edit(call, sent):
    def edit(text="new", **more):
        fields = {"chat_id": PERSON, "message_id": sent, "text": text, **more}
        return call("editMessageText", **fields)

    return edit


async def test_an_edit_replaces_text_entities_and_buttons(call, edit, api, sent):
    bold = [{"type": "bold", "offset": 0, "length": 3}]
    told = (await edit(entities=bold)).result
    assert (told["text"], told["entities"], told["message_id"]) == ("new", bold, sent)
    assert told["edit_date"] and "reply_markup" not in told
    assert "entities" not in (await edit("newer", reply_markup=BUTTONS)).result
    (stands,) = api.do("messages", chat=PERSON, bot=BOT)
    assert (stands["text"], stands["reply_markup"]) == ("newer", BUTTONS)


async def test_an_edit_that_changes_nothing_is_refused(edit):
    assert (await edit("old", reply_markup=BUTTONS)).refusal.startswith(
        "Bad Request: message is not modified: specified new message content"
    )
    assert (await edit("old")).status == 200


async def test_only_messages_of_its_own_that_are_there_can_be_edited(call, edit, write, api):
    assert (await edit(message_id=99)).refusal == "Bad Request: message to edit not found"
    theirs = write("mine")["message_id"]
    assert (await edit(message_id=theirs)).refusal == "Bad Request: message can't be edited"
    file = (await call("sendDocument", chat_id=PERSON, document=("a.txt", b"a"))).result
    refused = await edit(message_id=file["message_id"])
    assert refused.refusal == "Bad Request: there is no text in the message to edit"


async def test_in_a_shared_group_a_bot_cannot_edit_another_ones(call, other, api):
    bots = {BOT: "member", OTHER: "member"}
    api.do("chat", id=GROUP, type="supergroup", bots=bots)
    theirs = (await other.text(chat_id=GROUP)).result["message_id"]
    fields = {"chat_id": GROUP, "message_id": theirs, "text": "x"}
    assert (await call("editMessageText", **fields)).refusal.endswith("can't be edited")


async def test_captions_are_edited_as_texts_are(call, sent):
    file = (await call("sendDocument", chat_id=PERSON, document=("a.txt", b"a"))).result
    fields = {"chat_id": PERSON, "message_id": file["message_id"]}
    told = (await call("editMessageCaption", **fields, caption="below")).result
    assert told["caption"] == "below"
    assert "caption" not in (await call("editMessageCaption", **fields)).result
    wrong = await call("editMessageCaption", chat_id=PERSON, message_id=sent, caption="a")
    assert wrong.refusal == "Bad Request: there is no caption in the message to edit"


async def test_buttons_can_be_taken_away_alone_and_once(call, sent, api):
    fields = {"chat_id": PERSON, "message_id": sent}
    told = (await call("editMessageReplyMarkup", **fields)).result
    assert told["text"] == "old" and "reply_markup" not in told
    again = await call("editMessageReplyMarkup", **fields)
    assert "message is not modified" in again.refusal
    assert (await call("editMessageReplyMarkup", **fields, reply_markup=BUTTONS)).status == 200


async def test_a_bot_deletes_its_messages_and_as_administrator_any_within_48_hours(
    call, api, sent, write
):
    fields = {"chat_id": PERSON, "message_id": sent}
    assert (await call("deleteMessage", **fields)).result is True
    assert (await call("deleteMessage", **fields)).refusal.endswith("message to delete not found")
    api.do("chat", id=GROUP, bots={BOT: "member"})
    theirs = write("x", chat=GROUP, bot=0)["message_id"]
    fields = {"chat_id": GROUP, "message_id": theirs}
    assert (await call("deleteMessage", **fields)).refusal.endswith("message can't be deleted")
    api.do("set_bot", chat=GROUP, bot=BOT, status="administrator", by=PERSON)
    api.do("pass", seconds=48 * 3600 + 1)
    assert (await call("deleteMessage", **fields)).refusal.endswith("message can't be deleted")
    theirs = write("y", chat=GROUP, bot=0)["message_id"]
    assert (await call("deleteMessage", chat_id=GROUP, message_id=theirs)).result is True


async def test_a_reaction_is_one_of_those_that_there_are(call, write):
    fields = {"chat_id": PERSON, "message_id": write()["message_id"]}
    eyes = [{"type": "emoji", "emoji": "👀"}]
    assert (await call("setMessageReaction", **fields, reaction=eyes)).result is True
    assert (await call("setMessageReaction", **fields)).result is True
    for wrong in ([{"emoji": "🛑"}], ["👀"], "x", {"a": 1}):
        assert (await call("setMessageReaction", **fields, reaction=wrong)).status == 400
    gone = await call("setMessageReaction", chat_id=PERSON, message_id=99)
    assert gone.refusal == "Bad Request: message to react not found"


async def test_a_tap_is_answered_once_in_time_and_by_its_bot(call, other, api, sent):
    where = {"chat": PERSON, "bot": BOT, "user": PERSON, "message_id": sent, "data": "x"}
    tap = api.do("press", **where)
    update = (await call("getUpdates")).result[0]["callback_query"]
    assert (update["data"], update["from"]["id"], update["message"]["text"]) == ("x", PERSON, "old")
    assert update["chat_instance"]
    old = "Bad Request: query is too old and response timeout expired or query ID is invalid"
    answer = {"callback_query_id": tap["id"], "text": "heard"}
    assert (await other("answerCallbackQuery", **answer)).refusal == old
    assert (await call("answerCallbackQuery", **{**answer, "text": "x" * 201})).status == 400
    assert (await call("answerCallbackQuery", **answer)).result is True
    assert (await call("answerCallbackQuery", **answer)).refusal == old
    late = api.do("press", **where)
    api.do("pass", seconds=16)
    assert (await call("answerCallbackQuery", callback_query_id=late["id"])).refusal == old
    said = api.do("state")["taps"]
    assert said == {tap["id"]: {"text": "heard", "show_alert": False}, late["id"]: None}


async def test_a_tap_on_a_message_that_is_gone_tells_its_number_alone(call, api, sent):
    await call("deleteMessage", chat_id=PERSON, message_id=sent)
    where = {"chat": PERSON, "bot": BOT, "user": PERSON, "message_id": sent, "data": "forged"}
    message = api.do("press", **where)["message"]
    assert (message["message_id"], message["date"]) == (sent, 0)
    assert "text" not in message
