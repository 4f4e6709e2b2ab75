"""Waiting for what becomes of a message: nothing is missed, and many who wait cost little."""

import asyncio

import pytest

from amiral.agents.answers import Answer, Answers
from amiral.agents.tables import ENGINE
from amiral.base import events as ev
from amiral.base.errors import Broken
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock

AT = (1, 10)


@pytest.fixture
async def journal(tmp_path):
    journal = await Journal.open(tmp_path / "j" / "journal.db", FakeClock(), (ENGINE,))
    yield journal
    await journal.close()


def queued(message):
    return ev.MessageQueued(message, "dev", "dev-owner", "x", "owner")


def ended(message, text="ok"):
    return ev.TurnEnded("t1", message, "dev", "s1", AT, "done", text, "why")


def parked(message, window="week"):
    return ev.TurnParked("t1", message, "dev", "s1", AT, window, 5, "cli", "text")


def asking(message, approval):
    asked = (approval, message, "t1", "dev", "s1", approval, "Bash", "ls", "ls", "d", "rule")
    return ev.ApprovalAsked(*asked, expires_ms=4_102_444_800_000)


async def waiting(answers, *messages):
    """Have each waited for in a task of its own, far enough to wait."""
    tasks = [asyncio.create_task(answers.wait_for(message)) for message in messages]
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


async def answered(task):
    async with asyncio.timeout(10):
        return await task


@pytest.mark.parametrize(
    ("event", "answer"),
    [
        (ended("m1"), Answer("2", "t1", "done", "ok", "why")),
        (
            parked("m1"),
            Answer("2", "t1", "limited", "text", "week reached; amiral limits shows until when"),
        ),
        (
            parked("m1", ""),
            Answer("2", "t1", "limited", "text", "limit reached; amiral limits shows until when"),
        ),
        (ev.MessageCancelled("m1", "dev", "no"), Answer("2", "", "cancelled", "", "no")),
        (
            asking("m1", "a1b2c3d4"),
            Answer("2", "t1", "pending", "", "it waits for a permission of the owner", "a1b2c3d4"),
        ),
    ],
)
@pytest.mark.parametrize("is_early", [True, False])
async def test_the_first_thing_to_tell_is_the_answer(journal, event, answer, is_early):
    answers = Answers(journal)
    await journal.append(queued("m1"))
    if is_early:
        (task,) = await waiting(answers, "m1")
        assert not task.done()
        await journal.append(event)
    else:
        await journal.append(event)
        (task,) = await waiting(answers, "m1")
    assert await answered(task) == answer


async def test_a_request_that_was_dealt_with_is_no_answer(journal):
    answers = Answers(journal)
    await journal.append(queued("m1"), asking("m1", "a1b2c3d4"))
    await journal.append(ev.ApprovalAnswered("a1b2c3d4", "t1", "dev", allowed=True))
    (task,) = await waiting(answers, "m1")
    assert not task.done()
    expired = ev.ApprovalExpired("e5f6a7b8", "t1", "dev")
    await journal.append(asking("m1", "e5f6a7b8"), expired, ended("m1"))
    assert (await answered(task)).text == "ok"


async def test_an_answer_far_back_in_the_journal_is_found(journal):
    await journal.append(queued("m1"), ended("m1"))
    await journal.append(*(queued(f"x{number}") for number in range(700)))
    assert (await answered(asyncio.create_task(Answers(journal).wait_for("m1")))).id == "2"


async def test_each_who_waits_gets_the_answer_to_its_own_message(journal):
    answers = Answers(journal)
    await journal.append(queued("m1"), queued("m2"))
    one, two, other = await waiting(answers, "m1", "m2", "m1")
    await journal.append(ended("m2", "second"))
    assert (await answered(two)).text == "second"
    assert not one.done()
    await journal.append(ended("m1", "first"))
    assert (await answered(one)).text == (await answered(other)).text == "first"


async def test_one_who_gives_up_takes_nothing_from_the_others(journal):
    answers = Answers(journal)
    await journal.append(queued("m1"))
    one, other = await waiting(answers, "m1", "m1")
    one.cancel()
    await asyncio.gather(one, return_exceptions=True)
    await journal.append(ended("m1"))
    assert (await answered(other)).text == "ok"
    assert (await answers.wait_for("m1")).text == "ok"


async def test_no_answer_slips_through_between_looking_back_and_waiting(journal):
    answers = Answers(journal)
    for number in range(50):
        message = f"m{number}"
        await journal.append(queued(message))
        task = asyncio.create_task(answers.wait_for(message))
        for _ in range(number % 6):
            await asyncio.sleep(0)
        await journal.append(ended(message))
        assert (await answered(task)).outcome == "done"


async def test_when_amiral_stops_the_message_is_told_to_be_kept(journal):
    answers = Answers(journal)
    await journal.append(queued("m1"))
    (task,) = await waiting(answers, "m1")
    await journal.close()
    answer = await answered(task)
    assert (answer.outcome, answer.reason) == ("pending", "amiral was stopped; the message is kept")


class Failing:
    """A journal whose reader breaks."""

    last_seq = 0

    def rows(self, sql, *args):
        return []

    async def subscribe(self, since):
        for _ in range(1):
            raise Broken("the disk is gone")
        yield


async def test_a_reader_that_breaks_is_told_to_everybody_and_made_anew(journal):
    answers = Answers(Failing())  # type: ignore[arg-type]
    tasks = await waiting(answers, "m1", "m2")
    for task in tasks:
        with pytest.raises(Broken, match="the disk is gone"):
            await answered(task)
    with pytest.raises(Broken):
        await answered(asyncio.create_task(answers.wait_for("m1")))
