"""Stops of a part, and freezes, beside the latch: each holds its scope alone until it is lifted."""

import fcntl
import os
import subprocess
import sys

import pytest

from amiral.store import latch
from amiral.store.brake import Brake, BrakeError
from amiral.store.latch import MARKS_SIZE, UNKNOWN, Stop

NOW_MS = 1_800_000_000_000


@pytest.fixture
def brake(tmp_path):
    made = Brake(tmp_path / "brake")
    made.prepare()
    return made


@pytest.fixture
def marks(tmp_path, brake):
    return tmp_path / "brake" / "marks"


@pytest.fixture
def shop(tmp_path, brake):
    return Brake(tmp_path / "brake", "shop-1")


@pytest.fixture
def other(tmp_path, brake):
    return Brake(tmp_path / "brake", "shop-10")


def test_a_stop_holds_its_project_and_no_other(brake, shop, other, marks):
    stop = brake.engage("enough", "owner", NOW_MS, "shop-1")
    assert (shop.state(), shop.state("dev"), shop.here()) == (stop, stop, [stop])
    assert (other.state(), other.here(), brake.state()) == (None, [], None)
    assert brake.every() == brake.here() == [stop]
    assert marks.stat().st_size == MARKS_SIZE


def test_a_stop_holds_its_worker_and_no_other(brake, shop, other):
    stop = brake.engage("enough", "owner", NOW_MS, "shop-1/dev", 4000)
    assert (shop.state("dev"), shop.state(), shop.state("dev2")) == (stop, None, None)
    assert (other.state("dev"), shop.here()) == (None, [stop])
    assert (stop.grace_ms, stop.scope) == (4000, "shop-1/dev")


def test_the_fleets_stop_comes_first_and_lifting_a_narrower_one_changes_nothing_else(brake, shop):
    narrow = brake.engage("one", "owner", NOW_MS, "shop-1")
    wide = brake.engage("all", "owner", NOW_MS)
    assert (shop.state(), brake.every()) == (wide, [wide, narrow])
    brake.release(narrow.stop_id)
    assert (shop.state(), brake.every()) == (wide, [wide])
    narrow = brake.engage("one", "owner", NOW_MS, "shop-1")
    brake.release(wide.stop_id)
    assert (shop.state(), brake.state()) == (narrow, None)


def test_a_second_stop_of_the_same_scope_keeps_the_first(brake):
    first = brake.engage("first", "owner", NOW_MS, "shop-1")
    assert brake.engage("second", "guard", NOW_MS + 1, "shop-1") == first
    assert brake.every() == [first]


def test_a_release_names_all_that_are_in_force(brake):
    stops = [brake.engage("x", "owner", NOW_MS, scope) for scope in ("a", "b/c")]
    told = f"stops in force are '{stops[0].stop_id}', '{stops[1].stop_id}', not 'x'"
    with pytest.raises(BrakeError, match=told):
        brake.release("x")
    assert brake.every() == stops


def test_a_freeze_is_lifted_by_its_scope_and_by_no_release(brake, shop):
    freeze = brake.freeze("a moment", "owner", NOW_MS, "shop-1")
    assert shop.state() == freeze
    assert (freeze.is_freeze, freeze.name) == (True, f"freeze {freeze.stop_id}")
    assert freeze.way_out == "amiral thaw shop-1"
    with pytest.raises(BrakeError, match="no stop is in force"):
        brake.release(freeze.stop_id)
    with pytest.raises(BrakeError, match="all is not frozen; frozen: shop-1"):
        brake.thaw("all")
    brake.thaw("shop-1")
    assert shop.state() is None
    with pytest.raises(BrakeError, match="shop-1 is not frozen; frozen: nothing"):
        brake.thaw("shop-1")


