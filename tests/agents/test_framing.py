"""Lines out of bytes: none lost, none joined, whatever the chunks (R01-R03, R05, R08, P12)."""

import hashlib
import json
import re
import tracemalloc
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.framing import MAX_LINE_BYTES, Framer, Line, Oversized

CAP = 8
streams = st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"bcd", b"x" * 9, b"\xc3\xa9"]))


def frame(chunks, cap=MAX_LINE_BYTES, at=0) -> tuple[list[Line | Oversized], Framer]:
    framer = Framer(at=at, cap=cap)
    return [line for chunk in chunks for line in framer.feed(chunk)], framer


def expected(whole: bytes, cap: int) -> list[Line | Oversized]:
    lines: list[Line | Oversized] = []
    for found in re.finditer(rb"[^\r\n]*[\r\n]", whole):
        data = found[0][:-1]
        if len(data) > cap:
            lines.append(Oversized(len(data), hashlib.sha256(data).hexdigest(), found.end()))
        elif data:
            lines.append(Line(data, found.end()))
    return lines


def cut(whole: bytes, cuts) -> list[bytes]:
    ends = [0, *sorted(cuts), len(whole)]
    return [whole[a:b] for a, b in pairwise(ends)]


def test_the_cap_is_64_mib():
    assert MAX_LINE_BYTES == 64 * 1024 * 1024


def test_long_lines_are_whole_r01():
    lines = [b'{"n":1}', b'"' + b"x" * 70_000 + b'"', b"y" * 5 * 1024 * 1024, b'{"n":3}']
    whole = b"".join(line + b"\n" for line in lines)
    found, _ = frame(whole[at : at + 65536] for at in range(0, len(whole), 65536))
    assert [line.data for line in found if isinstance(line, Line)] == lines


def test_a_line_over_the_cap_is_told_by_size_and_hash_and_the_next_one_is_whole_r01():
    long = b"z" * 50
    found, framer = frame([b"a\n", long[:20], long[20:], b"\nb\n"], cap=CAP)
    told = Oversized(50, hashlib.sha256(long).hexdigest(), 53)
    assert found == [Line(b"a", 2), told, Line(b"b", 55)]
    assert (framer.at, framer.pending, framer.tail()) == (55, 0, b"")


def test_the_cap_is_for_each_line_alone_r02():
    found, _ = frame([b"12345678\n" * 500] * 24, cap=CAP)
    assert len(found) == 12_000
    assert all(isinstance(line, Line) for line in found)
    found, _ = frame([b"12345678\n" * 3, b"123456789\n", b"12\n", b"9" * 30 + b"\n"], cap=CAP)
    assert [type(line) for line in found] == [Line, Line, Line, Oversized, Line, Oversized]


def test_two_lines_over_the_cap_have_their_own_hashes():
    found, _ = frame([b"a" * 20, b"\n", b"b" * 5, b"b" * 15 + b"\n"], cap=CAP)
    assert [line.sha256 for line in found if isinstance(line, Oversized)] == [
        hashlib.sha256(b"a" * 20).hexdigest(),
        hashlib.sha256(b"b" * 20).hexdigest(),
    ]


def test_memory_stays_flat_over_the_cap():
    framer = Framer(cap=100_000)
    chunk = b"x" * 10_000
    tracemalloc.start()
    for _ in range(2_000):
        assert framer.feed(chunk) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000
    (line,) = framer.feed(b"\n")
    assert isinstance(line, Oversized)
    assert (line.size, line.sha256) == (20_000_000, hashlib.sha256(chunk * 2_000).hexdigest())


def test_a_character_may_be_cut_anywhere_r03():
    text = '{"t":"é한😀"}'
    whole = text.encode() + b"\n"
    for place in range(len(whole)):
        (line,), _ = frame([whole[:place], whole[place:]])
        assert isinstance(line, Line)
        assert json.loads(line.data) == json.loads(text)


def test_carriage_returns_end_lines_too_r08():
    found, framer = frame([b"10%\r50%\r100%\n{}\r\n\r\n\n{}", b"\r", b"\nend\n"])
    assert [line.data for line in found if isinstance(line, Line)] == [
        *(b"10%", b"50%", b"100%", b"{}", b"{}", b"end"),
    ]
    assert framer.at == len(b"10%\r50%\r100%\n{}\r\n\r\n\n{}\r\nend\n")


def test_what_has_no_end_is_kept_for_the_end_of_the_file_r05():
    found, framer = frame([b'{"a":1}\n{"type":"res', b'ult","x'])
    assert found == [Line(b'{"a":1}', 8)]
    assert framer.tail() == b'{"type":"result","x'
    assert (framer.at, framer.pending) == (8, len(framer.tail()))


def test_an_unfinished_line_over_the_cap_is_counted_and_not_kept_r05():
    _, framer = frame([b"a" * 30, b"b" * 5], cap=CAP)
    assert (framer.at, framer.pending, framer.tail()) == (0, 35, b"")


def test_positions_count_from_the_place_the_reading_begins():
    found, framer = frame([b"ab\n\nc\n"], at=1000)
    assert found == [Line(b"ab", 1003), Line(b"c", 1006)]
    assert framer.at == 1006


@given(parts=streams, data=st.data())
def test_any_chunking_gives_the_same_lines_and_positions_p12(parts, data):
    whole = b"".join(parts)
    cuts = data.draw(st.sets(st.integers(0, len(whole))))
    found, framer = frame(cut(whole, cuts), cap=CAP)
    assert found == expected(whole, CAP)
    rest = re.split(rb"[\r\n]", whole)[-1]
    assert framer.pending == len(rest)
    assert framer.tail() == (rest if len(rest) <= CAP else b"")
    assert framer.at == len(whole) - len(rest)


@given(parts=streams)
def test_reading_on_from_the_end_of_any_line_gives_the_lines_after_it(parts):
    whole = b"".join(parts)
    lines, _ = frame([whole], cap=CAP)
    for number, line in enumerate(lines):
        rest, _ = frame([whole[line.end :]], cap=CAP, at=line.end)
        assert rest == lines[number + 1 :]
