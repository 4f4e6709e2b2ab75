"""Lines as JSON objects, read without ever failing (P12, R03, R08)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.fields import Fields, clean_text, json_line, plain_text, read_fields, summary

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def read(line: bytes) -> Fields:
    fields = read_fields(line)
    assert fields is not None
    return fields


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"t":"plain"}', "plain"),
        (b' \t{"t":"spaces"} ', "spaces"),
        (b'\xef\xbb\xbf{"t":"byte order mark"}', "byte order mark"),
        (b'\x1b[32m{"t":"coloured"}\x1b[0m', "coloured"),
        (b'\x1b]0;title\x07\x1b[2K{"t":"titled"}', "titled"),
        (b'{"t":"bad \xff byte"}', "bad \ufffd byte"),
        (rb'{"t":"half \ud83d pair"}', "half \ufffd pair"),
        (rb'{"t":"other half \udc00 pair"}', "other half \ufffd pair"),
        (rb'{"t":"\ud83d\ude00 whole, \ud83d half"}', "\U0001f600 whole, \ufffd half"),
        (rb'{"t":"a backslash \\ud83d"}', r"a backslash \ud83d"),
        (b'{"t":"not a number","n":NaN}', "not a number"),
        (b'{"t":"huge","n":' + b"9" * 400 + b"}", "huge"),
    ],
)
def test_an_object_is_read_as_well_as_it_can_be(line, text):
    found = read(line)
    assert found.text("t") == text
    found.text("t").encode()
    assert found.number("n") in (0, int("9" * 400) if "huge" in text else 0)


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"\n", b"banner", b"[1]", b'"t"', b"1", b"null", b"{", b'{"a":1', b'{"a":1}}'),
        *(b"{'a':1}", b"[" * 100_000, b'{"a":' * 100_000, b"\x1b[31m", b"\xff\xfe"),
        b'{"n":' + b"9" * 5000 + b"x}",
    ],
)
def test_what_is_no_object_is_none(line):
    assert read_fields(line) is None


@given(st.binary(max_size=80))
def test_any_bytes_are_read_without_failing_p12(line):
    found = read_fields(line)
    assert found is None or isinstance(found, Fields)
    plain_text(line).encode()


@given(st.dictionaries(st.text(max_size=3), values))
def test_a_field_of_another_type_is_empty(values):
    line = json.dumps(values, allow_nan=True).encode()
    fields = read_fields(line)
    if fields is None:
        assert b"\\ud" in line or "e" in line.decode()
        return
    for name in (*values, "not there"):
        assert isinstance(fields.text(name), str)
        assert isinstance(fields.whole(name), int)
        assert isinstance(fields.inner(name), Fields)
        assert all(isinstance(item, Fields) for item in fields.items(name))
        assert all(isinstance(item, str) for item in fields.texts(name))
    assert all(isinstance(inner, Fields) for inner in fields.inners())


def test_fields_are_taken_by_their_type():
    line = b'{"s":"x","n":2.5,"b":true,"o":{"k":1},"l":["a",{"k":2},3],"e":{},"i":1e999}'
    fields = read(line)
    assert (fields.text("s"), fields.text("n")) == ("x", "")
    assert (fields.number("n"), fields.number("b"), fields.number("s")) == (2.5, 0, 0)
    assert (fields.whole("n"), fields.number("i")) == (2, 0)
    assert Fields({"n": 1e300}).whole("n") == -Fields({"n": -(10**30)}).whole("n") == 2**53
    assert (fields.value("b"), fields.value("not there")) == (True, None)
    assert fields.inner("o").number("k") == 1
    assert not fields.inner("s") and not fields.inner("e") and fields.inner("o")
    assert [inner.number("k") for inner in fields.inners()] == [1, 0]
    assert [item.number("k") for item in fields.items("l")] == [2]
    assert fields.items("s") == []
    assert (fields.texts("l"), fields.texts("s")) == (("a",), ())
    assert json.loads(fields.inner("o").as_json()) == {"k": 1}


def test_a_summary_is_the_telling_argument_on_one_line():
    assert summary(Fields({"content": "long", "file_path": "/a/b.py"})) == "/a/b.py"
    assert summary(Fields({"command": "a\n  b\tc"})) == "a b c"
    assert summary(Fields({"x": 1})) == '{"x":1}'
    cut = summary(Fields({"command": "y" * 1000}))
    assert (len(cut), cut[-1]) == (200, "…")


def test_plain_text_is_without_colour_and_not_endless():
    assert plain_text(b"  \x1b[31mred\x1b[0m\xff ") == "red\ufffd"
    assert len(plain_text(b"x" * 1_000_000)) == 2000


@given(st.text())
def test_clean_text_can_be_encoded_and_is_not_changed_else_r03(text):
    assert clean_text(text) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert clean_text(f"{text}\udc80").endswith("\ufffd")


def test_a_line_of_json_is_one_line():
    assert json_line({"a": "x\ny\u2028é"}) == '{"a":"x\\ny\u2028é"}\n'
