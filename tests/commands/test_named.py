"""Arguments by name, as JSON gives them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.commands.named import parse_named
from amiral.commands.parameter import Kind, choice, may, option, switch, text, words
from amiral.commands.registry import Command
from amiral.commands.table import TABLE

ROW = Command(
    "gate open",
    "x",
    (
        text("ID"),
        choice("ANSWER", "yes", "no"),
        may(words("NOTE")),
        option("--wait", "S", Kind.SECONDS),
        option("--number", "N", Kind.NUMBER),
        option("--profile", "P", many=True),
        option("--as", "USER"),
        switch("--now"),
    ),
)
GOOD = {"id": "a", "answer": "yes"}


def test_every_kind_is_taken_as_json_has_it():
    given_ = {
        **GOOD,
        "note": "two words",
        "wait": 1,
        "number": -5,
        "profile": ["a", "b"],
        "as_": "me",
        "now": False,
    }
    parsed = parse_named(ROW, given_)
    assert parsed.command == "gate open"
    assert parsed.arguments == {**given_, "wait": 1.0, "profile": ("a", "b")}
    assert isinstance(parsed.arguments["wait"], float)


def test_null_is_as_good_as_nothing():
    assert parse_named(ROW, {**GOOD, "note": None, "now": None}).arguments == GOOD


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("id", 5, "a text"),
        ("id", ["a"], "a text"),
        ("answer", "maybe", "yes or no"),
        ("answer", ["yes"], "yes or no"),
        ("note", {}, "a text"),
        ("wait", -1, "seconds, 0 or more"),
        ("wait", math.inf, "seconds, 0 or more"),
        ("wait", math.nan, "seconds, 0 or more"),
        ("wait", True, "seconds, 0 or more"),
        ("wait", "1", "seconds, 0 or more"),
        ("number", 1.5, "a whole number"),
        ("number", True, "a whole number"),
        ("number", 10**19, "a whole number"),
        ("number", "7", "a whole number"),
        ("profile", "a", "a list of texts"),
        ("profile", [], "a list of texts"),
        ("profile", [1], "a text"),
        ("now", 1, "true or false"),
        ("now", "true", "true or false"),
    ],
)
def test_what_does_not_fit_is_named(name, value, wanted):
    with pytest.raises(Invalid, match=f"{name} must be {wanted}"):
        parse_named(ROW, {**GOOD, name: value})


def test_an_unknown_name_is_answered_by_the_nearest_and_by_what_there_is():
    with pytest.raises(Invalid, match=r"no argument 'anser'.*did you mean answer") as told:
        parse_named(ROW, {"id": "a", "anser": "yes"})
    assert "it takes id, answer, note" in told.value.next_step
    with pytest.raises(Invalid) as told:
        parse_named(Command("list", "x"), {"all": True})
    assert told.value.next_step == "it takes none"


def test_what_is_needed_is_asked_for_at_once():
    with pytest.raises(Invalid, match="needs id, answer"):
        parse_named(ROW, {"note": "x", "id": None})


@given(
    row=st.sampled_from(list(TABLE)),
    given_=st.dictionaries(
        st.sampled_from(["id", "text", "worker", "level", "wait", "x"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()),
    ),
)
def test_anything_is_taken_or_refused_as_usage(row, given_):
    try:
        parsed = parse_named(row, given_)
    except Invalid:
        return
    assert set(parsed.arguments) == {name for name, value in given_.items() if value is not None}
    assert {one.name for one in row.parameters if one.needed} <= set(parsed.arguments)
