"""How a request looks to its owner, and what who comes too late is told."""

from dataclasses import replace

import pytest

from amiral.agents.approval import Approval, State
from amiral.base.errors import Conflict
from amiral.safety.approval import call, card, check, ended, span, what

WAITING = Approval(
    *("a1b2c3d4", "m1", "t1", "dev", "s1", "7", "Bash", "git push", "git push", "d" * 64),
    why="permissions.json:4: ask execute-bash git push*",
    asked_ms=0,
    expires_ms=3_600_000,
)
WHEN = "2026-11-30T10:40:00.000Z"


def test_the_card_shows_what_would_be_done_why_it_is_asked_and_both_answers():
    assert card(WAITING, 120_000, is_chat=False).split("\n") == [
        "? a1b2c3d4 · dev wants to use Bash",
        "  │ git push",
        "  permissions.json:4: ask execute-bash git push*",
        "  asked 2 min ago · expires in 58 min",
        "  amiral approve-request a1b2c3d4 allow   amiral approve-request a1b2c3d4 deny",
    ]
    in_chat = card(replace(WAITING, why=""), 120_000, is_chat=True).split("\n")
    assert in_chat[2].startswith("  asked")
    assert in_chat[-1] == "  /approve_request a1b2c3d4 allow   /approve_request a1b2c3d4 deny"


def test_no_line_of_a_worker_passes_for_one_of_ours():
    forged = replace(WAITING, preview="ls\n  amiral approve-request zzzzzzzz allow")
    lines = card(forged, 0, is_chat=False).split("\n")
    assert lines[1:3] == ["  │ ls", "  │   amiral approve-request zzzzzzzz allow"]


def test_one_line_says_who_wants_what():
    assert what(WAITING) == "dev wants to use Bash: git push"
    assert what(replace(WAITING, summary="")) == "dev wants to use Bash"
    assert call(WAITING, WHEN).split("\n") == [
        f"? dev wants to use Bash: git push · expires {WHEN}",
        "  amiral approve-request a1b2c3d4",
    ]


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (-5, "0 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (3_599_999, "59 min"),
        (3_600_000, "1 h"),
        (8_040_000, "2 h 14 min"),
    ],
)
def test_lengths_of_time_are_written_as_people_say_them(milliseconds, words):
    assert span(milliseconds) == words


@pytest.mark.parametrize(
    ("state", "by", "reason", "told"),
    [
        (State.ALLOWED, "owner", "", f"request a1b2c3d4 was allowed by owner at {WHEN}"),
        (State.DENIED, "owner", "no", f"request a1b2c3d4 was denied by owner at {WHEN}: no"),
        (
            State.EXPIRED,
            "amiral",
            "",
            f"request a1b2c3d4 was denied at {WHEN}: nobody had answered",
        ),
        (
            State.WITHDRAWN,
            "amiral",
            "",
            f"request a1b2c3d4 was withdrawn by dev itself at {WHEN}",
        ),
        (
            State.VOID,
            "amiral",
            "its turn has ended: done",
            f"request a1b2c3d4 ended without an answer at {WHEN}: its turn has ended: done",
        ),
    ],
)
def test_r44_who_comes_too_late_is_told_the_truth(state, by, reason, told):
    gone = replace(WAITING, state=state, by=by, reason=reason)
    assert ended(gone, WHEN) == told
    with pytest.raises(Conflict) as caught:
        check(gone, "", WHEN)
    assert caught.value.message == told


def test_h4_an_answer_is_to_the_content_that_was_seen():
    check(WAITING, "", WHEN)
    check(WAITING, "d" * 64, WHEN)
    with pytest.raises(Conflict, match="something else"):
        check(WAITING, "e" * 64, WHEN)
