"""What is sent for an answer: a few messages, or the first and a document."""

import pytest

from amiral.telegram.marks import Kind
from amiral.telegram.part import Entity, Part
from amiral.telegram.render import (
    LONGEST_CAPTION,
    LONGEST_TEXT,
    Answer,
    Document,
    answer,
    caption,
    render,
)

EMPTY = Part("(empty answer)")


@pytest.mark.parametrize("markdown", ["", " \n\n\t", "\x00\x1b[31m", "\u200b", "```\n```", "# "])
def test_an_answer_with_nothing_to_be_seen_is_said_to_be_empty(markdown):
    assert render(markdown) == (EMPTY,)
    assert answer(markdown) == Answer((EMPTY,))
    assert caption(markdown) == EMPTY


def test_a_short_answer_is_one_message():
    bold = Part("a b", (Entity(Kind.BOLD, 2, 1),))
    assert answer("a **b**") == Answer((bold,))
    assert render("a **b**") == (bold,)
    assert caption("a **b**") == bold


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("\x1b[31mred\x1b[0m and \x00nul", "red and nul"),
        ("a\u2028b\u2029c", "a\nb\nc"),
        ("a\tb", "a   b"),
        ("a\u202eb", "a<U+202E>b"),
        ("a\r\nb", "a\nb"),
    ],
)
def test_what_telegram_would_drop_is_made_readable(markdown, text):
    assert render(markdown) == (Part(text),)


def test_commands_in_an_answer_are_code():
    assert render("use /stop") == (Part("use /stop", (Entity(Kind.CODE, 4, 5),)),)


def test_parts_are_no_longer_than_asked():
    assert render("aa bb cc", 7) == (Part("aa bb"), Part("cc"))


def test_up_to_three_messages_are_sent_as_such():
    sent = answer("word " * (3 * LONGEST_TEXT // 5 - 3))
    assert (len(sent.parts), sent.document) == (3, None)


@pytest.mark.parametrize(
    "markdown",
    ["word é " * 2000, "a " * 40_000, "```\n" + "x\n" * 4200 + "```", "é `a`\n" * 4000],
    ids=["messages", "very long", "long code", "marked"],
)
def test_a_longer_one_is_its_beginning_and_a_document_of_it_all(markdown):
    sent = answer(markdown)
    (first,) = sent.parts
    assert first.text.endswith("\n\n… all of it is in answer.md")
    assert len(first.text) <= LONGEST_TEXT
    assert sent.document == Document("answer.md", markdown.encode())


def test_nothing_that_moves_a_terminal_is_in_a_document():
    document = answer("word \x1b[31m" * 4000).document
    assert document is not None
    assert document.content == b"word " * 4000


def test_a_caption_ends_with_an_ellipsis_where_there_was_more():
    told = caption("word " * 1000)
    assert told.text.endswith("word …")
    assert LONGEST_CAPTION // 2 < len(told.text) <= LONGEST_CAPTION
