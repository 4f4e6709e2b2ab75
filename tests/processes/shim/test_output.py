"""Output on disk: segments that lose nothing, a ring that stays small."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.processes.shim.output import Ring, Segments

CHUNKS = st.lists(st.binary(min_size=1, max_size=30).map(lambda data: data.replace(b"a", b"\n")))


def parts(folder):
    return [path.read_bytes() for path in sorted(folder.glob("out.*"))]


def write(folder, chunks, limit):
    segments = Segments(str(folder), limit)
    for chunk in chunks:
        segments.append(chunk)
    return segments


@given(CHUNKS, st.integers(min_value=1, max_value=40))
def test_segments_hold_every_byte_and_begin_at_line_borders(tmp_path_factory, chunks, limit):
    folder = tmp_path_factory.mktemp("out")
    segments = write(folder, chunks, limit)
    position = segments.position
    segments.close()
    held = parts(folder)
    assert b"".join(held) == b"".join(chunks)
    assert position == (len(held), len(held[-1]))
    assert all(part.endswith(b"\n") and len(part) >= limit for part in held[:-1])
    assert all(b"\n" not in part[limit - 1 : -1] for part in held)


def test_a_segment_ends_at_the_first_line_border_after_its_size(tmp_path):
    write(tmp_path, [b"1234\n56", b"78\n9\n", b"\n"], 7).close()
    assert parts(tmp_path) == [b"1234\n5678\n", b"9\n\n"]


def test_dropping_never_takes_the_segment_being_written(tmp_path):
    segments = write(tmp_path, [b"a\n", b"b\n", b"c\n", b"d\n"], 2)
    segments.drop(2)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["out.000003", "out.000004"]
    segments.drop(2)
    segments.drop(9)
    segments.append(b"e\n")
    segments.close()
    assert parts(tmp_path) == [b"d\n", b"e\n"]


def test_what_the_disk_refuses_stays_pending_in_order(tmp_path):
    segments = write(tmp_path, [b"a\n"], 2)
    (tmp_path / "out.000002").write_bytes(b"in the way")
    for chunk in (b"b\n", b"c"):
        with pytest.raises(OSError, match="exists"):
            segments.append(chunk)
    assert segments.pending == b"b\nc"
    (tmp_path / "out.000002").unlink()
    segments.append(b"")
    segments.close()
    assert (segments.pending, parts(tmp_path)) == (b"", [b"a\n", b"b\n", b"c"])


def test_the_ring_keeps_the_last_bytes(tmp_path):
    ring = Ring(str(tmp_path), 100)
    for number in range(100):
        ring.append(b"%09d\n" % number)
    ring.close()
    kept = (tmp_path / "err.1").read_bytes() + (tmp_path / "err").read_bytes()
    assert 100 <= len(kept) <= 200
    assert kept.endswith(b"000000098\n000000099\n")


def test_the_ring_goes_on_after_the_disk_refused(tmp_path):
    ring = Ring(str(tmp_path), 10)
    ring.append(b"0123456789")
    (tmp_path / "err.0").mkdir()
    ring.append(b"lost")
    (tmp_path / "err.0").rmdir()
    ring.append(b"kept")
    ring.close()
    assert (tmp_path / "err").read_bytes() == b"kept"
    assert (tmp_path / "err.1").read_bytes() == b"0123456789"
