"""The inbox: what it accepted is carried out once, in order, and can be taken back."""

import asyncio

import pytest

from amiral.agents.wish import Wish
from amiral.base import events as ev
from amiral.base.errors import Conflict, NotFound

SLOW = "default: {say: ok, hang: 60}"


async def test_messages_of_one_worker_are_answered_in_the_order_they_came_r41(works):
    works.scenario("default: {say: ok}")
    await works.open()
    messages = [await works.post(f"n={number}") for number in range(8)]
    for message in messages:
        assert (await works.ended(message)).outcome == "done"
    assert works.executed() == messages
    ends = [one.message for one in works.events(ev.TurnEnded)]
    assert ends == messages


async def test_r41_the_first_message_while_the_cli_starts_is_not_lost(works):
    works.scenario("default: {say: ok}")
    await works.open()
    both = await asyncio.gather(works.post("a"), works.post("b"))
    await works.until(lambda: works.events(ev.SessionOpened))
    for message in (*both, await works.post("c")):
        await works.ended(message)
    assert len(works.executed()) == 3


async def test_p01_what_was_accepted_survives_a_crash_before_anything_was_done(works):
    works.scenario("default: {say: ok}")
    await works.open()
    messages = [await works.post(f"n={number}") for number in range(3)]
    await works.crash()
    await works.open()
    for message in messages:
        assert (await works.ended(message)).outcome == "done"
    assert works.executed() == messages


async def test_p01_a_message_posted_again_under_its_id_is_queued_once(works):
    works.scenario("default: {say: ok}")
    await works.open()
    await works.post("once", message="m1")
    await works.ended("m1")
    await works.post("once", message="m1")
    await works.answer("another")
    assert len(works.events(ev.MessageQueued)) == 2
    assert works.executed().count("m1") == 1


async def test_a_message_to_an_unknown_worker_is_refused_with_the_known_ones(works):
    await works.open()
    with pytest.raises(NotFound) as caught:
        await works.post(worker="nobody")
    assert caught.value.next_step == "known: dev"
    assert not works.events()


async def test_r36_nothing_is_accepted_while_a_stop_is_on_and_the_way_out_is_named(works):
    works.scenario("default: {say: ok}")
    await works.open()
    stop = works.brake.engage("too much", "owner", 1)
    with pytest.raises(Conflict, match="too much") as caught:
        await works.post()
    assert caught.value.next_step == f"release it to go on: amiral release {stop.stop_id}"
    assert not works.events(ev.MessageQueued)
    works.brake.release(stop.stop_id)
    assert (await works.answer()).outcome == "done"


async def test_r36_what_waits_is_not_started_while_a_stop_is_on(works):
    works.scenario(SLOW)
    await works.open()
    running, waiting = await works.post("a"), await works.post("b")
    await works.state(running, "seen")
    stop = works.brake.engage("too much", "owner", 1)
    cli = works.meta().cli
    works.kill(cli)
    end = await works.ended(running)
    assert (end.outcome, end.reason) == (
        "stopped",
        f"emergency stop {stop.stop_id}: too much",
    )
    await works.crash()
    works.scenario("default: {say: ok}")
    await works.open()
    await works.until(lambda: works.inbox.is_running("dev") is False)
    assert works.state_of(waiting) == "queued"
    works.brake.release(stop.stop_id)
    assert (await works.ended(waiting)).outcome == "done"
    assert len(works.events(ev.SessionOpened)) == 2


async def test_r36_a_turn_killed_by_a_stop_is_settled_by_the_next_process_too(works):
    works.scenario(SLOW)
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    meta = works.meta()
    await works.crash()
    works.brake.engage("too much", "owner", 1)
    works.kill(meta.shim)
    await works.open()
    assert (await works.ended(message)).outcome == "stopped"
    assert not works.is_alive(meta.cli)


