"""Behaviour of the lines of TOML keys."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.base.located_toml import line_of, lines_of_keys, parse_toml, statements_of

DOCUMENT = '''# a comment
top = 1
[hub]
port = 8787   # = not a key
list = [
  "k = 1",
]
text = """
k = 1
[not.a.table]
"""
"q.r" = {a = 1, b = 2}
d.e = 3
[projects."a b"]
path = "x"
[[many]]
z = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 2),
        (("hub",), 3),
        (("hub", "port"), 4),
        (("hub", "list"), 5),
        (("hub", "text"), 8),
        (("hub", "q.r", "a"), 12),
        (("hub", "q.r", "b"), 12),
        (("hub", "d", "e"), 13),
        (("projects", "a b"), 14),
        (("projects", "a b", "path"), 15),
        (("many", "z"), 17),
        (("nothing", "x"), 1),
    ],
)
def test_every_key_has_the_line_where_its_statement_begins(path, line):
    lines = lines_of_keys(DOCUMENT)
    assert line_of(lines, *path) == line
    assert ("not", "a", "table") not in lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = \n", "f:2: Invalid value"),
        ("a = 1\na = 2\n", "f:2: Cannot overwrite a value"),
        ("a = [1,\n", "f:2: Invalid value"),
        ("x = " + "[" * 5000, "f:1: a value is nested too deeply or too long"),
        ("x = " + "9" * 5000, "f:1: a value is nested too deeply or too long"),
    ],
)
def test_a_mistake_is_named_with_its_line(text, message):
    with pytest.raises(Invalid) as refused:
        parse_toml(text, "f")
    assert refused.value.message == message


@given(st.text() | st.text("ab=[]{}\"'\n.,# 1"))
def test_any_text_is_read_or_refused_and_its_lines_exist(text):
    refusal = ""
    try:
        parse_toml(text, "f")
    except Invalid as refused:
        refusal = refused.message
    if refusal:
        assert refusal.startswith("f:")
    assert refusal or all(
        1 <= line <= text.count("\n") + 1 for line in lines_of_keys(text).values()
    )


def test_a_huge_statement_ends_the_search_instead_of_taking_minutes():
    text = "a = 1\nlist = [\n" + "1,\n" * 20_000 + "]\nb = 2\n"
    began = time.monotonic()
    lines = lines_of_keys(text)
    assert lines == {("a",): 1}
    assert line_of(lines, "b") == 1
    assert time.monotonic() - began < 5


def test_a_byte_order_mark_changes_nothing_r56():
    assert parse_toml("\ufeffa = 1", "f") == {"a": 1}
    assert lines_of_keys("\ufeffa = 1") == {("a",): 1}


def test_statements_follow_one_another_without_a_gap_and_know_their_table():
    told = list(statements_of(DOCUMENT))
    lines = [line for one in told for line in range(one.begins, one.ends + 1)]
    assert lines == list(range(1, DOCUMENT.count("\n") + 2))
    assert (told[0].keys, told[0].sets) == ((), False)
    assert [one.keys for one in told if one.begins == 15] == [("projects", "a b", "path")]
