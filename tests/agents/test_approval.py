"""What an approval is bound to, what its worker is told, when it expires."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.approval import CHANGED, Approval, State, digest_of, expiry_ms, verdict

DIGEST = digest_of("Bash", '{"command":"ls"}')
WAITING = Approval(
    *("a1b2c3d4", "m1", "t1", "dev", "s1", "7", "Bash", "ls", "ls", DIGEST, "a rule"),
    asked_ms=1000,
    expires_ms=2000,
)


def test_h4_the_digest_is_of_tool_and_arguments():
    assert len(DIGEST) == 64
    others = {digest_of("Bash", '{"command":"ls "}'), digest_of("Bash2", '{"command":"ls"}')}
    assert DIGEST not in others
    assert len(digest_of("half \ud83d", "")) == 64


@pytest.mark.parametrize(
    ("state", "by", "reason", "allowed", "told"),
    [
        (State.ALLOWED, "owner", "fine", True, ""),
        (State.DENIED, "owner", "", False, "denied by the owner"),
        (State.DENIED, "owner", "not now", False, "denied by the owner: not now"),
        (State.EXPIRED, "amiral", "", False, "denied: nobody answered in time"),
        (State.WITHDRAWN, "amiral", "", False, "denied: the request had been withdrawn"),
        (State.VOID, "amiral", "its turn has ended", False, "its turn has ended"),
        (State.WAITING, "", "", False, "nobody has answered"),
    ],
)
def test_a_worker_is_told_what_became_of_its_request(state, by, reason, allowed, told):
    found = verdict(replace(WAITING, state=state, by=by, reason=reason), DIGEST)
    assert (found.allowed, found.reason) == (allowed, told)
    assert WAITING.is_waiting


def test_h4_what_is_not_what_was_allowed_is_denied():
    found = verdict(replace(WAITING, state=State.ALLOWED), digest_of("Bash", "{}"))
    assert (found.allowed, found.reason) == (False, CHANGED)


@pytest.mark.parametrize(
    ("ttl_s", "left_s", "after_ms"),
    [(3600, 14_400, 3_600_000), (3600, 100, 90_000), (0, 100, 0), (3600, -5, 0)],
)
def test_a_request_expires_when_its_time_is_up_and_before_its_turns_is(ttl_s, left_s, after_ms):
    assert expiry_ms(1000, ttl_s, left_s) == 1000 + after_ms


@given(st.floats(0, 1e6), st.floats(0.1, 1e6))
def test_expiry_comes_before_the_end_of_the_turn(ttl_s, left_s):
    assert expiry_ms(0, ttl_s, left_s) < left_s * 1000
