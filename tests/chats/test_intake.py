"""Updates are on disk before their service forgets them, and each is handled once."""

import asyncio

from amiral.base.errors import Broken, Conflict, Denied
from amiral.chats import rows
from amiral.chats.adapter import Held


async def test_what_comes_is_handled_in_order_and_once(talk):
    talk.begin()
    numbers = [talk.service.push(f"hello {n}") for n in range(5)]
    await talk.until(lambda: talk.handled == numbers)
    assert talk.urgent == numbers
    talk.service.push("again", number=numbers[2])
    last = talk.service.push("new")
    await talk.until(lambda: talk.handled[-1:] == [last])
    assert talk.handled == [*numbers, last]


async def test_a_number_that_comes_twice_at_once_counts_once(talk):
    number = talk.service.push("a", number="x")
    talk.service.push("b", number="x")
    talk.begin()
    await talk.until(lambda: talk.handled == [number])


async def test_trouble_of_the_service_is_told_and_waited_out(talk):
    talk.service.faults += [("updates", Conflict("two read")), ("updates", Held(35.0))]
    talk.service.faults += [("updates", Denied("revoked"))]
    number = talk.service.push("hello")
    began_s = talk.clock.time_s
    talk.begin()
    await talk.until(lambda: talk.handled == [number])
    assert talk.clock.time_s - began_s >= 1 + 35 + 300
    assert talk.intake.hearing().trouble == ""
    assert talk.intake.hearing().heard_s == talk.clock.time_s


async def test_r38_what_cannot_be_stored_is_tried_until_it_is(talk):
    """The next call to the service would lose it."""
    talk.begin()
    refusals = [Broken("disk full"), Broken("disk full")]
    decide = talk.journal.decide

    async def full(decision, by="amiral"):
        if refusals:
            raise refusals.pop()
        return await decide(decision, by)

    talk.journal.decide = full
    number = talk.service.push("hello")
    await talk.until(lambda: talk.handled == [number])
    assert refusals == []


async def test_a_busy_lane_holds_up_no_other(talk):
    go_on = asyncio.Event()

    async def handle(taken):
        if taken.lane == "7/":
            await go_on.wait()
        talk.handled.append(taken.number)

    talk.handle = handle
    talk.begin()
    slow, quick = talk.service.push("slow"), talk.service.push("quick", chat="8")
    topic = talk.service.push("quick", thread="3")
    await talk.until(lambda: set(talk.handled) == {quick, topic})
    go_on.set()
    await talk.until(lambda: talk.handled[-1:] == [slow])


async def test_one_that_cannot_be_handled_is_put_aside_and_the_next_ones_are_heard(talk):
    tried = []

    async def handle(taken):
        if "poison" in taken.raw:
            tried.append(taken.number)
            raise KeyError("unknown kind")
        talk.handled.append(taken.number)

    talk.handle = handle
    talk.begin()
    poison, good = talk.service.push("poison"), talk.service.push("good")
    await talk.until(lambda: talk.handled == [good])
    assert tried == [poison] * 5
    assert rows.dead_updates(talk.journal.rows, "test:1") == 1
    await talk.until(lambda: rows.waiting(talk.journal.rows, "test:1") == [])


async def test_what_waits_at_an_end_is_handled_after_the_next_beginning(talk):
    talk.begin()
    started = asyncio.Event()

    async def handle(taken):
        started.set()
        await asyncio.sleep(3600)

    talk.handle = handle
    number = talk.service.push("hello")
    await started.wait()
    await talk.end()
    talk.handle = talk._note
    talk.begin()
    await talk.until(lambda: talk.handled == [number])
