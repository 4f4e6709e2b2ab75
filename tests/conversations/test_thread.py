"""A conversation is named by its two parties, whoever speaks first."""

from hypothesis import given
from hypothesis import strategies as st

from amiral.conversations.thread import OWNER, pair

NAMES = st.from_regex(r"[a-z0-9_]{1,8}", fullmatch=True)


def test_the_pair_is_named_in_alphabetical_order():
    assert pair(OWNER, "dev") == "dev-owner"


@given(NAMES, NAMES)
def test_both_parties_name_the_same_conversation(one, other):
    assert pair(one, other) == pair(other, one)
