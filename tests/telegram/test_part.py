"""Entities count as Telegram counts, and nest as it allows."""

import pytest

from amiral.telegram.marks import Kind, Mark, Marked
from amiral.telegram.part import Entity, Part, part


def test_places_count_utf_16_units():
    marked = Marked("é🎉 x", (Mark(Kind.BOLD, 1, 4), Mark(Kind.CODE, 0, 1)))
    assert part(marked).entities == (Entity(Kind.CODE, 0, 1), Entity(Kind.BOLD, 1, 4))


@pytest.mark.parametrize(
    ("marks", "entities"),
    [
        ([(Kind.BOLD, 0, 6), (Kind.CODE, 2, 4)], [("bold", 0, 2), ("code", 2, 2), ("bold", 4, 2)]),
        ([(Kind.BOLD, 0, 4), (Kind.CODE, 0, 4)], [("code", 0, 4)]),
        ([(Kind.BOLD, 0, 6), (Kind.CODE, 4, 6)], [("bold", 0, 4), ("code", 4, 2)]),
        ([(Kind.STRUCK, 0, 2), (Kind.PRE, 2, 6)], [("strikethrough", 0, 2), ("pre", 2, 4)]),
        ([(Kind.QUOTE, 0, 6), (Kind.CODE, 2, 4)], [("blockquote", 0, 6), ("code", 2, 2)]),
        ([(Kind.CODE, 0, 2), (Kind.ITALIC, 0, 6)], [("code", 0, 2), ("italic", 2, 4)]),
        ([(Kind.ITALIC, 0, 4), (Kind.BOLD, 0, 4)], [("bold", 0, 4), ("italic", 0, 4)]),
    ],
)
def test_code_parts_what_is_bold_around_it_and_outer_ones_come_first(marks, entities):
    found = part(Marked("abcdef", tuple(Mark(*mark) for mark in marks))).entities
    assert [(one.kind.value, one.offset, one.length) for one in found] == entities


def test_its_json_is_that_of_the_bot_api():
    entities = (
        Entity(Kind.LINK, 0, 1, "https://example.org"),
        Entity(Kind.PRE, 1, 1, "python"),
        Entity(Kind.PRE, 2, 1),
    )
    assert Part("abc", entities).data() == {
        "text": "abc",
        "entities": [
            {"type": "text_link", "offset": 0, "length": 1, "url": "https://example.org"},
            {"type": "pre", "offset": 1, "length": 1, "language": "python"},
            {"type": "pre", "offset": 2, "length": 1},
        ],
    }