def test_a_freeze_of_everything_is_no_stop_and_a_stop_goes_before_it(brake, shop):
    freeze = brake.freeze("a moment", "owner", NOW_MS)
    assert (brake.state(), shop.state("dev"), freeze.way_out) == (freeze, freeze, "amiral thaw")
    stop = brake.engage("enough", "owner", NOW_MS, "shop-1")
    assert (shop.state(), brake.every()) == (stop, [stop, freeze])
    assert stop.way_out == f"amiral release {stop.stop_id}"
    brake.release(stop.stop_id)
    assert shop.state() == freeze


@pytest.mark.parametrize("damage", [b"", b"[]", b" " * MARKS_SIZE, b"\xff" * MARKS_SIZE])
def test_s03_damaged_marks_are_a_stop_of_everything_that_only_unknown_lifts(brake, marks, damage):
    marks.write_bytes(damage)
    stop = brake.state()
    assert (stop.stop_id, stop.scope) == (UNKNOWN, "all")
    brake.release(UNKNOWN)
    assert brake.every() == []


def test_s03_marks_that_are_gone_are_a_stop_even_after_preparing_again(brake, marks):
    marks.unlink()
    for _ in range(2):
        assert brake.state().stop_id == UNKNOWN
        brake.prepare()
    brake.release(UNKNOWN)
    assert brake.state() is None


def test_a_home_of_before_there_were_marks_has_none_and_gets_them(tmp_path, brake, marks):
    marks.unlink()
    (tmp_path / "brake" / "prepared.marks").unlink()
    assert brake.every() == []
    stop = brake.engage("enough", "owner", NOW_MS, "shop-1")
    brake.prepare()
    assert brake.every() == [stop]


def test_every_torn_write_of_marks_is_a_stop_or_whole(brake, marks):
    before = marks.read_bytes()
    brake.engage("x" * 100, "owner", NOW_MS, "shop-1")
    after = marks.read_bytes()
    for cut in [*range(1, 400), 512, 4096, MARKS_SIZE - 10, MARKS_SIZE - 1]:
        torn = after[:cut] + before[cut:]
        marks.write_bytes(torn)
        assert torn == before or brake.every() != []


def test_p03_what_finds_no_place_stops_everything_and_says_so(brake, shop, other):
    for number in range(200):
        stop = brake.engage("x" * 500, "owner", NOW_MS, f"shop-1/worker{number}")
        if stop.scope == "all":
            break
    assert (stop.scope, other.state()) == ("all", stop)
    assert "no room for another one" in stop.reason
    assert number >= 20


def test_p03_a_scope_with_too_long_a_name_stops_everything(brake, other):
    stop = brake.engage("enough", "owner", NOW_MS, "s" * 500)
    assert (stop.scope, other.state()) == ("all", stop)


def test_p03_a_stop_beside_damaged_marks_stops_everything(brake, marks, other):
    marks.write_bytes(b"")
    stop = brake.engage("enough", "owner", NOW_MS, "shop-1")
    assert (stop.scope, stop.stop_id == UNKNOWN) == ("all", False)
    assert "not shop-1 alone, the marks cannot be read" in stop.reason


