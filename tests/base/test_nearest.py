"""Behaviour of suggestions for mistyped names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.nearest import did_you_mean, nearest

KNOWN = ("approve", "approvals", "reject", "specs")


@pytest.mark.parametrize(
    ("name", "close"),
    [("aprove", "approve"), ("APPROVE", "approve"), ("spces", "specs"), ("zzz", ""), ("", "")],
)
def test_the_nearest_known_name_is_given(name, close):
    assert nearest(name, KNOWN) == close


@given(st.text(max_size=200), st.sets(st.text(max_size=20), max_size=5))
def test_only_a_known_name_is_ever_suggested(name, known):
    assert nearest(name, known) in {*known, ""}


def test_the_question_is_empty_when_nothing_is_close():
    assert did_you_mean("rejekt", KNOWN) == " (did you mean reject?)"
    assert did_you_mean("qqq", KNOWN) == ""
