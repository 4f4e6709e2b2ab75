"""A spec and how its events change it."""

import pytest

from amiral.base import events as ev
from amiral.specs.spec import Draft, Rules, Spec, Status, advance, create

CREATED = ev.SpecCreated("s", "T", "P", "A", ("a", "b"), ("f",), "low", "consultant", "c-o", "m1")


@pytest.fixture
def draft():
    return create(CREATED, 10)


def test_s0_16_a_spec_begins_as_a_draft_of_its_author(draft):
    assert draft == Spec(
        *("s", "T", "P", "A", ("a", "b"), ("f",), "low", Status.DRAFT),
        *(10, 10, 10, "c-o", "consultant", "m1", "consultant"),
    )


def test_s0_17_there_are_five_states():
    assert list(Status) == ["draft", "approved", "rejected", "executing", "done"]


def test_s0_35_nothing_is_approved_by_itself_and_twenty_drafts_may_wait():
    assert Rules() == Rules(auto_approve=False, most_drafts=20)


def life(spec, *events):
    states = []
    for at_ms, event in enumerate(events, 11):
        spec = advance(spec, event, "owner", at_ms)
        states.append(spec)
    return states


def test_s0_18_a_spec_goes_from_draft_to_done(draft):
    approved, executing, tested, done, merged, gone = life(
        draft,
        ev.SpecApproved("s"),
        ev.SpecExecuting("s", 1, "developer", "m2", "amiral/s", "b0"),
        ev.SpecTested("s", 1, True, "pytest", "2 passed"),
        ev.SpecDone("s", 1, "c0", ("met", ""), ("f",), "all done"),
        ev.SpecMerged("s", "amiral/s", "c1"),
        ev.SpecDiscarded("s"),
    )
    assert (approved.status, approved.by, approved.since_ms) == (Status.APPROVED, "owner", 11)
    assert (executing.status, executing.worker, executing.task) == ("executing", "developer", "m2")
    assert (tested.status, tested.tests, tested.since_ms) == ("executing", "2 passed", 12)
    assert (done.status, done.commit, done.ticks) == ("done", "c0", ("met", ""))
    assert (merged.merged, merged.since_ms, merged.updated_ms) == ("c1", 14, 15)
    assert (gone.branch, gone.base, gone.status, gone.commit) == ("", "", "done", "c0")


def test_s0_18_a_failed_attempt_leaves_it_approved_with_the_reason(draft):
    *_, failed, again, second = life(
        draft,
        ev.SpecApproved("s"),
        ev.SpecExecuting("s", 1, "developer", "m2", "amiral/s", "b0"),
        ev.SpecFailed("s", 1, "1 of 2 tests fails"),
        ev.SpecApproved("s"),
        ev.SpecExecuting("s", 2, "developer", "m3", "amiral/s", "b0"),
    )
    assert (failed.status, failed.is_failed) == ("approved", True)
    assert (failed.reason, failed.branch) == ("1 of 2 tests fails", "amiral/s")
    assert (again.is_failed, again.reason) == (False, "")
    assert (second.attempt, second.task) == (2, "m3")


def test_s0_18_a_rejected_spec_comes_back_as_a_draft_under_its_id(draft):
    rejected, revised = life(
        draft,
        ev.SpecRejected("s", "too big"),
        ev.SpecRevised("s", 2, "T2", "P2", "A2", ("c",), (), "high", "m3"),
    )
    assert (rejected.status, rejected.reason, rejected.by) == ("rejected", "too big", "owner")
    assert (revised.id, revised.status, revised.revision) == ("s", "draft", 2)
    assert (revised.by, revised.reason, revised.message) == ("consultant", "", "m3")
    assert revised.content() == Draft("T2", "P2", "A2", ("c",), (), "high", "s")
    assert revised.created_ms == 10
