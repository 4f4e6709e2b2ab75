"""The spec queue against a model, and what happens when wishes race."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from amiral.base import events as ev
from amiral.base.clock import iso_utc
from amiral.base.errors import Conflict, NotFound
from amiral.specs import rows
from amiral.specs.spec import Spec, Status, advance, create
from amiral.specs.store import Specs
from amiral.specs.tables import SPECS
from amiral.specs.transition import Wish, may
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock


def created(spec_id, conversation="consultant-owner"):
    return ev.SpecCreated(
        *(spec_id, f"Title {spec_id}", "P", "A", ("a", "b"), ("f",), "low", "consultant"),
        *(conversation, f"m{spec_id}"),
    )


def executing(spec_id, attempt=1):
    return ev.SpecExecuting(spec_id, attempt, "developer", f"m-{spec_id}", "b", "c0")


def done(spec_id):
    return ev.SpecDone(spec_id, 1, "c1", ("a", "b"), ("f",), "done")


@pytest.fixture
def specs(journal, clock):
    return Specs(journal, clock)


async def test_s0_9_an_approved_spec_waits_to_be_carried_out(specs, journal, clock):
    await journal.append(created("a1b2c3d4"))
    clock.jump(1000)
    spec = await specs.approve("a1b2c3d4", "owner")
    assert (spec.status, spec.by, spec.since_ms) == ("approved", "owner", clock.now_ms())
    assert rows.approved(journal.rows) == [spec]
    assert rows.drafts(journal.rows) == []


async def test_s0_10_a_rejected_spec_keeps_the_reason(specs, journal):
    await journal.append(created("a1b2c3d4"))
    spec = await specs.reject("a1b2c3d4", "owner", "too big")
    assert (spec.status, spec.reason) == ("rejected", "too big")
    assert rows.find(journal.rows, "a1b2c3d4") == spec


async def test_r44_of_two_approvals_one_has_its_effect_and_the_other_is_told(specs, journal, clock):
    await journal.append(created("a1b2c3d4"))
    before = journal.last_seq
    both = [specs.approve("a1b2c3d4", by) for by in ("owner", "second")]
    first, second = await asyncio.gather(*both, return_exceptions=True)
    assert isinstance(first, Spec)
    assert first.by == "owner"
    assert isinstance(second, Conflict)
    assert second.message.endswith(f"it is approved, by owner at {iso_utc(clock.now_ms())}")
    assert [one.name for one in journal.read(before)] == ["SpecApproved"]


async def test_r44_an_approval_after_a_rejection_is_refused(specs, journal):
    await journal.append(created("a1b2c3d4"))
    await specs.reject("a1b2c3d4", "owner", "no")
    with pytest.raises(Conflict, match=r"it is rejected, by owner at .*: no"):
        await specs.approve("a1b2c3d4", "owner")


async def test_r44_an_approval_of_what_was_seen_before_a_revision_is_refused(specs, journal):
    revised = ev.SpecRevised("a1b2c3d4", 2, "T2", "P", "A", ("a",), (), "low", "m2")
    await journal.append(created("a1b2c3d4"), ev.SpecRejected("a1b2c3d4"), revised)
    with pytest.raises(Conflict, match="at revision 2, not 1 any more"):
        await specs.approve("a1b2c3d4", "owner", 1)
    assert (await specs.approve("a1b2c3d4", "owner", 2)).title == "T2"


async def test_an_unknown_id_is_told_with_the_nearest(specs, journal):
    await journal.append(created("a1b2c3d4"))
    with pytest.raises(NotFound, match=r"no spec 'a1b2c3d5' \(did you mean a1b2c3d4\?\)"):
        await specs.approve("a1b2c3d5", "owner")
    assert (await specs.approve(" A1B2C3D4 ", "owner")).id == "a1b2c3d4"


async def test_approved_specs_wait_in_the_order_of_their_approval(specs, journal):
    await journal.append(created("s1"), created("s2"))
    for spec_id in ("s2", "s1"):
        await specs.approve(spec_id, "owner")
    assert [spec.id for spec in rows.approved(journal.rows)] == ["s2", "s1"]
    await journal.append(executing("s2"))
    carried = rows.executing(journal.rows)
    assert carried is not None
    assert (carried.id, carried.status, carried.attempt, carried.task) == (
        *("s2", "executing", 1, "m-s2"),
    )
    assert [spec.id for spec in rows.approved(journal.rows)] == ["s1"]


async def test_a_failed_attempt_waits_until_it_is_ordered_again(specs, journal):
    await journal.append(created("s1"))
    await specs.approve("s1", "owner")
    tested = ev.SpecTested("s1", 1, False, "pytest", "1 of 2 fails")
    await journal.append(executing("s1"), tested, ev.SpecFailed("s1", 1, "1 of 2 fails"))
    failed = rows.named(journal.rows, "s1")
    assert (failed.status, failed.is_failed, failed.tests) == ("approved", True, "1 of 2 fails")
    assert rows.approved(journal.rows) == []
    again = await specs.run_again("s1", "owner")
    assert (again.is_failed, again.reason) == (False, "1 of 2 fails")
    assert rows.approved(journal.rows) == [again]
    with pytest.raises(Conflict, match="cannot be carried out again: it is approved"):
        await specs.run_again("s1", "owner")


async def test_what_may_not_be_is_told_before_anything_is_done(specs, journal):
    await journal.append(created("s1"))
    assert specs.check("s1", Wish.APPROVE).id == "s1"
    with pytest.raises(Conflict, match="cannot be merged"):
        specs.check("s1", Wish.MERGE)


async def test_a_spec_that_is_rejected_is_sent_back_without_another_entry(specs, journal):
    await journal.append(created("s1"))
    first = await specs.send_back("s1", "owner", "smaller")
    before = journal.last_seq
    assert await specs.send_back("s1", "owner", "still smaller") == first
    assert journal.last_seq == before


async def test_p01_the_tables_are_the_same_when_filled_again(specs, journal):
    await journal.append(created("s1"), created("s2"), created("s3"))
    await specs.reject("s3", "owner", "no")
    await specs.approve("s1", "owner")
    await journal.append(executing("s1"), done("s1"))
    await specs.merged("s1", "c2", "owner")
    await specs.discarded("s1", "owner")
    before = rows.every(journal.rows)
    await journal.rebuild()
    assert rows.every(journal.rows) == before
    assert [spec.id for spec in before] == ["s1", "s2", "s3"]


WISHES: dict[Wish, Any] = {
    Wish.APPROVE: (lambda q, s: q.approve(s, "owner"), lambda s: ev.SpecApproved(s.id)),
    Wish.REJECT: (lambda q, s: q.reject(s, "owner", "r"), lambda s: ev.SpecRejected(s.id, "r")),
    Wish.SEND_BACK: (
        lambda q, s: q.send_back(s, "owner", "b"),
        lambda s: None if s.status == "rejected" else ev.SpecRejected(s.id, "b"),
    ),
    Wish.RUN: (lambda q, s: q.run_again(s, "owner"), lambda s: ev.SpecApproved(s.id, s.reason)),
    Wish.MERGE: (
        lambda q, s: q.merged(s, "c2", "owner"),
        lambda s: ev.SpecMerged(s.id, s.branch, "c2"),
    ),
    Wish.DISCARD: (lambda q, s: q.discarded(s, "owner"), lambda s: ev.SpecDiscarded(s.id)),
}
WORK = (
    (Wish.CLAIM, lambda s: executing(s.id, s.attempt + 1)),
    (Wish.TEST, lambda s: ev.SpecTested(s.id, s.attempt, True, "pytest", "ok")),
    (Wish.FAIL, lambda s: ev.SpecFailed(s.id, s.attempt, "broke")),
    (Wish.FINISH, lambda s: done(s.id)),
)
"""What execution enters by itself, each from the state that `check` allows it in."""


def allowed(spec, wish):
    """The table of S0.18 and its blanks, told again in other words."""
    status, has_work = spec.status, bool(spec.branch)
    return {
        Wish.APPROVE: status == "draft",
        Wish.REJECT: status in ("draft", "approved"),
        Wish.SEND_BACK: status in ("draft", "approved", "rejected"),
        Wish.RUN: status == "approved" and spec.is_failed,
        Wish.CLAIM: status == "approved",
        Wish.MERGE: status == "done" and has_work and not spec.merged,
        Wish.DISCARD: status != "executing" and has_work,
    }.get(wish, status == "executing")


class SpecLives(RuleBasedStateMachine):
    """Any wishes in any order: what the journal's tables say is what the model says."""

    ids = Bundle("ids")

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        path = Path(self.folder.name) / "state" / "journal.db"
        self.journal = self.runner.run(self.opened(path))
        self.queue = Specs(self.journal, self.clock)
        self.model = {}

    async def opened(self, path):
        return await Journal.open(path, self.clock, [SPECS])

    def teardown(self):
        self.runner.run(self.journal.close())
        self.runner.close()
        self.folder.cleanup()

    @rule(target=ids)
    def write_one(self):
        event = created(f"s{len(self.model)}")
        self.clock.jump(7)
        self.runner.run(self.journal.append(event))
        self.model[event.spec] = create(event, self.clock.now_ms())
        return event.spec

    @rule(spec_id=ids, wish=st.sampled_from(sorted(WISHES)))
    def wish(self, spec_id, wish):
        ask, make = WISHES[wish]
        self.clock.jump(7)
        old = self.model[spec_id]
        if allowed(old, wish):
            event, at = make(old), self.clock.now_ms()
            new = old if event is None else advance(old, event, "owner", at)
            assert self.runner.run(ask(self.queue, spec_id)) == new
            self.model[spec_id] = new
            return
        seq = self.journal.last_seq
        with pytest.raises(Conflict) as caught:
            self.runner.run(ask(self.queue, spec_id))
        assert spec_id in caught.value.message
        assert caught.value.next_step
        assert self.journal.last_seq == seq

    @rule(spec_id=ids, work=st.sampled_from(WORK))
    def carry_out(self, spec_id, work):
        wish, make = work
        old = self.model[spec_id]
        assert may(old, wish) == allowed(old, wish)
        is_busy = any(spec.status == "executing" for spec in self.model.values())
        if not may(old, wish) or (wish is Wish.CLAIM and is_busy):
            return
        event = make(old)
        self.clock.jump(7)
        self.runner.run(self.journal.append(event))
        self.model[spec_id] = advance(old, event, "amiral", self.clock.now_ms())

    @rule(spec_id=ids)
    def revise(self, spec_id):
        old = self.model[spec_id]
        if old.status is not Status.REJECTED:
            return
        number = old.revision + 1
        event = ev.SpecRevised(spec_id, number, f"T{number}", "P", "A", ("a",), (), "high", "m9")
        self.clock.jump(7)
        self.runner.run(self.journal.append(event))
        self.model[spec_id] = advance(old, event, "amiral", self.clock.now_ms())

    @invariant()
    def the_tables_say_what_the_model_says(self):
        found = {spec.id: spec for spec in rows.every(self.journal.rows)}
        assert found == self.model
        busy = [spec for spec in found.values() if spec.status is Status.EXECUTING]
        assert rows.executing(self.journal.rows) == (busy[0] if busy else None)
        assert len(busy) <= 1


TestSpecLives = SpecLives.TestCase
TestSpecLives.settings = settings(
    max_examples=15, stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow]
)
