"""What a chat service may answer, as the core tells it apart."""

import pytest

from amiral.chats.adapter import BadMarks, Closed, Gone, Held, Moved, Rejected, Unchanged


def test_patience_is_told_in_seconds_and_a_move_with_its_goal():
    assert Held(35).seconds == 35
    assert str(Held(35)) == "the chat service asks for 35 s of patience"
    assert Moved("-100").to == "-100"


@pytest.mark.parametrize("kind", [BadMarks, Closed, Gone, Unchanged])
def test_what_is_refused_for_good_can_be_told_as_such(kind):
    with pytest.raises(Rejected):
        raise kind("no")
