"""Updates of Telegram's, which nobody has checked, in words of our own."""

import json

import pytest

from amiral.base.errors import Invalid
from amiral.chats.incoming import Kind, Person, Quoted, Spot
from amiral.telegram.incoming import lane_of, read_update

ME = "telegram:1"
BEA = {"id": 42, "is_bot": False, "first_name": "Bea", "language_code": "fr"}
PRIVATE = {"id": 42, "type": "private"}
FORUM = {"id": -100, "type": "supergroup"}


def update(kind="message", **said):
    content = {"message_id": 5, "date": 1_700_000_000, "chat": PRIVATE, "from": BEA} | said
    return json.dumps({"update_id": 9, kind: content})


def read(kind="message", **said):
    return read_update(update(kind, **said), ME)


def test_a_message_tells_where_who_when_and_what():
    got = read(text="hello")
    assert (got.kind, got.spot, got.id, got.text) == (Kind.MESSAGE, Spot(ME, "42"), "5", "hello")
    assert got.person == Person("telegram:42", "Bea")
    assert (got.sent_ms, got.language, got.is_private) == (1_700_000_000_000, "fr", True)
    assert got.quoted is None


def test_a_topic_is_a_thread_and_what_opened_it_is_no_reply():
    opened = {"message_id": 7, "chat": FORUM, "forum_topic_created": {}}
    got = read(chat=FORUM, message_thread_id=7, is_topic_message=True, reply_to_message=opened)
    assert (got.spot.thread, got.quoted, got.is_private) == ("7", None, False)
    # In a group without topics a number stands there too, and must not be sent along.
    assert read(chat=FORUM, message_thread_id=7).spot.thread == ""


def test_a_reply_brings_what_it_answers_and_the_part_that_was_chosen():
    said = {"message_id": 3, "date": 60, "chat": PRIVATE, "from": BEA, "text": "long text"}
    got = read(text="why?", reply_to_message=said, quote={"text": "long"})
    assert got.quoted == Quoted("3", "long text", "long", 60_000, "Bea")
    picture = {"message_id": 3, "chat": PRIVATE, "photo": [{"file_id": "a"}]}
    assert read(reply_to_message=picture).quoted == Quoted("3", "[photo]")
    nothing = {"message_id": 3, "chat": PRIVATE}
    assert read(reply_to_message=nothing).quoted == Quoted("3")
    assert read(quote={"text": "a part"}).quoted == Quoted(part="a part")


def test_a_reply_to_another_chat_brings_its_quote_alone():
    got = read(external_reply={"photo": []}, quote={"text": "there"})
    assert got.quoted == Quoted(text="[photo]", part="there", is_elsewhere=True)
    assert read(external_reply="odd").quoted == Quoted(is_elsewhere=True)


def test_a_reply_tells_which_bot_it_answers_and_of_people_none():
    mine, group = {"id": 1, "is_bot": True}, {"id": 1087968824, "is_bot": True}
    said = {"message_id": 3, "chat": FORUM}
    for author, bot in ((mine, ME), (BEA, ""), (None, "")):
        assert getattr(read(reply_to_message=said | {"from": author}).quoted, "bot", None) == bot
        got = read(external_reply={"origin": {"type": "user", "sender_user": author}})
        assert getattr(got.quoted, "bot", None) == bot
    anonymous = said | {"from": group, "sender_chat": FORUM}
    assert read(reply_to_message=anonymous).quoted == Quoted("3")


@pytest.mark.parametrize(
    "said",
    [
        {"from": {"id": 1087968824, "is_bot": True}, "sender_chat": FORUM},
        {"from": {"id": 9, "is_bot": True}},
        {"from": {"id": 777000}},
        {"from": None},
    ],
)
def test_a_group_a_channel_and_a_bot_are_nobody(said):
    assert not read(text="/emergency_stop", **said).person.is_real


def test_files_come_with_what_is_told_of_them():
    sizes = [{"file_id": "small", "file_size": 1}, {"file_id": "large", "file_size": 9}]
    got = read(caption="look", photo=sizes, document={"file_id": "d", "file_name": "../x.sh"})
    assert got.text == "look"
    assert [(one.kind, one.ref, one.name) for one in got.attachments] == [
        ("document", "d", "../x.sh"),
        ("photo", "large", ""),
    ]


def test_a_press_of_a_button_tells_who_pressed():
    said = {"message_id": 5, "chat": FORUM, "from": {"id": 1, "is_bot": True}}
    tap = {"id": "q", "from": BEA, "message": said, "data": "v1:abc"}
    got = read_update(json.dumps({"update_id": 1, "callback_query": tap}), ME)
    assert (got.kind, got.person.id, got.tap, got.tap_query) == (
        *(Kind.TAP, "telegram:42", "v1:abc", "q"),
    )
    assert (got.spot, got.id, got.is_private) == (Spot(ME, "-100"), "5", False)
    del tap["message"]
    got = read_update(json.dumps({"update_id": 1, "callback_query": tap}), ME)
    assert (got.spot.chat, got.id, got.is_private) == ("", "", False)


def test_other_kinds_are_facts():
    assert read("edited_message", text="x").kind is Kind.EDITED
    joined = {"chat": FORUM, "from": BEA}
    got = read_update(json.dumps({"update_id": 1, "my_chat_member": joined}), ME)
    assert (got.kind, got.spot.chat) == (Kind.JOINED, "-100")
    assert read_update('{"update_id": 1, "poll": {}}', ME).kind is Kind.OTHER
    assert read(text="x", forward_origin={"type": "user"}).is_forwarded


def test_what_telegram_does_not_promise_is_told_and_has_a_lane_of_its_own():
    with pytest.raises(Invalid, match="cannot be read"):
        read(chat="here")
    with pytest.raises(Invalid, match="cannot be read"):
        read(reply_to_message={"chat": 1})
    assert lane_of(update(chat="here")) == "?"
    assert lane_of(update()) == "42/"