def test_p03_a_stop_while_the_folder_is_held_stops_everything(brake, tmp_path, other):
    """A release that hangs would write over what was added meanwhile."""
    lock = os.open(tmp_path / "brake", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    stop = brake.engage("enough", "owner", NOW_MS, "shop-1")
    with pytest.raises(OSError, match="another change"):
        brake.freeze("a moment", "owner", NOW_MS, "shop-1")
    os.close(lock)
    assert (stop.scope, other.state()) == ("all", stop)


def test_r38_a_freeze_that_finds_no_place_is_refused(brake, marks):
    marks.unlink()
    marks.mkdir()
    with pytest.raises(OSError):
        brake.freeze("a moment", "owner", NOW_MS)


def torn(marks, brake):
    """Tear the write of one more mark: all is there but the sum that proves it."""
    before = marks.read_bytes()
    brake.engage("a last one", "owner", NOW_MS, "shop-3")
    whole = marks.read_bytes()
    marks.write_bytes(whole[:4096] + before[4096:])


def test_p03_what_damaged_marks_still_name_stays_on_when_unknown_is_lifted(brake, shop, marks):
    stop = brake.engage('say "{x}" {}', "owner", NOW_MS, "shop-1", 4000)
    freeze = brake.freeze("a moment", "owner", NOW_MS, "shop-2/dev")
    torn(marks, brake)
    assert [one.stop_id for one in brake.every()] == [UNKNOWN]
    brake.release(UNKNOWN)
    assert brake.every()[0] == shop.state() == stop
    assert [one.scope for one in brake.every()] == ["shop-1", "shop-3", "shop-2/dev"]
    assert brake.every()[2] == freeze


def test_p03_of_a_file_cut_anywhere_the_marks_before_the_cut_stay(brake, marks):
    names = [f"shop-{number}" for number in range(3)]
    for name in names:
        brake.engage("x", "owner", NOW_MS, name)
    whole = marks.read_bytes()
    ends = [whole.index(b"}", whole.index(name.encode())) for name in names]
    for cut in range(0, 600, 7):
        marks.write_bytes(whole[:cut])
        brake.release(UNKNOWN)
        there = [name for name, end in zip(names, ends, strict=True) if end < cut]
        assert [one.scope for one in brake.every()] == there


def test_a_mark_that_is_there_twice_after_damage_is_kept_once(brake, marks):
    stop = brake.engage("x", "owner", NOW_MS, "shop-1")
    told = marks.read_bytes().strip()[1:].partition(b"}")[0] + b"}"
    marks.write_bytes(b"[" + told + b", " + told)
    brake.release(UNKNOWN)
    assert brake.every() == [stop]


@pytest.mark.parametrize("call", ["pwrite64", "ftruncate", "fsync"])
def test_p03_a_release_of_unknown_killed_at_any_call_never_leaves_less(
    tmp_path, kill_at_each, call
):
    def prepare(name):
        brake = Brake(tmp_path / name)
        brake.prepare()
        stop = brake.engage("x", "owner", NOW_MS, "shop-1")
        brake.freeze("x", "owner", NOW_MS, "shop-2")
        torn(tmp_path / name / "marks", brake)
        (tmp_path / name / "latch").write_bytes(b"")
        return tmp_path / name, UNKNOWN, stop.stop_id

    killed = 0
    for done, (folder, _, stop_id) in kill_at_each(call, "release.py", prepare):
        brake = Brake(folder)
        killed += done.returncode != 0
        assert brake.state() is None or not done.stdout
        if brake.state() is not None:
            brake.release(UNKNOWN)
        assert [one.scope for one in brake.every()] == ["shop-1", "shop-3", "shop-2"]
        assert brake.every()[0].stop_id == stop_id
    assert killed >= 2


READ = """
import sys
from amiral.store.brake import Brake
brake = Brake(sys.argv[1], "shop-1")
print("ready", flush=True)
unknown = 0
while brake.state("end") is None:
    unknown += any(one.stop_id == "unknown" for one in brake.every())
print(unknown)
"""


def test_who_reads_while_marks_are_written_never_sees_a_stop_that_is_none(brake, tmp_path):
    command = [sys.executable, "-c", READ]
    with subprocess.Popen(
        [*command, str(tmp_path / "brake")], stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        for _ in range(300):
            stop = brake.engage("x", "owner", NOW_MS, "shop-2")
            brake.release(stop.stop_id)
        brake.engage("x", "owner", NOW_MS, "shop-1/end")
        assert reader.stdout.read() == "0\n"


def test_latches_of_before_there_were_levels_are_read():
    old = b'{"state":"on","stop_id":"a","reason":"r","by":"b","since_ms":1,"scope":"all"}'
    assert latch.decode(old.ljust(latch.SIZE)) == Stop("a", "r", "b", 1, "all")
