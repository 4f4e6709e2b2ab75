"""What a turn was ordered, and how long it may take, outlives the process that was told."""

import pytest

from amiral.agents.beginning import READY_S
from amiral.agents.drivers import scripted
from amiral.agents.wish import Wish
from amiral.base import events as ev
from amiral.conversations.thread import OWNER, pair
from amiral.processes.answers import Fenced
from amiral.processes.link import ShimGone
from amiral.testbench.fake_clock import FakeClock

HELD = ("first", "message", "seen", "hold")
UNREADABLE = '{"is_open": "who knows"}'


async def held(works, *steps):
    """A turn whose CLI does no more than these steps."""
    works.stub(*(steps or HELD))
    await works.open()
    return await works.post()


@pytest.mark.parametrize("outcome", ["interrupted", "cancelled"])
async def test_p10_what_was_ordered_is_carried_out_by_the_next_process(works, outcome):
    works.plan.grace_s = 600.0
    message = await held(works)
    await works.state(message, "seen")
    if outcome == "cancelled":
        assert await works.inbox.cancel(message, "owner", "enough") == "seen"
    else:
        await works.inbox.interrupt("dev", Wish(outcome, "enough"), "owner")
    await works.crash()
    works.plan.grace_s = 0.1
    await works.open()
    end = await works.ended(message)
    assert (end.outcome, end.reason) == (outcome, "enough")
    (ordered,) = works.events(ev.InterruptOrdered)
    assert ordered == ev.InterruptOrdered(end.turn, message, "dev", outcome, "enough")


async def test_p10_a_turn_parked_just_after_it_was_ordered_to_end_ends(works):
    works.scenario("turns: [{limit: {window: week}}]")
    await works.open()
    message = await works.post()
    park = await works.parked(message)
    await works.journal.append(ev.InterruptOrdered(park.turn, message, "dev", "cancelled", "no"))
    works.inbox.wake("dev")
    end = await works.ended(message)
    assert (end.turn, end.outcome, end.reason) == (park.turn, "cancelled", "no")
    assert (await works.answer("next")).outcome == "done"


async def test_p10_a_message_that_came_back_after_it_was_ordered_to_end_is_not_begun_again(works):
    works.plan.clock = FakeClock()
    works.stub("first", ["exit", 1])
    await works.open()
    message = await works.post()
    await works.until(lambda: works.events(ev.MessageReturned))
    await works.journal.append(ev.InterruptOrdered("", message, "dev", "cancelled", "no"))
    assert (await works.ended_in_time(message)).outcome == "cancelled"
    assert works.given() == []


async def test_a_turn_is_not_given_its_time_anew_by_every_process(works):
    clock = works.plan.clock = FakeClock()
    works.plan.longest_s, works.plan.grace_s = 10_000.0, 1.0
    message = await held(works)
    await works.state(message, "seen")
    for _ in range(2):
        await works.crash()
        await clock.advance(4_990)
        await works.open()
    assert not works.events(ev.TurnEnded)
    began = clock.monotonic_s()
    assert (await works.ended_in_time(message)).outcome == "timed_out"
    assert clock.monotonic_s() - began < 4_990


async def test_a_cli_that_never_gets_ready_is_ended_and_its_message_goes_again(works):
    clock = works.plan.clock = FakeClock()
    message = await held(works, "first", "mute", "hold")
    await works.state(message, "injected")
    began = clock.monotonic_s()
    assert (await works.ended_in_time(message)).outcome == "done"
    assert len(works.events(ev.MessageReturned)) == 1
    assert clock.monotonic_s() - began > READY_S


async def spoil(works):
    """Have the next process find a snapshot it cannot read."""
    await works.journal.append(ev.OutputRead(works.session(), (1, 0), UNREADABLE))
    await works.crash()
    await works.open()


