"""The log of every conversation: each word said once, in order, kept across sessions."""

import pytest

from amiral.base import events as ev
from amiral.conversations import store
from amiral.conversations.thread import Conversation, Utterance
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock

START_MS = 1_800_000_000_000


@pytest.fixture
def clock():
    return FakeClock(START_MS)


@pytest.fixture
async def journal(tmp_path, clock):
    path = tmp_path / "j" / "journal.db"
    journal = await Journal.open(path, clock, (store.CONVERSATIONS,))
    yield journal
    await journal.close()


def asked(message, text, conversation="dev-owner", sender="owner"):
    return ev.MessageQueued(message, "dev", conversation, text, sender)


def answered(message, text, outcome="done"):
    return ev.TurnEnded("t1", message, "dev", "s1", (1, 1), outcome, text)


async def test_both_sides_are_kept_with_time_speaker_and_outcome(journal, clock):
    await journal.append(asked("m1", "hello"))
    await clock.advance(1)
    await journal.append(answered("m1", "hi", "failed"))
    assert store.latest(journal.rows, "dev-owner", 10) == [
        Utterance(1, START_MS, "dev-owner", "owner", "m1", "hello", ""),
        Utterance(2, START_MS + 1000, "dev-owner", "dev", "m1", "hi", "failed"),
    ]


async def test_an_answer_belongs_to_the_conversation_of_its_message(journal):
    await journal.append(asked("m1", "a"), asked("m2", "b", "owner-two"), answered("m2", "c"))
    assert [one.text for one in store.latest(journal.rows, "owner-two", 10)] == ["b", "c"]
    assert [one.text for one in store.latest(journal.rows, "dev-owner", 10)] == ["a"]


async def test_an_end_of_a_message_nobody_knows_is_no_word(journal):
    await journal.append(answered("m0", "?"), ev.WarningRaised("x", "y"))
    assert store.conversations(journal.rows) == []


async def test_the_last_words_are_given_oldest_first_and_only_those_before_a_place(journal):
    await journal.append(*(asked(f"m{number}", f"n{number}") for number in range(9)))
    read = journal.rows
    assert [one.text for one in store.latest(read, "dev-owner", 2)] == ["n7", "n8"]
    before = store.begun(read, "m5")
    assert [one.text for one in store.latest(read, "dev-owner", 2, before)] == ["n3", "n4"]
    assert store.begun(read, "nope") is None


async def test_the_conversation_last_used_comes_first(journal, clock):
    await journal.append(asked("m1", "a"), asked("m2", "b", "owner-two"))
    await clock.advance(2)
    await journal.append(answered("m1", "c"))
    assert store.conversations(journal.rows) == [
        Conversation("dev-owner", 2, START_MS + 2000),
        Conversation("owner-two", 1, START_MS),
    ]


async def test_the_log_follows_from_the_events_alone(journal):
    await journal.append(asked("m1", "a"), answered("m1", "b"), asked("m2", "c"))
    before = store.latest(journal.rows, "dev-owner", 10)
    await journal.rebuild()
    assert store.latest(journal.rows, "dev-owner", 10) == before
