"""Behaviour of text made safe to show (R54)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.plain import one_line, plain, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 😀\n\tx", "plain é 😀\n\tx"),
        ("a\x1b[2Jb\x1b[31mc", "abc"),
        ("a\x1b]52;c;ZXZpbA==\x07b", "ab"),
        ("a\x1b]8;;https://x\x1b\\b", "ab"),
        ("a\x9d0;title\x9cb\x9b1mc", "abc"),
        ("a\x1b]unended", "a"),
        ("a\x1b", "a"),
        ("a\x1b(0b\x1bc", "ab"),
        ("a\x00b\x08c\x7fd\x85e\rf", "abcdef"),
        ("a\r\nb", "a\nb"),
        ("rm \u202egpj.x\u2069", "rm <U+202E>gpj.x<U+2069>"),
        ("half \ud83d", "half <U+D83D>"),
        ("👩\u200d👧", "👩\u200d👧"),
    ],
)
def test_controls_go_and_direction_marks_show_r54(text, shown):
    assert plain(text) == shown


@given(st.text(st.characters()))
def test_nothing_that_moves_a_terminal_is_left_r54(text):
    left = plain(text)
    assert not [c for c in left if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    assert not set(left) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert plain(left) == left
    left.encode()


@given(st.text(st.characters()), st.integers(2, 80))
def test_one_line_is_one_line_of_bounded_length(text, longest):
    line = one_line(text, longest)
    assert len(line) <= longest
    assert len(line.splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 😀", "plain é 😀"),
        ("a\n\tb\r\nc", "a\n\tb\nc"),
        ("a\x1b];rm -rf ~;\x07b", "a<U+001B>];rm -rf ~;<U+0007>b"),
        ("a\rb\u00a0c\u200bd", "a<U+000D>b<U+00A0>c<U+200B>d"),
        ("rm \u202egpj.x", "rm <U+202E>gpj.x"),
    ],
)
def test_what_is_judged_hides_nothing_r54(text, shown):
    assert visible(text) == shown


@given(st.text(st.characters()))
def test_what_is_visible_is_printed_as_it_is_r54(text):
    shown = visible(text)
    assert plain(shown) == shown
    assert all(one.isprintable() or one in "\n\t" for one in shown)
