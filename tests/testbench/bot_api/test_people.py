"""What people do reaches bots as Telegram tells it."""

import pytest

from amiral.base.errors import Invalid, NotFound

BOT, OTHER, PERSON, STRANGER = 700000001, 700000002, 42, 43
GROUP, FORUM = -500, -1001234


@pytest.fixture
def group(api, other):
    bots = {BOT: "member", OTHER: "member"}
    api.do("chat", id=GROUP, type="supergroup", bots=bots, people={PERSON: "creator"})
    return GROUP


async def heard(call, kind="message"):
    return [update[kind] for update in (await call("getUpdates", offset=-99)).result]


async def call_last(call):
    return (await call("getUpdates", offset=-1)).result[0]


async def test_a_private_message_begins_a_chat_and_shows_its_commands(call, write):
    message = write("/w:x do /emergency-stop now")
    assert message["chat"] == {"id": PERSON, "type": "private", "first_name": "Person 42"}
    spans = [(one["type"], one["offset"], one["length"]) for one in message["entities"]]
    assert spans == [("bot_command", 0, 2), ("bot_command", 8, 10)]
    assert await heard(call) == [message]


async def test_people_may_have_names_and_a_language(call, api, write):
    api.do("person", id=PERSON, first_name="Ann", username="ann", language_code="fr")
    assert write()["from"]["language_code"] == "fr"


async def test_in_a_group_every_bot_hears_but_one_in_private_mode_only_its_own(
    api, call, other, group, write
):
    api.do("bot", token=other.token, username="second_bot", reads_all=False)
    sent = (await other.text("mine", chat_id=GROUP)).result["message_id"]
    assert (await other("getMe")).result["can_read_all_group_messages"] is False

    def say(text, **more):
        return write(text, chat=GROUP, bot=0, **more)

    say("chatter")
    say("/help")
    say("/help@first_bot")
    say("/help@second_bot")
    say("so", reply_to=sent)
    say("hey @second_bot")
    say("", file={"kind": "photo"})
    say("", more={"new_chat_members": []})
    assert len(await heard(call)) == 8
    mine = [message.get("text") for message in await heard(other)]
    assert mine == ["/help", "/help@second_bot", "so", "hey @second_bot", None]
    api.do("set_bot", chat=GROUP, bot=OTHER, status="administrator", by=PERSON)
    say("told")
    api.do("pass", seconds=1)
    assert (await call_last(other))["message"]["text"] == "told"


async def test_a_reply_carries_the_message_and_what_was_chosen_of_it(call, write):
    first = write("see 😀 the hooks there")["message_id"]
    message = write("why", reply_to=first, quote="the hooks")
    assert message["reply_to_message"]["text"] == "see 😀 the hooks there"
    assert message["quote"] == {"text": "the hooks", "position": 7, "is_manual": True}
    with pytest.raises(Invalid):
        write("why", reply_to=first, quote="other words")
    with pytest.raises(NotFound):
        write("why", reply_to=999)


async def test_a_reply_to_another_chat_shows_where_it_is_but_no_text(call, api, group, write):
    elsewhere = {"user": STRANGER, "chat": GROUP, "message_id": 7}
    message = write("and this", elsewhere=elsewhere, quote="of it")
    origin = message["external_reply"]["origin"]
    assert origin["sender_user"]["id"] == STRANGER
    assert message["external_reply"]["message_id"] == 7
    assert message["quote"]["text"] == "of it"
    hidden = write("and this", elsewhere={"user": STRANGER})
    assert "chat" not in hidden["external_reply"]


async def test_messages_of_a_topic_answer_its_first_one(call, api, write):
    api.do("chat", id=FORUM, type="supergroup", is_forum=True, bots={BOT: "member"})
    topic = api.do("topic", chat=FORUM, name="work", by=PERSON)
    message = write("in it", chat=FORUM, bot=0, thread=topic)
    assert message["message_thread_id"] == topic and message["is_topic_message"]
    assert message["reply_to_message"]["message_id"] == topic
    assert message["reply_to_message"]["forum_topic_created"]["name"] == "work"
    reply = write("more", chat=FORUM, bot=0, thread=topic, reply_to=message["message_id"])
    assert reply["reply_to_message"]["text"] == "in it"
    general = write("at large", chat=FORUM, bot=0)
    assert "message_thread_id" not in general
    with pytest.raises(NotFound):
        write("x", chat=FORUM, bot=0, thread=999)


