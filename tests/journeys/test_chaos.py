"""Kills at random points of runs with 30 messages: nothing lost, doubled or out of order (P01)."""

import os
import random

import pytest

from amiral.testbench.chaos import Kind, chaos, mixed, places

SEED = int(os.environ.get("AMIRAL_CHAOS_SEED") or random.SystemRandom().randrange(1, 1 << 30))


def clean(kinds):
    """A run may be over before all its kills: then another one follows, until there were enough."""
    kills = 0
    for seed in range(SEED, SEED + 3):
        tally = chaos(kinds, seed)
        again = f"AMIRAL_CHAOS_SEED={seed} repeats the choices"
        if not tally.is_clean:
            pytest.fail("\n".join([*tally.faults, again]), pytrace=False)
        assert tally.outcomes["done"] > 0
        kills += sum(tally.kills.values())
        if kills >= len(kinds) - 2:
            return tally
    pytest.fail(f"only {kills} kills in three runs from seed {SEED} on")


def test_the_project_process_killed_20_times_loses_and_doubles_nothing():
    tally = clean([Kind.PROJECT] * 20)
    assert tally.outcomes == {"done": 60}, "a restart cuts no turn"


def test_shims_killed_8_times_lose_and_double_nothing():
    tally = clean([Kind.SHIM] * 8)
    assert set(tally.outcomes) <= {"done", "interrupted", "unsure", "failed"}


def test_both_killed_alone_and_together_lose_and_double_nothing():
    clean(mixed(6, SEED))


def test_the_places_where_a_process_kills_itself_are_those_of_the_engine():
    assert {"inbox.queued", "turn.started", "turn.written"} <= set(places())
