"""Behaviour of JSON read with the line and column of every value (R56)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.base.located_json import parse_json, scan_json

DOCUMENT = '{\n  "a": [1,\n    {"b": "x"}],\n  "c": null\n}\n'
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("path", "position"),
    [
        ((), (1, 1)),
        (("a",), (2, 8)),
        (("a", 0), (2, 9)),
        (("a", 1), (3, 5)),
        (("a", 1, "b"), (3, 11)),
        (("c",), (4, 8)),
    ],
)
def test_every_value_has_its_line_and_column(path, position):
    assert parse_json(DOCUMENT, "f.json").position_of(*path) == position


def test_an_unknown_path_has_the_line_of_the_value_around_it():
    located = parse_json(DOCUMENT, "f.json")
    assert located.line_of("a", 1, "nothing", 7) == 3
    assert located.line_of("nothing") == 1
    assert located.complaint("is odd", "c") == "f.json:4: is odd"


@given(JSON_VALUES, st.sampled_from([None, 0, 3]))
def test_values_are_those_of_the_standard_library(value, indent):
    text = json.dumps(value, indent=indent)
    assert parse_json(text, "f").value == json.loads(text)


@given(st.text() | st.text('{}[]":,0123456789.eE+-tfn \n\\u'))
def test_any_text_is_read_or_refused_and_never_more_widely_than_the_standard_library(text):
    refusal = ""
    try:
        parse_json(text, "f")
    except Invalid as refused:
        refusal = refused.message
    if refusal:
        assert refusal.startswith("f:")
    else:
        json.loads(text.removeprefix("\ufeff"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f:1: not JSON: the document ends too early (column 1)"),
        ("{", "f:1: not JSON: a key in double quotes is expected (column 2)"),
        ("{'a': 1}", "f:1: not JSON: a key in double quotes is expected (column 2)"),
        ('{"a" 1}', "f:1: not JSON: a colon is expected (column 6)"),
        ('{\n"a": }', "f:2: not JSON: a value is expected (column 6)"),
        ('{"a": 1 "b": 2}', "f:1: not JSON: a comma or } is expected (column 9)"),
        ("[1,\n2,\n]", "f:2: not JSON: no comma may stand before ] (column 2)"),
        ("[1 2]", "f:1: not JSON: a comma or ] is expected (column 4)"),
        ("1 2", "f:1: not JSON: nothing may follow the document (column 3)"),
        ("[NaN]", "f:1: not JSON: NaN is no JSON number (column 2)"),
        ("[1e999]", "f:1: not JSON: a number too large (column 2)"),
        ('["\n"]', "f:1: not JSON: Invalid control character at (column 3)"),
        ('["a', "f:1: not JSON: Unterminated string starting at (column 2)"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_column(text, message):
    with pytest.raises(Invalid) as refused:
        parse_json(text, "f")
    assert refused.value.message == message
    assert refused.value.next_step == "repair f"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 10_000])
def test_hostile_depth_and_length_are_refused_not_suffered(text):
    with pytest.raises(Invalid):
        parse_json(text, "f")


def test_repeated_keys_are_refused_all_at_once_r56():
    text = '{"a": 1,\n"a": 2,\n"b": {"c": 1,\n"c": 2}}'
    with pytest.raises(Invalid) as refused:
        parse_json(text, "f")
    assert refused.value.message.splitlines() == [
        'f:2: key "a" stands twice (first at line 1)',
        'f:4: key "c" stands twice (first at line 3)',
    ]
    assert len(scan_json(text, "f").errors) == 2


def test_a_byte_order_mark_and_foreign_line_ends_change_nothing_r56():
    located = parse_json("\ufeff" + DOCUMENT.replace("\n", "\r\n"), "f")
    assert located.value == json.loads(DOCUMENT)
    assert located.line_of("c") == 4


def test_half_of_a_surrogate_pair_becomes_the_replacement_character_r03():
    assert parse_json('{"\\ud83d": "x\\ude00"}', "f").value == {"\ufffd": "x\ufffd"}
    assert parse_json('"\\ud83d\\ude00"', "f").value == "😀"
