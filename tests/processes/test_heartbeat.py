"""The sign of life of a project's process, and what is told apart of it."""

import json
import os
import stat
import time

import pytest

from amiral.base.clock import SystemClock
from amiral.base.errors import Broken
from amiral.processes import tree
from amiral.processes.heartbeat import (
    Heartbeat,
    Unusable,
    age_s,
    heartbeat_path,
    own_beat,
    read,
    write,
)
from amiral.testbench.fake_clock import FakeClock

CLOCK = SystemClock()


def look(home, clock=CLOCK, name="shop", project="shop-1"):
    return read(home, name, project, clock)


def put(home, **changes):
    """Write a beat of this process with some fields changed, as any program could."""
    beat = own_beat("shop", "shop-1", 3, CLOCK)
    document = {name: getattr(beat, name) for name in beat.__dataclass_fields__} | changes
    path = heartbeat_path(home, "shop", "shop-1")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))


def test_s1_24_a_beat_reads_back_as_it_was_and_names_its_process(tmp_path):
    beat = own_beat("shop", "shop-1", 7, CLOCK, "degraded", "the disk is full")
    write(tmp_path, beat)
    assert (tmp_path / "state" / "heartbeat_shop.json").exists()
    assert look(tmp_path) == beat
    assert beat.identity == tree.identify(os.getpid())
    assert (beat.seq, beat.state, beat.reason) == (7, "degraded", "the disk is full")


def test_a_beat_is_private_and_leaves_nothing_beside_it(tmp_path):
    for number in range(3):
        write(tmp_path, own_beat("shop", "shop-1", number, CLOCK))
    (path,) = (tmp_path / "state").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert look(tmp_path).seq == 2


def test_r35_age_is_monotonic_whatever_the_wall_clock_does(tmp_path):
    clock = FakeClock(monotonic_s=1000.0)
    write(tmp_path, own_beat("shop", "shop-1", 1, clock))
    clock.jump(8 * 3600 * 1000)
    assert age_s(look(tmp_path, clock), clock) == 0
    later = FakeClock(monotonic_s=1090.5)
    assert age_s(look(tmp_path, later), later) == 90


def test_s09_age_comes_from_inside_the_file_not_from_its_times(tmp_path):
    write(tmp_path, own_beat("shop", "shop-1", 1, CLOCK))
    os.utime(tmp_path / "state" / "heartbeat_shop.json", (0, 0))
    assert age_s(look(tmp_path), CLOCK) <= 1


def test_no_file_is_an_absent_beat(tmp_path):
    assert look(tmp_path) == Unusable("absent")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"name": "shop"}', "\0" * 100, '{"a":' * 5000, "x" * (1 << 17)],
    ids=["empty", "cut", "list", "null", "few fields", "zeros", "deep", "long"],
)
def test_s09_what_is_no_beat_is_torn(tmp_path, text):
    put(tmp_path)
    heartbeat_path(tmp_path, "shop", "shop-1").write_text(text)
    assert look(tmp_path) == Unusable("torn")


@pytest.mark.parametrize("size", [1, 40, 100, 150])
def test_s09_a_beat_cut_anywhere_is_torn(tmp_path, size):
    put(tmp_path)
    path = heartbeat_path(tmp_path, "shop", "shop-1")
    path.write_bytes(path.read_bytes()[:size])
    assert look(tmp_path) == Unusable("torn")


def test_an_unknown_state_is_torn(tmp_path):
    put(tmp_path, state="happy")
    assert look(tmp_path) == Unusable("torn")


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_plain_file_is_torn_and_never_waited_for(tmp_path, kind):
    put(tmp_path)
    path = heartbeat_path(tmp_path, "shop", "shop-1")
    path.rename(tmp_path / "elsewhere")
    match kind:
        case "link":
            path.symlink_to(tmp_path / "elsewhere")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
    assert look(tmp_path) == Unusable("torn")


@pytest.mark.parametrize("changes", [{"name": "till"}, {"project": "shop-2"}])
def test_r30_a_beat_of_another_project_is_foreign(tmp_path, changes):
    put(tmp_path, **changes)
    assert look(tmp_path) == Unusable("foreign")


def test_r30_a_beat_of_another_run_of_the_machine_is_old_whatever_its_clock_says(tmp_path):
    put(tmp_path, boot_id="0" * 8)
    assert look(tmp_path) == Unusable("old boot")
    put(tmp_path, boot_id="0" * 8, mono_ms=2**50)
    assert look(tmp_path) == Unusable("old boot")


def test_a_beat_of_a_later_moment_is_not_believed(tmp_path):
    put(tmp_path, mono_ms=round((time.monotonic() + 3600) * 1000))
    assert look(tmp_path) == Unusable("future")


def test_a_beat_a_moment_ahead_is_of_now(tmp_path):
    clock = FakeClock(monotonic_s=100.0)
    write(tmp_path, own_beat("shop", "shop-1", 1, FakeClock(monotonic_s=100.5)))
    found = look(tmp_path, clock)
    assert isinstance(found, Heartbeat)
    assert age_s(found, clock) == 0


@pytest.mark.parametrize("name", ["my shop 2", "Bäckerei", "é" * 60, "店" * 60])
def test_every_name_a_project_can_have_has_a_file(tmp_path, name):
    beat = own_beat(name, "x-1", 1, CLOCK)
    write(tmp_path, beat)
    assert read(tmp_path, name, "x-1", CLOCK) == beat


def test_a_disk_that_refuses_leaves_the_last_beat(tmp_path):
    write(tmp_path, own_beat("shop", "shop-1", 1, CLOCK))
    (tmp_path / "state" / "heartbeat_till.json").mkdir()
    with pytest.raises(Broken, match="heartbeat_till"):
        write(tmp_path, own_beat("till", "till-1", 1, CLOCK))
    assert look(tmp_path).seq == 1