async def test_r36_a_message_is_not_written_to_a_cli_that_survived_a_stop(works):
    works.stub("mute", "answer", "opened")
    await works.open()
    message = await works.post()
    await works.state(message, "injected")
    stop = works.brake.engage("too much", "owner", 1)
    session = await works.sessions.find(works.row())
    await session.write([works.input("answer")])
    await works.until(lambda: works.events(ev.SessionIdObserved))
    for _ in range(3):
        session.woken.set()
        await works.until(lambda: not session.woken.is_set())
    assert message not in works.inputs()
    works.brake.release(stop.stop_id)
    assert (await works.ended(message)).outcome == "done"


async def test_a_waiting_message_can_be_taken_back(works):
    works.scenario(SLOW)
    await works.open()
    running, waiting = await works.post("a"), await works.post("b")
    await works.state(running, "seen")
    assert await works.inbox.cancel(waiting, "owner", "not needed") == "queued"
    assert works.state_of(waiting) == "cancelled"
    (cancelled,) = works.events(ev.MessageCancelled)
    assert cancelled == ev.MessageCancelled(waiting, "dev", "not needed")
    with pytest.raises(Conflict, match="is cancelled already"):
        await works.inbox.cancel(waiting, "owner", "again")


async def test_a_running_message_that_is_taken_back_is_interrupted(works):
    works.scenario("turns: [{say: ok, hang: 60}]")
    await works.open()
    running, later = await works.post("a"), await works.post("b")
    await works.state(running, "seen")
    assert await works.inbox.cancel(running, "owner", "not needed") == "seen"
    end = await works.ended(running)
    assert (end.outcome, end.reason) == ("cancelled", "not needed")
    assert (await works.ended(later)).outcome == "done"
    assert works.executed() == [running, later]


async def test_p07_a_parked_message_that_is_taken_back_is_ended_and_no_longer_held(works):
    works.scenario("turns: [{limit: {window: week}}]")
    await works.open()
    message, later = await works.post("a"), await works.post("b")
    park = await works.parked(message)
    assert await works.inbox.cancel(message, "owner", "not needed") == "parked"
    end = await works.ended(message)
    assert (end.turn, end.outcome) == (park.turn, "cancelled")
    assert (await works.ended(later)).outcome == "done"


async def test_a_message_that_has_ended_cannot_be_taken_back(works):
    works.scenario("default: {say: ok}")
    await works.open()
    end = await works.answer()
    with pytest.raises(Conflict, match=f"message {end.message} is done already"):
        await works.inbox.cancel(end.message, "owner", "too late")


async def test_an_unknown_message_cannot_be_taken_back(works):
    await works.open()
    with pytest.raises(NotFound, match="no message nope"):
        await works.inbox.cancel("nope", "owner", "x")


async def test_p07_a_message_taken_back_while_its_cli_starts_never_runs(works):
    works.scenario("default: {say: ok}")
    await works.open()
    for _ in range(4):
        message = await works.post()
        opened = len(works.events(ev.SessionOpened))
        await works.until(lambda n=opened: len(works.events(ev.SessionOpened)) >= max(1, n))
        state = await works.inbox.cancel(message, "owner", "changed my mind")
        if state == "queued":
            await works.answer("next")
            assert works.state_of(message) == "cancelled"
            assert message not in works.executed()
            assert not works.events(ev.TurnStarted, message)
            return
        await works.ended(message)
    pytest.fail("no message was caught while its CLI started")


async def test_a_worker_that_does_nothing_cannot_be_interrupted(works):
    await works.open()
    with pytest.raises(Conflict, match="dev is not working"):
        await works.inbox.interrupt("dev", Wish("interrupted", "x"), "owner")


async def test_work_in_one_lane_does_not_hold_another(works):
    for name in ("dev", "two"):
        works.plan.workers[name] = works.make_worker(name, tools=("Read",))
    works.scenario("turns: [{match: slow, say: x, hang: 60}]\ndefault: {say: ok}")
    await works.open()
    slow = await works.post("slow")
    await works.state(slow, "seen")
    assert (await works.answer("quick", "two")).outcome == "done"
    assert works.state_of(slow) == "seen"
