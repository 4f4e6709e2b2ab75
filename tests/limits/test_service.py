"""The workers held by a limit: listed, let go on or given up, and nothing else."""

import pytest

from amiral.agents.tables import ENGINE
from amiral.base import events as ev
from amiral.base.errors import NotFound
from amiral.limits.limit import Limit
from amiral.limits.service import Limits
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock

START_MS = 1_800_000_000_000


class Orders:
    """An inbox that notes what it was asked."""

    def __init__(self):
        self.given = []

    async def resume(self, worker, by):
        if worker == "idle":
            raise NotFound("worker idle is not limited", "amiral limits")
        self.given.append(("resume", worker, by))

    async def cancel_parked(self, worker, by, reason):
        self.given.append(("cancel", worker, by, reason))


@pytest.fixture
async def journal(tmp_path):
    journal = await Journal.open(tmp_path / "j" / "journal.db", FakeClock(START_MS), (ENGINE,))
    yield journal
    await journal.close()


@pytest.fixture
def orders():
    return Orders()


async def park(journal, worker, resets_at_ms, message="m1"):
    who = (f"t-{worker}", message, worker, "s1", (1, 1))
    await journal.append(ev.TurnParked(*who, "week", resets_at_ms, "cli", "wait"))


async def test_each_limit_is_listed_with_its_hour_and_what_that_means_now(journal, orders):
    clock = FakeClock(START_MS)
    limits = Limits(orders, journal, clock)
    await park(journal, "one", START_MS + 5000)
    await park(journal, "two", None)
    first, second = limits.current()
    assert first == Limit("one", "", "week", START_MS + 5000, "cli", "waiting", START_MS, "wait")
    assert (second.worker, second.state) == ("two", "unknown")
    await clock.advance(5)
    assert limits.current()[0].state == "due"


async def test_a_worker_that_went_on_is_not_listed_any_more(journal, orders):
    limits = Limits(orders, journal, FakeClock())
    await park(journal, "one", None)
    await journal.append(ev.ResumeOrdered("t-one", "m1", "one"))
    assert limits.current() == []


async def test_orders_are_handed_to_the_inbox_with_who_gave_them(journal, orders):
    limits = Limits(orders, journal, FakeClock())
    await limits.resume("one", "owner")
    await limits.cancel("two", "owner")
    assert orders.given == [
        ("resume", "one", "owner"),
        ("cancel", "two", "owner", "cancelled while limited"),
    ]


async def test_a_worker_that_is_not_limited_is_said_so(journal, orders):
    with pytest.raises(NotFound, match="idle is not limited"):
        await Limits(orders, journal, FakeClock()).resume("idle", "owner")