async def test_a_session_that_cannot_be_read_is_ended_and_another_one_serves(works):
    works.scenario("default: {say: ok}")
    await works.open()
    await works.answer()
    cli = works.meta().cli
    await spoil(works)
    assert (await works.answer("again")).outcome == "done"
    (ended,) = works.events(ev.SessionEnded)
    assert ended.reason == "it cannot be read"
    (warning,) = works.events(ev.WarningRaised)
    assert "is_open" in warning.text
    assert not works.is_alive(cli)


async def test_a_session_of_a_driver_that_is_gone_is_ended_and_another_one_serves(works):
    works.scenario("default: {say: ok}")
    works.plan.drivers["old"] = scripted.DRIVER
    await works.open()
    names = ("s1", "dev", pair(OWNER, "dev"), "older", "/shop", "/none", "seat", "", "k")
    await works.journal.append(ev.SessionOpened(*names))
    assert (await works.answer()).outcome == "done"
    (ended,) = works.events(ev.SessionEnded)
    assert (ended.session, ended.reason) == ("s1", "it cannot be read")


@pytest.mark.parametrize(
    ("steps", "outcome"), [(HELD, "interrupted"), (("first", "opened", "hold"), "unsure")]
)
async def test_r41_the_record_decides_about_a_turn_whose_session_cannot_be_read(
    works, steps, outcome
):
    message = await held(works, *steps)
    await works.until(lambda: message in works.inputs() if works.events(ev.TurnStarted) else 0)
    await works.state(message, "seen" if outcome == "interrupted" else "injected")
    cli = works.meta().cli
    await spoil(works)
    end = await works.ended(message)
    assert end.outcome == outcome
    assert "its session cannot be read" in end.reason
    assert not works.is_alive(cli)
    assert len(works.events(ev.SessionEnded)) == 1


async def test_r17_a_session_whose_context_was_lost_is_never_used_again(works):
    """Killed between the commit of the loss and the end of the session."""
    works.scenario("default: {say: ok}")
    await works.open()
    await works.answer()
    row = works.row()
    lost = ev.ContextLost(row.conversation, "dev", row.driver, row.fresh_key, "gone")
    await works.journal.append(lost)
    assert works.row().state == "lost"
    await works.crash()
    await works.open()
    assert (await works.answer("again")).outcome == "done"
    assert len(works.events(ev.SessionOpened)) == 2


class Fencing:
    """A link that is fenced out and gone, put in place as soon as a lost context is committed."""

    def __init__(self, journal, works):
        self._journal, self._works = journal, works

    def __getattr__(self, name):
        return getattr(self._journal, name)

    def on_notice(self, take):
        take(Fenced(99))

    def close(self):
        pass

    async def close_input(self):
        raise ShimGone("gone")

    async def append(self, *events, **more):
        seq = await self._journal.append(*events, **more)
        if any(isinstance(event, ev.ContextLost) for event in events):
            (await self._works.sessions.find(self._works.row())).connect(self)
        return seq


async def test_r17_a_lost_session_is_ended_though_the_last_thing_written_to_it_failed(works):
    works.plan.wrap = lambda journal: Fencing(journal, works)
    lost = {"how": "context_lost", "text": "", "reason": "gone"}
    message = await held(works, "first", "message", ["final", lost], "hold")
    assert (await works.ended(message)).outcome == "done"
    (ended,) = works.events(ev.SessionEnded)
    assert ended.reason == "context lost"
    assert not works.is_alive(works.meta(ended.session).cli)


async def test_r38_a_full_disk_is_told_once_a_session(works):
    message = await held(works)
    await works.state(message, "seen")
    session = await works.sessions.find(works.row())
    for _ in range(2):
        session.disk_full = "No space left on device"
        session.woken.set()
        await works.until(lambda: works.events(ev.WarningRaised))
        await works.until(lambda: not session.woken.is_set())
    (warning,) = works.events(ev.WarningRaised)
    assert warning.text == "the output of dev cannot be stored: No space left on device"
