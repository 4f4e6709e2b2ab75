"""The requests that wait: listed, found, answered once, whoever races."""

import asyncio

import pytest

from amiral.agents.approval import Approval, State
from amiral.agents.tables import ENGINE
from amiral.base import events as ev
from amiral.base.errors import Conflict, NotFound
from amiral.safety.approvals import Approvals
from amiral.store.brake import Brake
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock

HOUR_MS = 3_600_000


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def journal(tmp_path, clock):
    opened = await Journal.open(tmp_path / "state" / "journal.db", clock, (ENGINE,))
    yield opened
    await opened.close()


@pytest.fixture
def brake(tmp_path):
    brake = Brake(tmp_path / "brake")
    brake.prepare()
    return brake


@pytest.fixture
def woken():
    return []


@pytest.fixture
def approvals(journal, clock, brake, woken):
    return Approvals(journal, clock, brake, woken.append)


@pytest.fixture
def ask(journal, clock):
    async def ask(name="a1b2c3d4", turn="t1"):
        await journal.append(
            ev.ApprovalAsked(
                *(name, "m1", turn, "dev", "s1", f"ask-{name}", "Bash", "ls", "ls", "d" * 64),
                why="a rule",
                expires_ms=clock.now_ms() + HOUR_MS,
            )
        )

    return ask


async def test_what_waits_is_listed_the_oldest_first(approvals, ask, clock):
    assert approvals.waiting() == []
    await ask("a1b2c3d4")
    await clock.advance(1)
    await ask("e5f6a7b8", "t2")
    assert [one.id for one in approvals.waiting()] == ["a1b2c3d4", "e5f6a7b8"]
    await clock.advance(3599)
    assert [one.id for one in approvals.waiting()] == ["e5f6a7b8"]


async def test_an_answer_is_stored_with_who_gave_it_and_the_turn_is_woken(
    approvals, ask, woken, journal, clock
):
    await ask()
    answered = await approvals.answer(" A1B2C3D4 ", allow=True, by="owner", reason="go")
    assert (answered.state, answered.by, answered.reason) == (State.ALLOWED, "owner", "go")
    assert approvals.find("a1b2c3d4") == answered
    assert woken == ["dev"]
    (stamped,) = journal.read(1)
    assert (stamped.by, stamped.event.allowed, stamped.ts_ms) == ("owner", True, clock.now_ms())
    assert approvals.outcome(answered).startswith("request a1b2c3d4 was allowed by owner at 2027")


async def test_r44_of_two_answers_that_race_one_counts_and_the_other_hears_of_it(
    approvals, ask, woken
):
    await ask()
    both = (approvals.answer("a1b2c3d4", allow=allow, by="owner") for allow in (True, False))
    first, second = await asyncio.gather(*both, return_exceptions=True)
    assert isinstance(first, Approval)
    assert first.state is State.ALLOWED
    assert isinstance(second, Conflict)
    assert "was allowed by owner" in second.message
    assert woken == ["dev"]


async def test_a_request_past_its_time_is_denied_even_before_its_turn_has_noticed(
    approvals, ask, clock, journal
):
    await ask()
    await clock.advance(3600)
    with pytest.raises(Conflict, match=r"denied at 2027-01-15T09:00:00.000Z: nobody"):
        await approvals.answer("a1b2c3d4", allow=True, by="owner")
    assert len(journal.read(0)) == 1


async def test_nothing_is_answered_under_a_stop(approvals, ask, brake):
    await ask()
    stop = brake.engage("enough", "owner", 0)
    with pytest.raises(Conflict, match=f"stop {stop.stop_id} is on"):
        await approvals.answer("a1b2c3d4", allow=True, by="owner")
    brake.release(stop.stop_id)
    await approvals.answer("a1b2c3d4", allow=True, by="owner")


async def test_nothing_is_answered_whose_turn_is_ordered_to_end(approvals, ask, journal):
    await ask()
    await journal.append(
        ev.MessageQueued("m1", "dev", "dev-owner", "x", "owner"),
        ev.InterruptOrdered("t1", "m1", "dev", "interrupted", "by owner"),
    )
    with pytest.raises(Conflict, match="is being ended"):
        await approvals.answer("a1b2c3d4", allow=True, by="owner")


async def test_an_unknown_request_is_answered_with_the_nearest(approvals, ask):
    await ask()
    with pytest.raises(NotFound, match="did you mean a1b2c3d4"):
        await approvals.answer("a1b2c3d5", allow=True, by="owner")


async def test_the_tables_are_the_same_when_filled_again(approvals, ask, journal):
    for name in ("a1b2c3d4", "b1b2c3d4", "c1b2c3d4", "d1b2c3d4"):
        await ask(name)
    await approvals.answer("a1b2c3d4", allow=False, by="owner", reason="no")
    await journal.append(
        ev.ApprovalExpired("b1b2c3d4", "t1", "dev"),
        ev.ApprovalVoided("c1b2c3d4", "t1", "dev", "its CLI is gone"),
        ev.PermissionAnswered("t1", "dev", "s1", (1, 5), "ask-x", allowed=True),
    )
    before = [journal.rows(f"select * from {name}") for name in ("approvals", "given_answers")]
    assert [row[-4] for row in before[0]] == ["denied", "expired", "void", "waiting"]
    await journal.rebuild()
    after = [journal.rows(f"select * from {name}") for name in ("approvals", "given_answers")]
    assert before == after
    await journal.append(ev.TurnEnded("t1", "m1", "dev", "s1", (1, 9), "done"))
    assert journal.rows("select * from given_answers") == []
