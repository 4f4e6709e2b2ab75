"""Tables stand in columns on a screen with characters of one width."""

import pytest

from amiral.telegram.tables import WIDEST, drawn


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([["a"]], ["a", "-"]),
        ([["a", "bb"], ["ccc", ""]], ["a   | bb", "----+---", "ccc |"]),
        ([["a"], ["b", "c"]], ["a |", "--+--", "b | c"]),
        ([["日本", "x"], ["a", "y"]], ["日本 | x", "-----+--", "a    | y"]),
        ([["e\u0301t", "x"], ["abc", "y"]], ["e\u0301t  | x", "----+--", "abc | y"]),
        ([["", ""]], [" |", "---"]),
    ],
)
def test_cells_are_padded_to_one_width(rows, lines):
    assert drawn(rows).split("\n") == lines


def test_a_table_that_a_phone_would_wrap_is_not_padded():
    wide = "x" * (WIDEST - 1)
    assert drawn([["a", "b"], [wide[3:], "c"]]).split("\n")[1] == "-" * (WIDEST - 4) + "-+--"
    assert drawn([["a"], [wide]]).split("\n") == ["a", "-" * len(wide), wide]
    assert drawn([["a", "b"], [wide, "c"]]).split("\n") == ["a | b", "---", f"{wide} | c"]
