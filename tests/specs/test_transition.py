"""What may follow which state, and how a refusal reads."""

from dataclasses import replace

import pytest

from amiral.base import events as ev
from amiral.base.errors import Conflict
from amiral.specs.spec import Status, create
from amiral.specs.transition import Wish, check, may, way_out

DRAFT = create(
    ev.SpecCreated("a1b2c3d4", "T", "P", "A", ("a",), (), "low", "consultant", "c-o", "m1"), 10
)
REVISED = replace(DRAFT, revision=2)
APPROVED = replace(DRAFT, status=Status.APPROVED, by="owner")
FAILED = replace(APPROVED, is_failed=True, reason="tests fail", branch="b")
REJECTED = replace(DRAFT, status=Status.REJECTED, by="owner", reason="too big")
EXECUTING = replace(APPROVED, status=Status.EXECUTING, worker="developer", branch="b")
DONE = replace(EXECUTING, status=Status.DONE, by="amiral")
MERGED = replace(DONE, merged="c1")
GONE = replace(DONE, branch="")
SPECS = (DRAFT, APPROVED, FAILED, REJECTED, EXECUTING, DONE, MERGED, GONE)

ALLOWED = {
    Wish.APPROVE: {DRAFT},
    Wish.REJECT: {DRAFT, APPROVED, FAILED},
    Wish.SEND_BACK: {DRAFT, APPROVED, FAILED, REJECTED},
    Wish.REVISE: {REJECTED},
    Wish.RUN: {FAILED},
    Wish.CLAIM: {APPROVED, FAILED},
    Wish.TEST: {EXECUTING},
    Wish.FAIL: {EXECUTING},
    Wish.FINISH: {EXECUTING},
    Wish.MERGE: {DONE},
    Wish.DISCARD: {FAILED, DONE, MERGED},
}


@pytest.mark.parametrize("wish", Wish)
def test_s0_18_only_the_transitions_of_the_table_may_be_made(wish):
    assert {spec for spec in SPECS if may(spec, wish)} == ALLOWED[wish]
    for spec in ALLOWED[wish]:
        check(spec, wish, "noon")


@pytest.mark.parametrize(
    ("spec", "wish", "message", "next_step"),
    [
        (
            APPROVED,
            Wish.APPROVE,
            "approved: it is approved, by owner at noon",
            "it waits for its turn; amiral reject a1b2c3d4 takes the approval back",
        ),
        (
            REJECTED,
            Wish.APPROVE,
            "approved: it is rejected, by owner at noon: too big",
            "amiral spec revise a1b2c3d4 has it written again",
        ),
        (
            REVISED,
            Wish.RUN,
            "carried out again: it is a draft (revision 2), by consultant at noon",
            "amiral approve a1b2c3d4, or amiral reject a1b2c3d4",
        ),
        (
            FAILED,
            Wish.APPROVE,
            "approved: its last attempt failed at noon: tests fail",
            "amiral spec run a1b2c3d4, or amiral reject a1b2c3d4",
        ),
        (
            EXECUTING,
            Wish.REJECT,
            "rejected: developer carries it out since noon",
            "amiral interrupt developer stops the work",
        ),
        (
            DONE,
            Wish.REJECT,
            "rejected: it is done, by amiral at noon",
            "amiral spec show a1b2c3d4",
        ),
        (
            MERGED,
            Wish.MERGE,
            "merged: it is done, by amiral at noon; its work was merged as c1",
            "amiral spec show a1b2c3d4",
        ),
        (
            GONE,
            Wish.DISCARD,
            "discarded: it is done, by amiral at noon; it has no work in a worktree",
            "amiral spec show a1b2c3d4",
        ),
        (
            EXECUTING,
            Wish.DISCARD,
            "discarded: developer carries it out since noon",
            "amiral interrupt developer stops the work",
        ),
    ],
)
def test_r44_a_refusal_names_the_state_who_and_when_and_the_way_out(spec, wish, message, next_step):
    with pytest.raises(Conflict) as caught:
        check(spec, wish, "noon")
    assert caught.value.message == f"spec a1b2c3d4 cannot be {message}"
    assert caught.value.next_step == next_step
    assert caught.value.exit_code == 6
    assert way_out(spec) == next_step
