"""Marks stay on their words, whatever is edited or cut around them."""

import pytest

from amiral.telegram.marks import Edit, Kind, Mark, Marked, edited


def bold(start, end):
    return Mark(Kind.BOLD, start, end)


@pytest.mark.parametrize(
    ("one", "other", "do_meet"),
    [
        (bold(0, 2), bold(1, 3), True),
        (bold(1, 3), bold(0, 2), True),
        (bold(0, 2), bold(2, 3), False),
        (bold(2, 3), bold(0, 2), False),
    ],
)
def test_marks_meet_when_they_have_a_character_in_common(one, other, do_meet):
    assert one.meets(other) is do_meet


@pytest.mark.parametrize(
    ("edits", "text", "marks"),
    [
        ([], "abcdef", (bold(2, 4),)),
        ([Edit(0, 1)], "bcdef", (bold(1, 3),)),
        ([Edit(0, 0, "xy")], "xyabcdef", (bold(4, 6),)),
        ([Edit(5, 6), Edit(2, 2, "*")], "ab*cde", (bold(3, 5),)),
        ([Edit(2, 4, "xyz")], "abxyzef", (bold(2, 5),)),
        ([Edit(2, 4)], "abef", ()),  # nothing is left of it
        ([Edit(1, 3)], "adef", ()),  # it began inside
        ([Edit(3, 6)], "abc", ()),  # it ended inside
        ([Edit(1, 5, "-"), Edit(2, 3, "x")], "a-f", ()),  # the outer edit counts
        ([Edit(1, 2, "x"), Edit(1, 6)], "a", ()),
    ],
)
def test_marks_move_with_their_text(edits, text, marks):
    assert edited("abcdef", edits, [bold(2, 4)]) == Marked(text, marks)


def test_a_mark_that_is_cut_is_on_both_sides():
    marked = Marked("abcdef", (bold(1, 5), bold(0, 1)))
    assert marked.between(0, 3) == Marked("abc", (bold(1, 3), bold(0, 1)))
    assert marked.between(3, 6) == Marked("def", (bold(0, 2),))


@pytest.mark.parametrize(
    ("text", "stripped"),
    [("\n\na \n", "a"), ("  a", "  a"), ("a", "a"), (" \n", ""), ("\n  a\n b\n", "  a\n b")],
)
def test_blank_lines_before_and_blanks_behind_go_and_indents_stay(text, stripped):
    marked = Marked(text, (bold(0, len(text)),)).stripped()
    assert marked.text == stripped
    assert marked.marks == ((bold(0, len(stripped)),) if stripped else ())
