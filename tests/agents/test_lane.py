"""A lane goes on whatever goes wrong: told once, tried with patience, given up when hopeless."""

from types import SimpleNamespace

from amiral.agents.drivers import scripted
from amiral.agents.lane import IDLE_S, MOST_FAULTS, Engine, Lane
from amiral.agents.sessions import Sessions
from amiral.agents.wish import Wish
from amiral.base import events as ev
from amiral.base.errors import Broken, NotFound
from amiral.testbench.fake_clock import FakeClock


class Faulty(scripted.Scripted):
    """A driver with a defect: it cannot read what a worker says, so many times."""

    def __init__(self, times):
        self.times = times

    def read(self, state, line):
        if b'"said"' in line and self.times:
            self.times -= 1
            raise RuntimeError("a defect")
        return super().read(state, line)


def faulty(works, times):
    works.plan.drivers = {"scripted": Faulty(times)}
    works.scenario("default: {say: ok}")


async def test_a_fault_in_a_turn_is_told_and_the_turn_goes_on_from_the_journal(works):
    works.plan.clock = FakeClock()
    faulty(works, 2)
    await works.open()
    message = await works.post()
    end = await works.ended_in_time(message)
    assert (end.outcome, end.text) == ("done", "ok")
    (warning,) = works.events(ev.WarningRaised)
    assert "a defect" in warning.text
    assert works.executed() == [message]
    assert [one.text for one in works.events(ev.WorkerSaid)] == ["ok"]
    assert len(works.events(ev.MessageSeen)) == 1


async def test_a_fault_that_stays_ends_the_turn_and_the_queue_goes_on(works):
    works.plan.clock = FakeClock()
    faulty(works, MOST_FAULTS)
    await works.open()
    message, later = await works.post("a"), await works.post("b")
    end = await works.ended_in_time(message)
    assert end.outcome == "failed"
    assert "RuntimeError('a defect')" in end.reason
    assert (await works.ended_in_time(later)).outcome == "done"
    assert len(works.events(ev.WarningRaised)) == 1
    assert works.events(ev.SessionEnded)[0].reason == "its turn cannot go on"
    assert works.executed() == [message, later]


async def test_a_wish_outlives_a_fault(works):
    clock = works.plan.clock = FakeClock()
    faulty(works, 1)
    works.scenario("turns: [{say: o k, chunk: 1, hang: 0, pause_ms: 200}]")
    await works.open()
    message = await works.post()
    await works.until(lambda: works.events(ev.WarningRaised))
    await works.inbox.interrupt("dev", Wish("cancelled", "enough"), "owner")
    await clock.advance(1)
    assert (await works.ended(message)).outcome == "cancelled"


async def test_a_wish_is_for_its_own_message_alone(works):
    clock = works.plan.clock = FakeClock()
    works.plan.find_cli = _broken_times(works, 1)
    works.scenario("default: {say: ok}")
    await works.open()
    message, later = await works.post("a"), await works.post("b")
    await works.until(lambda: works.events(ev.WarningRaised))
    await works.inbox.interrupt("dev", Wish("interrupted", "enough"), "owner")
    assert await works.inbox.cancel(message, "owner", "x") == "queued"
    await clock.advance(1)
    assert (await works.ended_in_time(later)).outcome == "done"


def _broken_times(works, times, error=None):
    """A machine in trouble: the CLI cannot be looked for, so many times."""
    find, tries = works.plan.cli, []

    def find_cli(driver):
        tries.append(driver)
        if len(tries) <= times:
            raise error or Broken("the disk is gone")
        works.plan.find_cli = None
        return find(driver)

    works.tries = tries
    return find_cli


async def test_r38_trouble_of_the_machine_is_told_once_and_waited_out(works):
    clock = works.plan.clock = FakeClock()
    works.plan.find_cli = _broken_times(works, 9)
    works.scenario("default: {say: ok}")
    await works.open()
    message = await works.post()
    for number, pause_s in enumerate((0.5, 1, 2, 4, 8, 16, 30, 30, 30), start=1):
        await works.until(lambda n=number: len(works.tries) == n)
        await clock.until_sleeping(1)
        await clock.advance(pause_s - 0.25)
        assert len(works.tries) == number
        await clock.advance(0.25)
    assert (await works.ended(message)).outcome == "done"
    assert len(works.events(ev.WarningRaised)) == 1


async def test_a_hopeless_error_ends_the_message_at_once(works):
    works.plan.find_cli = _broken_times(works, 1, NotFound("no program `x`", "install it"))
    works.scenario("default: {say: ok}")
    await works.open()
    message, later = await works.post("a"), await works.post("b")
    end = await works.ended(message)
    assert (end.outcome, end.reason) == ("failed", "no program `x`. install it")
    assert (await works.ended(later)).outcome == "done"
    assert [one.message for one in works.events(ev.TurnStarted)] == [message, later]
    assert not works.events(ev.WarningRaised)


