"""Which turn of a scenario comes next, and what a turn amounts to."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.testbench.scenario import (
    Ask,
    Error,
    Hang,
    Limit,
    Process,
    Raw,
    Say,
    Scenario,
    Turn,
    Use,
)


def said(text: str, match: str = "") -> Turn:
    return Turn(match=match, say=Say(text))


def play(scenario: Scenario, *texts: str) -> list[str]:
    used: tuple[int, ...] = ()
    answers = []
    for text in texts:
        turn, used = scenario.next_turn(text, used)
        answers.append(turn.text)
    return answers


def test_turns_are_taken_in_order_and_then_the_default_for_ever():
    scenario = Scenario((said("1"), said("2")), said("d"))
    assert play(scenario, "x", "x", "x", "x") == ["1", "2", "d", "d"]


def test_a_turn_whose_match_does_not_fit_waits_for_its_text():
    scenario = Scenario((said("A", "cach"), said("B"), said("C", "^two$")), said("d"))
    assert play(scenario, "one", "caching", "x", "one\ntwo", "two") == ["B", "A", "d", "d", "C"]


def test_without_a_default_the_answer_is_ok():
    assert play(Scenario(), "x") == ["ok"]


def test_the_default_takes_no_turn():
    turn, used = Scenario().next_turn("x", ())
    assert (turn, used) == (Scenario().default, ())


texts = st.lists(st.sampled_from(["a", "b", "ab", "c"]), max_size=12)
turns = st.lists(st.builds(said, st.just("t"), st.sampled_from(["", "a", "b", "x"])), max_size=6)


@given(turns, texts)
def test_replaying_the_same_texts_picks_the_same_turns_and_none_twice(turns, texts):
    scenario = Scenario(tuple(turns))
    used: tuple[int, ...] = ()
    for text in texts:
        turn, more = scenario.next_turn(text, used)
        assert (turn, more) == scenario.next_turn(text, used)
        assert len(set(more)) == len(more)
        assert more[: len(used)] == used
        if more == used:
            assert turn is scenario.default
            assert all(
                number in used or not re.search(other.match, text)
                for number, other in enumerate(turns)
            )
        used = more


@given(st.text(max_size=40), st.integers(0, 50))
def test_pieces_of_a_text_joined_are_the_text(text, chunk):
    pieces = list(Say(text, chunk).pieces())
    assert "".join(pieces) == text
    assert all(pieces)
    assert chunk == 0 or all(len(piece) <= chunk for piece in pieces)


@given(st.binary(max_size=20), st.sets(st.integers(0, 20)))
def test_pieces_of_bytes_joined_are_the_bytes(data, cuts):
    split = tuple(sorted(cut for cut in cuts if cut <= len(data)))
    pieces = list(Raw(data, split).pieces())
    assert b"".join(pieces) == data
    assert len(pieces) == len(split) + 1


@pytest.mark.parametrize(
    ("turn", "goes_on", "is_final"),
    [
        (Turn(say=Say("x")), False, True),
        (Turn(hang=Hang(1)), False, True),
        (Turn(use=Use("read", {"path": "x"})), True, False),
        (Turn(say=Say("x"), use=Use("read", {"path": "x"})), True, False),
        (Turn(ask=Ask("w", "x")), True, False),
        (Turn(error=Error(500)), True, False),
        (Turn(limit=Limit("w")), False, True),
        (Turn(raw=Raw(b"x")), False, False),
        (Turn(raw=Raw(b"x"), say=Say("x")), False, True),
        (Turn(raw=Raw(b"x"), limit=Limit("w")), False, True),
        (Turn(process=Process("setsid")), False, True),
        (Turn(process=Process(exit=1)), False, False),
        (Turn(process=Process(exit=1), say=Say("x")), False, True),
        (Turn(process=Process(exit=1), use=Use("read", {"path": "x"})), True, False),
    ],
)
def test_a_message_is_answered_by_a_turn_that_says_or_ends_something(turn, goes_on, is_final):
    assert (turn.goes_on, turn.is_final) == (goes_on, is_final)


def test_a_limit_is_reached_when_the_window_is_full():
    assert Limit("w").is_reached
    assert not Limit("w", utilization=0.99).is_reached


def test_a_pattern_python_would_warn_about_still_fits():
    assert said("x", "[[a]").fits("a")