async def test_in_a_supergroup_replies_form_a_thread_that_is_no_topic(call, group, write):
    first = write("one", chat=GROUP, bot=0)["message_id"]
    second = write("two", chat=GROUP, bot=0, reply_to=first)
    third = write("three", chat=GROUP, bot=0, reply_to=second["message_id"])
    assert third["message_thread_id"] == second["message_thread_id"] == first
    assert "is_topic_message" not in third


async def test_forwarded_messages_tell_where_they_come_from(call, write):
    known = write("/stop", forwarded_from=STRANGER)
    assert known["forward_origin"]["sender_user"]["id"] == STRANGER
    hidden = write("/stop", forwarded_from="Somebody")
    assert hidden["forward_origin"]["type"] == "hidden_user"
    assert hidden["forward_sender_name"] == "Somebody"


async def test_an_anonymous_administrator_writes_as_the_group(call, group, write):
    message = write("/stop", chat=GROUP, bot=0, is_anonymous=True)
    assert message["from"]["id"] == 1087968824 and message["from"]["is_bot"]
    assert message["sender_chat"]["id"] == GROUP


async def test_an_edit_comes_as_one_and_the_old_update_stays_as_it_was(call, api, write):
    message = write("/old")["message_id"]
    api.do("edit", chat=PERSON, bot=BOT, message_id=message, text="new")
    updates = (await call("getUpdates")).result
    assert updates[0]["message"]["text"] == "/old"
    edited = updates[1]["edited_message"]
    assert (edited["text"], edited["message_id"], "entities" in edited) == ("new", message, False)
    with pytest.raises(NotFound):
        api.do("edit", chat=PERSON, bot=BOT, message_id=99, text="x")


async def test_files_come_alone_or_as_an_album(call, api, write):
    file = {"kind": "document", "name": "../../x.sh", "type": "text/plain", "hex": "6869"}
    message = write("look /run", file=file)
    assert message["caption"] == "look /run" and message["caption_entities"]
    assert message["document"]["file_name"] == "../../x.sh"
    assert message["document"]["mime_type"] == "text/plain"
    edited = {"chat": PERSON, "bot": BOT, "message_id": message["message_id"]}
    assert api.do("edit", **edited, text="better")["caption"] == "better"
    say = {"chat": PERSON, "user": PERSON, "bot": BOT, "text": "two"}
    kinds = [{"kind": "photo"}, {"kind": "video", "name": "v.mp4"}]
    album = api.do("album", say=say, files=kinds)
    assert len({one["media_group_id"] for one in album}) == 1
    assert [one.get("caption") for one in album] == ["two", None]
    voice = write("", file={"kind": "voice", "hex": "00"})
    assert voice["voice"]["duration"] == 1


async def test_what_a_person_removes_is_gone_without_a_word(call, api, write):
    message = write()["message_id"]
    api.do("remove", chat=PERSON, bot=BOT, message_id=message)
    gone = await call.text(reply_parameters={"message_id": message})
    assert gone.refusal == "Bad Request: message to be replied not found"


async def test_only_its_person_writes_in_a_private_chat_and_not_past_a_block(call, api, write):
    with pytest.raises(Invalid):
        write(user=STRANGER)
    api.do("set_bot", chat=PERSON, bot=BOT, status="kicked", by=PERSON)
    with pytest.raises(Invalid):
        write()


async def test_who_is_not_in_a_group_hears_nothing(call, api, group, write):
    api.do("set_bot", chat=GROUP, bot=BOT, status="kicked", by=PERSON)
    write("secret", chat=GROUP, bot=0)
    updates = (await call("getUpdates")).result
    assert [list(update)[1] for update in updates] == ["my_chat_member"]
