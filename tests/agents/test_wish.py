"""A wish is a value: what it asks for and why."""

import dataclasses

import pytest

from amiral.agents.wish import Wish


def test_a_wish_cannot_be_changed_once_said():
    wish = Wish("cancelled", "by owner")
    with pytest.raises(dataclasses.FrozenInstanceError):
        wish.outcome = "done"  # type: ignore[misc]
    assert wish == Wish("cancelled", "by owner")
