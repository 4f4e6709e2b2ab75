"""Replies are said once, whatever is lost on the way; placeholders are no replies."""

import pytest

from amiral.base import chat_events as ev
from amiral.chats import rows
from amiral.chats.adapter import Button, Closed, Held, Moved, Unsure

LONG = "one " * 30


async def due(talk, key="k1", text="hello", chat="7", **more):
    await talk.journal.append(ev.ChatReplyDue(key, "test:1", chat, "", text=text, **more))


async def shown(talk, key="k1", state="shown"):
    await talk.until(lambda: talk.state(key) == state, f"{key} {state}")


async def test_a_reply_is_a_placeholder_that_is_edited(talk):
    talk.begin()
    await due(talk, buttons=rows.dump_buttons([[Button("Allow", "v1:x")]]))
    await due(talk)
    await shown(talk)
    assert talk.service.calls == [("send", "⏳"), ("edit", "hello")]
    (message,) = talk.service.messages.values()
    assert message[1:] == ["hello", [["Allow"]]]


async def test_an_answer_comes_into_the_placeholder_that_stands_there(talk):
    talk.begin()
    await due(talk, text="", message="m1")
    await talk.until(lambda: talk.service.calls == [("send", "⏳")])
    await due(talk, key="k2", text="meanwhile")
    await shown(talk, "k2")
    talk.answers["m1"] = LONG
    await talk.journal.append(ev.ChatHeard("test:1", "7", "", "1", "9", "", "x", 0, message="m1"))
    await shown(talk)
    assert "".join(talk.service.shown()).replace("meanwhile", "") == LONG
    assert len(talk.service.messages) == 4


@pytest.mark.parametrize("call", ["send", "edit"])
@pytest.mark.parametrize("fault", ["after", Unsure("gone"), Held(35.0)])
async def test_what_goes_wrong_is_tried_again_and_said_once(talk, call, fault):
    talk.service.faults.append((call, fault))
    talk.begin()
    began_s = talk.clock.time_s
    await due(talk, text=LONG)
    await shown(talk)
    assert "".join(talk.service.shown()) == LONG
    if isinstance(fault, Held):
        assert talk.clock.time_s - began_s >= 35


async def test_while_a_chat_is_held_nothing_is_said_there_and_elsewhere_all_is(talk):
    talk.begin()
    await due(talk)
    await shown(talk)
    talk.service.faults.append(("send", Held(35.0)))
    began_s = talk.clock.time_s
    await due(talk, "k2", "held")
    await talk.until(lambda: not talk.service.faults)
    calls = len(talk.service.calls)
    await due(talk, "k3", "later")
    await due(talk, "other", "elsewhere", chat="8")
    await shown(talk, "other")
    await shown(talk, "k3")
    await shown(talk, "k2")
    assert talk.clock.time_s - began_s >= 35
    assert [text for _, text in talk.service.calls[calls:]].count("elsewhere") == 1


async def test_marks_that_cannot_be_read_are_left_out_and_the_text_arrives(talk):
    talk.begin()
    await due(talk, text="☠ text")
    await shown(talk)
    assert talk.service.shown() == ["☠ text"]


async def test_a_topic_that_is_gone_is_told_outside_of_it(talk):
    talk.begin()
    await talk.journal.append(ev.ChatReplyDue("k1", "test:1", "7", "gone", text="hello"))
    await shown(talk)
    assert talk.service.shown() == ["hello\n\n(the topic of this is gone)"]


async def test_a_message_that_was_deleted_is_sent_anew(talk):
    talk.begin()
    await due(talk, text="", message="m1")
    await talk.until(lambda: talk.service.messages)
    talk.service.messages.clear()
    talk.answers["m1"] = "hello"
    await talk.journal.append(ev.ChatHeard("test:1", "7", "", "1", "9", "", "x", 0, message="m1"))
    await shown(talk)
    assert talk.service.shown() == ["hello"]


async def test_a_chat_that_is_closed_to_us_ends_the_trying_and_one_that_moved_does_not(talk):
    talk.service.faults.append(("send", Closed("blocked")))
    talk.begin()
    await due(talk)
    await shown(talk, state="dead")
    talk.service.faults.append(("send", Moved("-100")))
    await due(talk, "k2", "hello")
    await shown(talk, "k2")
    assert talk.service.shown("-100") == ["hello"]


async def test_what_was_said_can_read_otherwise(talk):
    talk.begin()
    await due(talk, text=LONG)
    await shown(talk)
    await talk.journal.append(ev.ChatReplyChanged("k1", "short"))
    await talk.until(lambda: talk.service.shown() == ["short", "⋯", "⋯"])
    assert len(talk.service.messages) == 3


async def test_a_document_comes_with_the_first_part_and_of_a_doubt_is_told(talk):
    talk.begin()
    await due(talk, text=LONG * 2)
    await shown(talk)
    assert [name for name, _ in talk.service.documents] == ["answer.md"]
    talk.service.faults.append(("document", "after"))
    await due(talk, "k2", LONG * 2)
    await shown(talk, "k2")
    assert len(talk.service.documents) == 2
    assert talk.service.shown()[-1].endswith("(whether the document arrived is not known)")


async def test_where_a_send_can_be_repeated_there_are_no_placeholders(talk):
    talk.service.abilities = type(talk.service.abilities)(True, True, True, 1)
    talk.service.faults.append(("send", "after"))
    talk.begin()
    await due(talk, text="", message="m1")
    await due(talk, "k2", "hello")
    await shown(talk, "k2")
    assert talk.service.calls == [("send", "hello")] * 2
    assert talk.service.shown() == ["hello"]


async def test_the_tables_can_be_filled_again(talk):
    talk.begin()
    talk.service.push("hello")
    await due(talk, text=LONG)
    await shown(talk)
    await talk.until(lambda: talk.handled)
    await talk.end()
    tables = ("chat_updates", "chat_replies", "chat_parts")
    before = [talk.journal.rows(f"select * from {name} order by 1, 2") for name in tables]
    await talk.journal.rebuild()
    assert [talk.journal.rows(f"select * from {name} order by 1, 2") for name in tables] == before
