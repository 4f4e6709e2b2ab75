"""What follows a death: bounded, spread, and never a kill."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.hub import watchdog
from amiral.hub.watchdog import (
    MOST_RESTARTS,
    MOST_STARTING,
    SAME_DEATHS,
    TOGETHER_MS,
    WELL_MS,
    WINDOW_MS,
    Look,
    Record,
)

S = 1000
MINUTE = 60 * S
NOW = 10_000 * S


def after(*signatures, lived_ms=2 * S, record=None):
    """Let a process live and die again and again, each started when it is due."""
    record, now = watchdog.started(record or Record(), NOW), NOW
    for signature in signatures:
        now += lived_ms
        record = watchdog.died(record, now, signature, 0.0)
        if not record.may_start:
            break
        now = record.due_ms
        record = watchdog.started(record, now)
    return record


def test_a_first_death_is_followed_by_a_start_a_second_later():
    record = watchdog.died(watchdog.started(Record(), NOW), NOW + S, "exit 1", 0.0)
    assert record.may_start
    assert record.due_ms == NOW + 2 * S
    assert watchdog.pause_s(record, NOW + S) == 1
    assert watchdog.pause_s(record, NOW + S + 1) == 1
    assert watchdog.pause_s(record, NOW + 5 * S) == 0


def test_each_death_doubles_the_pause_and_jitter_spreads_it():
    record, pauses = watchdog.started(Record(), NOW), []
    for number in range(MOST_RESTARTS):
        record = watchdog.died(record, NOW, f"exit {number}", 0.5)
        pauses.append(record.due_ms - NOW)
    assert pauses == [1500, 3000, 6000, 12_000, 24_000]


def test_r33_the_same_death_three_times_parks_with_its_reason():
    record = after("exit 1: no disk", "exit 1: no disk", "exit 1: no disk")
    assert record.parked == "died 3 times in the same way: exit 1: no disk"
    assert not record.may_start
    assert len(record.restarts) == SAME_DEATHS - 1
    assert watchdog.pause_s(record, NOW) == 0


def test_r33_other_deaths_park_when_it_was_never_well():
    record = after(*(f"exit {number}" for number in range(20)))
    assert record.parked == "died 6 times and was never well for 10 minutes"
    assert len(record.restarts) == MOST_RESTARTS


def test_a_death_that_nobody_saw_is_like_no_other():
    assert after("", "", "").may_start is False  # it runs
    assert after("", "", "").parked == ""
    assert after("", "", "", "", "", "").parked != ""


def test_r33_a_good_start_is_not_enough_to_be_well():
    record = watchdog.started(after("exit 1", "exit 1"), NOW)
    assert watchdog.rested(record, NOW + WELL_MS - 1) == record
    assert watchdog.rested(record, NOW + WELL_MS).deaths == ()


def test_what_does_not_run_or_never_died_is_left_as_it_is():
    dead = watchdog.died(Record(since_ms=NOW), NOW, "exit 1", 0.0)
    assert watchdog.rested(dead, NOW + 2 * WELL_MS) is dead
    calm = watchdog.started(Record(), NOW)
    assert watchdog.rested(calm, NOW + 2 * WELL_MS) is calm


def test_ten_good_minutes_forget_the_deaths_but_not_the_restarts():
    record = after("a", "b", "c", "d", "e")
    since = record.since_ms
    record = watchdog.died(record, since + WELL_MS, "exit 1", 0.0)
    assert record.deaths == ("exit 1",)
    assert record.due_ms == record.restarts[0] + WINDOW_MS


def test_a_first_start_counts_for_nothing():
    assert watchdog.started(Record(), NOW).restarts == ()


def test_an_end_that_was_asked_for_is_not_followed_by_a_start():
    record = watchdog.ended(watchdog.started(Record(), NOW), NOW)
    assert not record.may_start
    assert record.since_ms is None
    assert watchdog.next_starts({"a": record}, 0, NOW) == ()


def test_what_ended_together_with_the_hub_is_started_by_the_next_one():
    record = watchdog.ended(Record(), NOW)
    assert watchdog.left_behind(record, NOW + TOGETHER_MS).may_start
    assert watchdog.left_behind(record, NOW + TOGETHER_MS + 1).is_ended
    assert watchdog.left_behind(Record(), NOW) == Record()


def test_a_person_begins_anew():
    assert watchdog.released(after("x", "x", "x")) == Record()
    assert watchdog.released(Record(since_ms=5, is_ended=True)) == Record(since_ms=5)


def test_one_that_runs_is_adopted_with_its_deaths():
    record = watchdog.adopted(after("x", "x", "x"), NOW)
    assert (record.since_ms, record.parked, record.deaths) == (NOW, "", ("x",) * 3)
    assert watchdog.died(record, NOW, "x", 0.0).parked


def test_r35_in_another_run_of_the_machine_only_what_still_means_something_is_kept():
    parked = after("x", "x", "x")
    assert watchdog.carried_over(parked) == Record(deaths=("x",) * 3, parked=parked.parked)
    assert watchdog.carried_over(watchdog.ended(Record(), NOW)).may_start


def test_r33_of_twenty_that_died_at_once_few_start_at_once():
    records = {f"p{n}": Record(due_ms=NOW + n) for n in range(20)}
    first = watchdog.next_starts(records, 0, NOW + 19)
    assert first == ("p0", "p1", "p2", "p3")
    assert len(first) == MOST_STARTING
    assert watchdog.next_starts(records, 3, NOW + 19) == ("p0",)
    assert watchdog.next_starts(records, MOST_STARTING + 1, NOW + 19) == ()


def test_nobody_starts_before_it_is_due_or_while_it_runs():
    records = {"later": Record(due_ms=NOW + 1), "runs": Record(since_ms=1), "p": Record(parked="x")}
    assert watchdog.next_starts(records, 0, NOW) == ()


@pytest.mark.parametrize(
    ("silent_ms", "expected"), [(0, False), (3 * MINUTE, False), (3 * MINUTE + 1, True)]
)
def test_r34_silence_begins_after_three_beats(silent_ms, expected):
    assert watchdog.is_silent(NOW, NOW + silent_ms, MINUTE) is expected


def test_r34_advice_names_the_next_step():
    assert "`amiral restart shop`" in watchdog.advice("shop", 200)
    assert "200 s" in watchdog.advice("shop", 200)


@pytest.mark.parametrize(
    ("mono_ms", "wall_ms", "expected"),
    [
        (2 * S, 2 * S, False),
        (2 * S, 32 * S, False),
        (2 * S, 32 * S + 1, True),
        (2 * S, -2 * 60 * MINUTE, True),
        (90 * S, 8 * 60 * MINUTE, True),
        (30 * MINUTE, 30 * MINUTE, True),
        (30 * S, 30 * S, False),
    ],
)
def test_r35_a_jump_of_either_clock_is_noticed(mono_ms, wall_ms, expected):
    before = Look(NOW, 5 * NOW)
    assert watchdog.has_jumped(before, Look(NOW + mono_ms, 5 * NOW + wall_ms)) is expected


lives = st.lists(
    st.tuples(
        st.integers(0, 30 * MINUTE),
        st.sampled_from(["exit 1", "exit 2", "exit 3", "signal SIGKILL", ""]),
        st.floats(0, 1),
        st.integers(0, 20 * MINUTE),
    ),
    max_size=40,
)


@given(lives)
def test_p06_never_more_than_five_restarts_in_fifteen_minutes(lives):
    record, now, restarts = watchdog.started(Record(), 0), 0, []
    for lived_ms, signature, jitter, late_ms in lives:
        now += lived_ms
        record = watchdog.died(record, now, signature, jitter)
        if record.parked:
            assert record.deaths.count(signature) == SAME_DEATHS or len(record.deaths) == 6
            break
        assert now + S <= record.due_ms <= now + WINDOW_MS
        now = record.due_ms + late_ms
        assert watchdog.next_starts({"a": record}, 0, now) == ("a",)
        record = watchdog.started(record, now)
        restarts.append(now)
    for first, sixth in zip(restarts, restarts[MOST_RESTARTS:], strict=False):
        assert sixth - first >= WINDOW_MS


@given(lives)
def test_p06_two_hundred_quick_crashes_end_in_a_park(lives):
    record, now, starts = watchdog.started(Record(), 0), 0, 0
    for number in range(200):
        signature = lives[number % len(lives)][1] if lives else "exit 1"
        record = watchdog.died(record, now + 2 * S, signature, 1.0)
        if record.parked:
            break
        now = record.due_ms
        record = watchdog.started(record, now)
        starts += 1
    assert record.parked
    assert starts <= MOST_RESTARTS


@given(lives, st.integers(0, 2**40))
def test_a_record_is_the_same_after_it_was_written_down(lives, now):
    record = watchdog.started(Record(), now)
    for lived_ms, signature, jitter, _ in lives:
        record = watchdog.died(record, now + lived_ms, signature, jitter)
    assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record
