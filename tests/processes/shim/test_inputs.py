"""The record of inputs, read back after any crash."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.processes.shim.inputs import InputLog, states_of

KEYS = st.text(max_size=5)
RECORDS = st.one_of(
    st.builds(lambda key, data: {"id": key, "data": data}, KEYS, st.text(max_size=9)),
    st.builds(lambda key: {"written": key}, KEYS),
    st.builds(lambda key: {"withdrawn": key}, KEYS),
)


def lines(records) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in records)


@pytest.mark.parametrize(
    ("records", "states"),
    [
        ([], {}),
        ([{"id": "a", "data": "x"}], {"a": "recorded"}),
        ([{"id": "a", "data": "x"}, {"written": "a"}], {"a": "written"}),
        ([{"id": "a", "data": "x"}, {"withdrawn": "a"}], {}),
        (
            [{"id": "a", "data": ""}, {"id": "b", "data": "\n"}, {"written": "a"}],
            {"a": "written", "b": "recorded"},
        ),
        ([{"id": "written", "data": "id"}], {"written": "recorded"}),
    ],
)
def test_each_input_is_written_recorded_or_not_named(records, states):
    assert states_of(lines(records)) == states


@given(st.lists(RECORDS), RECORDS, st.integers(min_value=0, max_value=40))
def test_a_torn_last_line_changes_nothing(records, last, cut):
    torn = lines([last])[:-1][:cut]
    assert states_of(lines(records) + torn) == states_of(lines(records))


@given(st.binary(max_size=60))
def test_whatever_the_bytes_there_is_an_answer_or_a_value_error(text):
    try:
        states = states_of(text)
    except ValueError:
        states = {}
    assert set(states.values()) <= {"written", "recorded"}


@pytest.mark.parametrize("line", [b"{}", b"[]", b"3", b"x", b'"id"', b"\xff", b"", b'{"id": 3}'])
def test_a_damaged_line_in_the_middle_is_named(line):
    with pytest.raises(ValueError, match="line 2 is damaged"):
        states_of(lines([{"id": "a", "data": ""}]) + line + b"\n" + lines([{"written": "a"}]))


def test_the_log_holds_what_was_recorded_and_marked(tmp_path):
    log = InputLog(str(tmp_path))
    log.record("a", "é\u2028\n")
    log.mark("written", "a")
    log.record("b", "x")
    log.close()
    text = (tmp_path / "in.jsonl").read_bytes()
    assert states_of(text) == {"a": "written", "b": "recorded"}
    assert json.loads(text.split(b"\n")[0]) == {"id": "a", "data": "é\u2028\n"}
    assert (tmp_path / "in.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_session_has_one_log(tmp_path):
    InputLog(str(tmp_path)).close()
    with pytest.raises(FileExistsError):
        InputLog(str(tmp_path))
