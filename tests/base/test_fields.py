"""Behaviour of the checks of an object's fields."""

import datetime as dt

from amiral.base.fields import Field, check_object, shown, value_at
from amiral.base.located_json import parse_json

FIELDS = {
    "name": Field(lambda value: isinstance(value, str), "a text"),
    "sizes": Field(
        lambda value: isinstance(value, list),
        "a list",
        Field(lambda value: isinstance(value, int), "a number"),
    ),
}


def mistakes(text):
    located = parse_json(text, "f")
    return list(check_object(located, ("thing",), "the thing", FIELDS, ("name", "sizes")))


def test_every_mistake_has_its_own_line():
    text = '{"thing": {\n"name": 5,\n"sizes": [1,\n"x"],\n"nam": 1}}'
    assert mistakes(text) == [
        "f:2: the thing: name must be a text (got 5)",
        'f:4: the thing: sizes[1] must be a number (got "x")',
        'f:5: the thing: unknown field "nam" (did you mean name?)',
    ]


def test_what_is_missing_or_no_object_is_told():
    assert mistakes('{"thing": {}}') == ['f:1: the thing lacks "name", "sizes"']
    assert mistakes('{"thing": [1]}') == ["f:1: the thing must be an object (got [1])"]
    assert mistakes('{"other": 1}') == ["f:1: the thing must be an object (got null)"]
    assert mistakes('{"thing": {"name": "x", "sizes": []}}') == []


def test_a_path_that_leads_nowhere_has_no_value():
    located = parse_json('{"a": [1, {"b": 2}]}', "f")
    assert value_at(located, ("a", 1, "b")) == 2
    assert value_at(located, ("a", 7)) is None
    assert value_at(located, ("a", "x")) is None
    assert value_at(located, ("a", 0, "x")) is None


def test_a_wrong_value_is_shown_on_one_safe_line():
    assert shown("a\u202e\nb" + "x" * 100) == '"a<U+202E>\\nb' + "x" * 26 + "…"
    assert shown(dt.date(2026, 1, 2)) == '"2026-01-02"'
