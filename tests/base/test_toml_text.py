"""Behaviour of tables put together and written as TOML."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from amiral.base.toml_text import merge, toml_text

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.datetimes()
    | st.dates()
    | st.times()
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
tables = st.dictionaries(texts, values, max_size=4)


@given(tables)
def test_what_was_written_is_read_back(table):
    assert tomllib.loads(toml_text(table)) == table


def test_a_document_has_a_line_for_each_key():
    told = {"model": 'a "b"\n', "on": True, "x.y": {"list": [1, "two"], "empty": {}}}
    assert toml_text(told).split("\n") == [
        r'"model" = "a \"b\"\n"',
        '"on" = true',
        '"x.y" = {"list" = [1, "two"], "empty" = {}}',
        "",
    ]


def test_tables_are_laid_over_one_another_and_values_replace():
    under = {"a": {"b": 1, "c": {"d": 2}}, "e": [1], "f": {"g": 3}}
    over = {"a": {"c": {"h": 4}}, "e": [2], "f": "text", "i": 5}
    merged = {"a": {"b": 1, "c": {"d": 2, "h": 4}}, "e": [2], "f": "text", "i": 5}
    assert merge(under, over) == merged
    assert under == {"a": {"b": 1, "c": {"d": 2}}, "e": [1], "f": {"g": 3}}, "left as it was"


@given(tables, tables)
def test_nothing_laid_over_is_lost(under, over):
    merged = merge(under, over)
    assert set(merged) == {*under, *over}
    assert merge(merged, over) == merged
    assert merge({}, over) == over == merge(over, {})
