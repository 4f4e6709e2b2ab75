"""YAML as texts: what was written is what is read, mistakes have places (R56)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.base.marked_yaml import Checker, compose, in_file, write

PLACE = in_file("f.yaml")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def whole(text):
    root = compose(text, PLACE)
    assert root is not None
    return root


def read(text):
    check = Checker(PLACE)
    root = whole(text)
    found = check.fields(root, "file", ("a", "b", "c"))
    return {key: check.text(node, key, may_be_empty=True) for key, node in found.items()}, check


@pytest.mark.parametrize("written", ["10:30", "9:05", "no", "0755", "1e3", "null", "~", "=", "1_0"])
def test_r56_no_value_is_guessed(written):
    found, check = read(f"a: {written}\n")
    assert (found, check.errors()) == ({"a": written}, [])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: 1\na: 2\n", "f.yaml:2: file: a is given twice"),
        ("a: 1\nd: 2\n", "f.yaml:2: file: unknown key d; known are a, b, c"),
        ("? [x]\n: 1\n", "f.yaml:1: file: unknown key (no word); known are a, b, c"),
        ("- a\n", "f.yaml:1: file must be a mapping of a, b, c"),
        ("a:\n", "f.yaml:1: a must not be empty"),
        ("a: [x]\n", "f.yaml:1: a must be a text"),
        ('a: "\\ud83d"\n', "f.yaml:1: a holds half a surrogate pair, which is no character"),
    ],
)
def test_r56_a_mistake_is_told_with_its_place(text, error):
    assert read(text)[1].errors() == [error]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: b: c\n", "f.yaml:1: mapping values are not allowed here"),
        ("a: 1\n--- \nb: 2\n", "f.yaml:2: but found another document"),
        ("a: 1\nb: \x07\n", "f.yaml:2: character #x0007 is not allowed here"),
        ("[" * 3000, "f.yaml:1: nested too deeply"),
        ("%YAML 9" + "9" * 5000 + ".1\n--- a", "f.yaml:1: not YAML: "),
        ("a: *b\n", "f.yaml:1: found undefined alias 'b'"),
    ],
)
def test_r56_what_is_no_yaml_is_refused_with_its_place(text, error):
    with pytest.raises(Invalid) as caught:
        compose(text, PLACE)
    assert caught.value.message.startswith(error)


def test_an_empty_document_is_nothing():
    assert compose("# nothing\n", PLACE) is None


def test_lists_numbers_and_choices_are_checked():
    check = Checker(PLACE)
    root = whole("a: [x]\nb: 7\nc: 0.5\n")
    found = check.fields(root, "file", ("a", "b", "c"))
    assert [node.value for node in check.items(found["a"], "a")] == ["x"]
    assert check.items(found["b"], "b") == []
    assert (check.whole(found["b"], "b", 1, 9), check.whole(found["b"], "b", 8, 9)) == (7, 8)
    assert (check.number(found["c"], "c", 1.0), check.number(found["c"], "c", 0.1)) == (0.5, 0.0)
    assert check.choice(found["b"], "b", ("7", "8")) == "7"
    assert check.choice(found["a"], "a", ("7", "8")) == "7"
    assert check.need(root, found, "file", ("a",))
    assert not check.need(root, found, "file", ("a", "d"))
    check.fail(None, "all of it")
    assert check.errors() == [
        "f.yaml:1: a must be one of 7, 8",
        "f.yaml:1: all of it",
        "f.yaml:1: file: d is missing",
        "f.yaml:2: b must be a list",
        "f.yaml:2: b must be a whole number from 8 to 9",
        "f.yaml:3: c must be a number from 0 to 0.1",
    ]


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_r56_what_is_written_reads_back(text, items):
    root = whole(write({"a": text, "b": items}))
    check = Checker(PLACE)
    found = check.fields(root, "file", ("a", "b"))
    assert found["a"].value == text
    assert [node.value for node in check.items(found["b"], "b")] == items
    assert check.errors() == []


def test_r56_several_lines_are_written_as_people_read_them():
    assert write({"a": "one\ntwo", "b": ["no"]}) == "a: |-\n  one\n  two\nb:\n- 'no'\n"
