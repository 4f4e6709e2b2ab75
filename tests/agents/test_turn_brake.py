"""What turns do under a stop or a freeze, and what they leave on disk for a stop without us."""

import json
from dataclasses import replace

import pytest

from amiral.base import events as ev
from amiral.base.errors import Conflict
from amiral.store.brake import Brake
from amiral.testbench.fake_clock import FakeClock

SLOW = "turns:\n  - {use: {tool: bash, args: {command: 'echo hi'}}}\n  - {hang: 60}\n"
DAY_S = 24 * 3600


def note(works):
    path = works.sessions_folder / works.session() / "turn.json"
    return json.loads(path.read_text()) if path.exists() else None


async def test_a_running_turn_leaves_its_last_act_and_the_lines_that_interrupt_it(works):
    works.scenario(SLOW)
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    await works.until(lambda: (note(works) or {}).get("act"))
    told = note(works)
    assert told["act"] == "Bash: echo hi"
    (line,) = told["interrupt"]
    turn = works.last(ev.TurnStarted, message).turn
    assert (line["id"], json.loads(line["data"])["type"]) == (f"interrupt-{turn}", "interrupt")
    await works.inbox.cancel(message, "owner", "enough")
    await works.ended(message)
    await works.until(lambda: note(works) is None)


async def test_a_turn_whose_interrupt_came_from_a_stop_ends_as_stopped(works):
    """As a stop without us writes it: by the prepared line, under the same id, once."""
    works.scenario(SLOW)
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    stop = works.brake.engage("enough", "owner", 1)
    session = await works.sessions.find(works.row())
    session.woken.set()
    end = await works.ended(message)
    assert (end.outcome, end.reason) == ("stopped", f"emergency stop {stop.stop_id}: enough")
    assert [key for key in works.inputs() if key.startswith("interrupt")] != []


async def test_r36_a_stop_of_one_worker_holds_its_queue_and_no_other(works):
    works.plan.workers["other"] = replace(works.make_worker(), id="other")
    works.brake = Brake(works.home / "brake", "p1")
    await works.open()
    stop = works.brake.engage("enough", "owner", 1, "p1/dev")
    with pytest.raises(Conflict, match=f"stop {stop.stop_id} is on"):
        await works.post()
    assert (await works.answer(worker="other")).outcome == "done"
    await works.journal.append(ev.MessageQueued("m1", "dev", "dev-owner", "x", "owner"))
    works.inbox.wake("dev")
    assert (await works.answer(worker="other")).outcome == "done"
    assert works.state_of("m1") == "queued"
    works.brake.release(stop.stop_id)
    assert (await works.ended("m1")).outcome == "done"


async def test_r36_nothing_starts_in_a_day_under_a_stop_and_none_is_lost(works):
    """Queued messages, a parked turn and one in mid turn; the stop has no age."""
    works.plan.clock = FakeClock()
    works.plan.workers["other"] = replace(works.make_worker(), id="other")
    works.scenario("turns: [{limit: {window: five_hour, resets_in_s: 3600}}]\ndefault: {say: ok}")
    await works.open()
    limited = await works.post()
    while not works.events(ev.TurnParked):
        await works.plan.clock.advance(0.1)
    stop = works.brake.engage("enough", "owner", 1)
    await works.journal.append(ev.MessageQueued("m1", "other", "other-owner", "x", "owner"))
    works.inbox.wake("other")
    launched = len(works.events(ev.SessionLaunched))
    for _ in range(DAY_S // 60):
        await works.plan.clock.advance(60)
    await works.crash()
    await works.open()
    for _ in range(60):
        await works.plan.clock.advance(60)
    assert len(works.events(ev.SessionLaunched)) == launched
    assert (works.state_of("m1"), works.state_of(limited)) == ("queued", "parked")
    with pytest.raises(Conflict):
        await works.inbox.resume("dev", "owner")
    works.brake.release(stop.stop_id)
    while len(works.events(ev.TurnParked)) == 1:
        await works.plan.clock.advance(0.1)
    assert len(works.events(ev.SessionLaunched)) == launched + 1


async def test_a_frozen_turn_does_not_age(works):
    works.plan.clock = FakeClock()
    works.plan.longest_s = 600.0
    works.scenario("turns:\n  - {hang: 600}\n")
    await works.open()
    message = await works.post()
    while works.state_of(message) != "seen":
        await works.plan.clock.advance(0.1)
    works.brake.freeze("a moment", "owner", 1)
    for _ in range(120):
        await works.plan.clock.advance(60)
    assert works.events(ev.TurnEnded) == []
    works.brake.thaw("all")
    for _ in range(8):
        await works.plan.clock.advance(60)
    assert works.events(ev.TurnEnded) == []
    assert (await works.ended_in_time(message)).outcome == "timed_out"
