"""The bot as a chat service, against the emulator: what it is told apart by, and what it sends."""

import pytest

from amiral.chats.adapter import (
    BadMarks,
    Button,
    Closed,
    Gone,
    Held,
    Moved,
    Part,
    Rejected,
    Unchanged,
    Unsure,
)
from amiral.chats.incoming import Attachment, Kind, Spot
from amiral.telegram.adapter import TelegramAdapter

BOT, PERSON = 700000001, 42
HERE = Spot(f"telegram:{BOT}", str(PERSON))


@pytest.fixture
def adapter(bot):
    return TelegramAdapter(bot, wait_s=1)


async def test_updates_are_given_again_until_the_next_are_asked_for(api, adapter, bot):
    api.do("say", chat=PERSON, user=PERSON, text="one", bot=BOT)
    (first,) = await adapter.updates()
    assert first.lane == "42/"
    (again,) = await TelegramAdapter(bot, wait_s=1).updates()
    assert again == first
    got = adapter.read(first.raw)
    assert (got.kind, got.text, got.person.id, got.is_private) == (
        *(Kind.MESSAGE, "one", "telegram:42", True),
    )
    assert await adapter.updates() == []


async def test_it_says_who_it_is_and_offers_its_commands(api, adapter):
    assert await adapter.introduce({"status": "what needs you" * 50}) == "amiral_bot"
    ((*_, commands),) = api.do("state")["bots"][str(BOT)]["commands"]
    assert [one["command"] for one in commands] == ["status"]


async def test_what_is_sent_can_be_changed_twice(api, adapter):
    asked = api.do("say", chat=PERSON, user=PERSON, text="?", bot=BOT)["message_id"]
    sent = await adapter.send(HERE, Part("⏳"), "k", reply_to=str(asked))
    (part,) = adapter.render("**bold** text").parts
    await adapter.edit(HERE, sent, part, buttons=[[Button("Yes", "v1:a")]])
    with pytest.raises(Unchanged):
        await adapter.edit(HERE, sent, part, buttons=[[Button("Yes", "v1:a")]])
    message = api.do("messages", chat=PERSON, bot=BOT)[-1]
    assert (message["text"], message["reply_to_message"]["message_id"]) == ("bold text", asked)
    assert message["entities"] == [{"type": "bold", "offset": 0, "length": 4}]
    assert message["reply_markup"]["inline_keyboard"] == [
        [{"text": "Yes", "callback_data": "v1:a"}]
    ]


async def test_a_long_answer_is_a_part_and_a_document(api, adapter):
    rendered = adapter.render("word " * 5000)
    assert (len(rendered.parts), rendered.document) == (1, "answer.md")
    await adapter.send_document(HERE, rendered.document, rendered.content, reply_to="")
    document = api.do("messages", chat=PERSON, bot=BOT)[-1]["document"]
    assert (document["file_name"], document["file_size"]) == ("answer.md", len(rendered.content))


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"kind": "429", "retry_after": 35}, Held),
        ({"kind": "drop_after"}, Unsure),
        ({"kind": "502"}, Unsure),
        (
            _refuse := {"kind": "refuse", "code": 403, "description": "Forbidden: bot was blocked"},
            Closed,
        ),
        ({**_refuse, "code": 400, "description": "Bad Request: chat not found"}, Closed),
        ({**_refuse, "code": 400, "description": "Bad Request: message thread not found"}, Gone),
        ({**_refuse, "code": 400, "description": "Bad Request: can't parse entities: x"}, BadMarks),
        ({**_refuse, "code": 400, "description": "Bad Request: BUTTON_DATA_INVALID"}, Rejected),
    ],
)
async def test_what_goes_wrong_is_told_apart(api, adapter, fault, kind):
    api.do("fault", method="sendMessage", **fault)
    with pytest.raises(kind):
        await adapter.send(HERE, Part("x"), "k")


async def test_a_group_that_became_another_says_where_it_goes_on(api, adapter):
    api.do("chat", id=-500, type="group", bots={BOT: "member"})
    api.do("migrate", chat=-500, by=PERSON)
    with pytest.raises(Moved) as moved:
        await adapter.send(Spot(HERE.account, "-500"), Part("x"), "k")
    assert moved.value.to.startswith("-100")


async def test_small_signs_and_files(api, adapter, tmp_path):
    await adapter.show_typing(HERE)
    file = {"kind": "document", "name": "../../x.sh", "hex": b"content".hex()}
    api.do("say", chat=PERSON, user=PERSON, bot=BOT, file=file)
    (update,) = await adapter.updates()
    (attachment,) = adapter.read(update.raw).attachments
    path = await adapter.fetch(attachment, tmp_path)
    assert (path.parent, path.read_bytes()) == (tmp_path, b"content")
    with pytest.raises(Rejected):
        await adapter.fetch(Attachment("document", "made-up"), tmp_path)
    with pytest.raises(Rejected):
        await adapter.answer_tap("made-up", "")
    assert (adapter.gap_s("-5"), adapter.gap_s("5")) == (3.0, 1.0)
