"""Whether a limit's hour has come."""

import pytest

from amiral.limits.limit import state_at


@pytest.mark.parametrize(
    ("resets_at_ms", "now_ms", "state"),
    [(None, 10, "unknown"), (11, 10, "waiting"), (10, 10, "due"), (9, 10, "due")],
)
def test_the_state_of_a_limit_follows_from_its_hour(resets_at_ms, now_ms, state):
    assert state_at(resets_at_ms, now_ms) == state
