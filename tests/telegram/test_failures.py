"""Failures say what happened and what to do, and belong to the one tree."""

import pytest

from amiral.base.errors import AmiralError, Broken, Conflict, Denied, Invalid
from amiral.telegram.failures import (
    Blocked,
    Conflict409,
    Flood,
    Reason,
    Refused,
    Revoked,
    Unreachable,
)


@pytest.mark.parametrize(
    ("failure", "parent", "said"),
    [
        (Flood("getMe", 35), AmiralError, "getMe: Telegram asks to wait 35 s"),
        (Conflict409("getUpdates", "Conflict: x"), Conflict, "getUpdates: Conflict: x"),
        (Revoked("getMe"), Denied, "getMe: Telegram does not know this bot's token (any more)"),
        (Refused("a", "Bad Request: b", Reason.OTHER), Invalid, "a: Bad Request: b"),
        (Blocked("a", "Forbidden: b"), Denied, "a: Forbidden: b"),
        (Unreachable("a", "502"), Broken, "a: no answer from Telegram (502)"),
    ],
)
def test_each_failure_has_its_place_in_the_tree_and_says_what_happened(failure, parent, said):
    assert isinstance(failure, parent)
    assert failure.message == said


def test_what_can_be_done_stands_beside_it():
    assert "@BotFather" in Revoked("a").next_step
    assert "stop the other" in Conflict409("a", "b").next_step
    assert "let the bot into" in Blocked("a", "b").next_step


def test_a_call_may_have_been_carried_out_unless_it_surely_never_left():
    assert not Unreachable("a", "b").is_unsent
    assert Unreachable("a", "b", is_unsent=True).is_unsent