async def test_a_message_whose_worker_is_gone_ends_with_the_known_ones_named(works):
    works.scenario("default: {say: ok, hang: 60}")
    works.plan.workers["old"] = works.make_worker("old", tools=("Read",))
    await works.open()
    running, waiting = await works.post(worker="old"), await works.post("b", "old")
    await works.state(running, "seen")
    cli = works.meta().cli
    await works.crash()
    del works.plan.workers["old"]
    await works.open()
    for message in (running, waiting):
        end = await works.ended(message)
        assert (end.outcome, end.reason) == ("failed", "no worker 'old'. known: dev")
    assert not works.is_alive(cli)
    assert len(works.events(ev.SessionEnded)) == 1


async def test_an_idle_workers_cli_is_ended_and_resumed_later(works):
    clock = works.plan.clock = FakeClock()
    works.scenario("default: {say: ok}")
    await works.open()
    await works.answer("one")
    await clock.until_sleeping(1)
    cli = works.meta().cli
    await clock.advance(IDLE_S - 1)
    assert works.is_alive(cli)
    await clock.advance(1.1)
    (ended,) = await works.until(lambda: works.events(ev.SessionEnded))
    assert (ended.reason, ended.exit_code) == ("idle", 0)
    assert not works.is_alive(cli)
    await works.answer("two")
    first, second = works.events(ev.SessionOpened)
    assert second.resume_key == first.fresh_key


async def test_the_session_of_an_idle_worker_is_found_again_after_a_crash_and_ended(works):
    clock = works.plan.clock = FakeClock()
    works.scenario("default: {say: ok}")
    await works.open()
    await works.answer()
    await works.crash()
    await works.open()
    await clock.until_sleeping(1)
    await clock.advance(IDLE_S + 1)
    await works.until(lambda: works.events(ev.SessionEnded))
    assert not works.is_alive(works.meta().cli)


async def test_work_puts_the_idle_hour_off(works):
    clock = works.plan.clock = FakeClock()
    works.scenario("default: {say: ok}")
    await works.open()
    for _ in range(3):
        await works.answer()
        await clock.until_sleeping(1)
        await clock.advance(IDLE_S - 1)
    assert not works.events(ev.SessionEnded)


async def test_a_parked_workers_cli_is_ended_too_and_its_turn_goes_on_later(works):
    clock = works.plan.clock = FakeClock()
    works.scenario("turns: [{limit: {window: week}}, {say: the rest}]")
    await works.open()
    message = await works.post()
    await works.parked(message)
    await clock.until_sleeping(1)
    await clock.advance(IDLE_S + 1)
    await works.until(lambda: works.events(ev.SessionEnded))
    await works.inbox.resume("dev", "owner")
    assert (await works.ended(message)).text == "the rest"


async def test_r19_a_session_that_a_newer_process_owns_is_left_alone(works):
    clock = works.plan.clock = FakeClock()
    works.scenario("default: {say: ok}")
    for _ in range(2):
        await works.open()
        await works.answer()
        await works.crash()
    await works.open(token=1)
    message = await works.post()
    (warning,) = await works.until(lambda: works.events(ev.WarningRaised))
    assert "another process of amiral took session" in warning.text
    await clock.until_sleeping(1)
    await clock.advance(IDLE_S)
    assert works.state_of(message) == "queued"
    assert works.is_alive(works.meta().cli)
    await works.crash()
    await works.open()
    assert (await works.ended(message)).outcome == "done"
    assert len(works.events(ev.SessionOpened)) == 1


class Troubled(Sessions):
    """Sessions that cannot be ended."""

    terminals = SimpleNamespace(keeps_waiting=lambda _worker: False)  # type: ignore[assignment]

    def __init__(self):
        self.asked = 0

    async def rest(self, _worker):
        self.asked += 1
        raise RuntimeError("a defect")


async def test_faults_between_two_turns_are_not_the_next_messages(works):
    clock = works.plan.clock = FakeClock()
    await works.open()
    sessions, ran = Troubled(), []

    async def run(message, _control):
        ran.append(message.message)
        who = ("t1", message.message, message.worker)
        await works.journal.append(ev.TurnEnded(*who, "", (1, 0), "done"))

    lane = Lane("dev", Engine(works.journal, clock, works.brake, sessions, run))
    for number in range(1, MOST_FAULTS + 2):
        await clock.until_sleeping(1)
        await clock.advance(IDLE_S + 31)
        await works.until(lambda n=number: sessions.asked >= n)
    await works.journal.append(ev.MessageQueued("m1", "dev", "dev-owner", "x", "owner"))
    lane.wake()
    assert (await works.ended_in_time("m1")).outcome == "done"
    assert ran == ["m1"]
    assert len(works.events(ev.WarningRaised)) == 1
    await lane.stop()
