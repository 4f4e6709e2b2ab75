"""The tail of a session's output: every line once, in order, wherever segments and chunks end."""

import hashlib
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.framing import MAX_LINE_BYTES, Oversized
from amiral.agents.tail import OutputTail, Row


def write(folder: Path, *segments: bytes):
    for number, data in enumerate(segments, start=1):
        (folder / f"out.{number:06d}").write_bytes(data)


def read(tail: OutputTail) -> list[Row]:
    found = []
    while (row := tail.next_row()) is not None:
        found.append(row)
    return found


@pytest.fixture
def tail(tmp_path):
    made = []

    def make(start=(1, 0)):
        made.append(OutputTail(tmp_path, start))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_line_comes_with_the_position_just_after_it(tmp_path, tail):
    write(tmp_path, b"one\ntwo\n")
    assert read(tail()) == [Row(b"one", (1, 4)), Row(b"two", (1, 8))]


def test_a_line_without_its_end_waits_for_it(tmp_path, tail):
    write(tmp_path, b"one\ntw")
    one = tail()
    assert read(one) == [Row(b"one", (1, 4))]
    write(tmp_path, b"one\ntwo\n")
    assert read(one) == [Row(b"two", (1, 8))]


def test_there_is_nothing_before_the_first_output(tmp_path, tail):
    one = tail()
    assert read(one) == []
    assert one.take_rest() is None
    write(tmp_path, b"one\n")
    assert read(one) == [Row(b"one", (1, 4))]


def test_segments_follow_each_other_and_positions_begin_anew(tmp_path, tail):
    write(tmp_path, b"one\n", b"", b"two\n")
    assert read(tail()) == [Row(b"one", (1, 4)), Row(b"two", (3, 4))]


def test_reading_goes_on_from_any_position(tmp_path, tail):
    write(tmp_path, b"one\ntwo\n", b"three\n")
    assert read(tail((1, 4))) == [Row(b"two", (1, 8)), Row(b"three", (2, 6))]
    assert read(tail((2, 0))) == [Row(b"three", (2, 6))]
    assert read(tail((2, 6))) == []


def test_a_dropped_segment_is_not_missed_once_it_was_read(tmp_path, tail):
    write(tmp_path, b"one\n", b"two\n")
    (tmp_path / "out.000001").unlink()
    assert read(tail((2, 0))) == [Row(b"two", (2, 4))]


def test_a_file_cut_short_by_a_power_cut_gives_nothing_more(tmp_path, tail):
    write(tmp_path, b"one\n")
    one = tail((1, 400))
    assert read(one) == []
    assert one.take_rest() is None


def test_r05_the_rest_of_a_dead_clis_output_is_given_once(tmp_path, tail):
    write(tmp_path, b"one\ntw")
    one = tail()
    assert read(one) == [Row(b"one", (1, 4))]
    assert one.take_rest() == Row(b"tw", (1, 6))
    assert one.take_rest() is None


def test_r01_an_oversized_rest_is_given_as_its_size_and_hash(tmp_path, tail):
    data = b"x" * (MAX_LINE_BYTES + 5)
    write(tmp_path, data)
    one = tail()
    assert read(one) == []
    row = one.take_rest()
    assert row is not None
    assert isinstance(row.line, Oversized)
    assert (row.line.size, row.position) == (len(data), (1, len(data)))
    assert row.line.sha256 == hashlib.sha256(data).hexdigest()


LINES = st.lists(st.text("ab \x00", min_size=1, max_size=6).map(str.encode), max_size=5)


@given(st.lists(LINES, min_size=1, max_size=4), st.lists(st.integers(0, 40), max_size=6))
def test_p12_growth_in_any_steps_gives_the_same_lines(segments, cuts):
    """Whatever was printed when somebody looked, every line comes once, with the same position."""
    data = [b"".join(line + b"\n" for line in lines) for lines in segments]
    wanted, whole = [], b"".join(data)
    for number, lines in enumerate(segments, start=1):
        at = 0
        for line in lines:
            at += len(line) + 1
            wanted.append(Row(line, (number, at)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tail, found = OutputTail(folder, (1, 0)), []
        for _, cut in pairwise([0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]):
            left = cut
            for number, part in enumerate(data, start=1):
                if number == 1 or left > 0 or cut == len(whole):
                    (folder / f"out.{number:06d}").write_bytes(part[: max(0, left)])
                left -= len(part)
            found += read(tail)
        tail.close()
    assert found == wanted
