"""Updates wait, are confirmed by an offset, and are forgotten in time."""

import pytest

from amiral.testbench.bot_api.queue import DAY_S, Queue

NOW = 1_800_000_000


@pytest.fixture
def queue():
    queue = Queue(100)
    for number in range(5):
        queue.push(NOW + DAY_S, "message", {"n": number})
    return queue


def numbers(queue, offset, limit=100, now=NOW):
    return [update["update_id"] for update in queue.take(offset, limit, now)]


def test_an_update_comes_again_until_a_later_offset_confirms_it(queue):
    assert numbers(queue, 0, 2) == [100, 101]
    assert numbers(queue, 0, 2) == [100, 101]
    assert numbers(queue, 102) == [102, 103, 104]
    assert numbers(queue, 0) == [102, 103, 104]


def test_a_negative_offset_forgets_all_but_the_last(queue):
    assert numbers(queue, -2) == [103, 104]
    assert numbers(queue, 0) == [103, 104]


def test_an_offset_a_little_ahead_forgets_what_it_has_not_seen(queue):
    assert numbers(queue, 115) == []
    assert numbers(queue, 0) == []


@pytest.mark.parametrize("offset", [117, 2_000_000])
def test_an_offset_far_ahead_counts_as_none(queue, offset):
    assert numbers(queue, offset) == [100, 101, 102, 103, 104]
    assert numbers(queue, 0) == [100, 101, 102, 103, 104]


def test_an_offset_of_long_ago_counts_as_none():
    queue = Queue(900_000)
    queue.push(NOW + DAY_S, "message", {})
    assert numbers(queue, 1) == [900_000]


def test_what_was_not_fetched_in_its_time_is_gone(queue):
    queue.push(NOW + 150, "callback_query", {})
    assert queue.pending(NOW + 150) == [100, 101, 102, 103, 104, 105]
    assert queue.pending(NOW + 151) == [100, 101, 102, 103, 104]
    assert numbers(queue, 0, now=NOW + DAY_S + 1) == []


def test_one_can_be_taken_away_or_all(queue):
    queue.forget(102)
    assert queue.pending(NOW) == [100, 101, 103, 104]
    queue.clear()
    assert queue.pending(NOW) == []
