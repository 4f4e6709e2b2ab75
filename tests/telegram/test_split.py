"""Long texts become messages that each read well."""

import pytest

from amiral.telegram.marks import Kind, Mark, Marked
from amiral.telegram.split import is_seen, split

FAMILY, FLAG = "👩\u200d👧", "🇫🇷"


def texts(text, longest, *marks):
    return [part.text for part in split(Marked(text, marks), longest)]


@pytest.mark.parametrize(
    ("text", "longest", "parts"),
    [
        ("abc", 3, ["abc"]),
        ("", 3, []),
        ("aa bb\n\ncc\ndd", 10, ["aa bb", "cc\ndd"]),
        ("aa bb\ncc dd", 8, ["aa bb", "cc dd"]),
        ("aa bb cc", 7, ["aa bb", "cc"]),
        ("abcdef", 4, ["abcd", "ef"]),
        ("a\nbcdefgh", 6, ["a\nbcde", "fgh"]),  # a break before the middle would waste a message
        ("ab\n\n\n\n\n\n\n\n\ncd", 4, ["ab", "cd"]),
        ("🎉🎉🎉", 4, ["🎉🎉", "🎉"]),
        ("a🎉🎉", 4, ["a🎉", "🎉"]),
    ],
)
def test_parts_end_with_a_paragraph_a_line_or_a_word_where_they_can(text, longest, parts):
    assert texts(text, longest) == parts


@pytest.mark.parametrize(
    ("text", "longest", "parts"),
    [
        (f"ab{FAMILY}", 6, ["ab", FAMILY]),
        ("abe\u0301", 3, ["ab", "e\u0301"]),
        ("ab👍🏽", 4, ["ab", "👍🏽"]),
        (f"ab{FLAG}{FLAG}", 8, [f"ab{FLAG}", FLAG]),
        (FLAG * 2, 6, [FLAG, FLAG]),
        ("e" + "\u0301" * 5, 4, ["e\u0301\u0301\u0301"]),  # so much that it must be cut
    ],
)
def test_what_is_seen_as_one_character_stays_one(text, longest, parts):
    assert texts(text, longest) == parts


def test_a_block_that_would_be_cut_goes_to_the_next_part_whole():
    assert texts("aaaa bb cc dd", 10, Mark(Kind.CODE, 5, 13)) == ["aaaa bb", "cc dd"]
    nested = Mark(Kind.CODE, 8, 15), Mark(Kind.BOLD, 7, 15)
    assert texts("aaaaaa bb cc dd", 12, *nested) == ["aaaaaa", "bb cc dd"]
    assert texts("aaaaa\nbb cc dd", 12, Mark(Kind.PRE, 7, 14)) == ["aaaaa\nb", "b cc dd"]


def test_a_quote_is_cut_where_its_text_is_best_cut():
    assert texts("aaaaaa bb cc dd", 12, Mark(Kind.QUOTE, 7, 15)) == ["aaaaaa bb", "cc dd"]


def test_what_must_be_cut_is_marked_on_both_sides():
    parts = split(Marked("abcdef", (Mark(Kind.CODE, 0, 6),)), 4)
    assert [part.marks for part in parts] == [(Mark(Kind.CODE, 0, 4),), (Mark(Kind.CODE, 0, 2),)]


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "\u2800", "\u3164", "\ufeff", "\u00ad"])
def test_what_cannot_be_seen_is_known(text):
    assert not is_seen(text)
    assert is_seen(f"{text}.")
