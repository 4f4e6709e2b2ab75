"""The latch holds until a person lifts it, and whatever is doubtful is a stop."""

import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import amiral
from amiral.store.brake import Brake, BrakeError
from amiral.store.latch import SIZE, UNKNOWN, Stop

NOW_MS = 1_800_000_000_000
YEAR_MS = 365 * 24 * 3_600_000


@pytest.fixture
def brake(tmp_path):
    made = Brake(tmp_path / "brake")
    made.prepare()
    return made


@pytest.fixture
def latch(tmp_path, brake):
    return tmp_path / "brake" / "latch"


def test_a_new_home_is_not_stopped_and_its_latch_is_private_and_already_full_size(brake, latch):
    assert brake.state() is None
    assert latch.stat().st_size == SIZE
    assert stat.S_IMODE(latch.stat().st_mode) == 0o600
    assert stat.S_IMODE(latch.parent.stat().st_mode) == 0o700


def test_r36_a_stop_is_seen_by_every_other_reader_in_full(brake, latch):
    stop = brake.engage("costs too much", "owner", NOW_MS)
    assert Brake(str(latch.parent)).state() == stop
    assert (stop.reason, stop.by, stop.scope) == ("costs too much", "owner", "all")
    assert stop.since_ms == NOW_MS
    assert stop.stop_id.isalnum()
    assert stop.stop_id not in {"", UNKNOWN}


def test_r36_a_stop_lasts_through_preparing_again_and_through_any_age(brake, latch):
    stop = brake.engage("x", "owner", NOW_MS - 50 * YEAR_MS)
    os.utime(latch, (0, 0))
    again = Brake(latch.parent)
    again.prepare()
    assert again.state() == stop


def test_a_second_stop_keeps_the_first(brake):
    first = brake.engage("first", "owner", NOW_MS)
    assert brake.engage("second", "guard", NOW_MS + 1) == first
    assert brake.state() == first


def test_two_stops_have_different_names(brake):
    first = brake.engage("first", "owner", NOW_MS)
    brake.release(first.stop_id)
    assert brake.engage("second", "owner", NOW_MS).stop_id != first.stop_id


def test_r36_a_release_must_name_the_stop_in_force(brake):
    stop = brake.engage("x", "owner", NOW_MS)
    with pytest.raises(BrakeError, match=f"'{stop.stop_id}', not 'other'"):
        brake.release("other")
    assert brake.state() == stop
    brake.release(stop.stop_id)
    assert brake.state() is None


def test_a_release_without_a_stop_says_so(brake):
    with pytest.raises(BrakeError, match="no stop is in force"):
        brake.release("abc")


def test_a_release_during_another_release_asks_to_look_again(brake, latch):

    stop = brake.engage("x", "owner", NOW_MS)
    other = os.open(latch.parent, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(BrakeError, match="another release"):
        brake.release(stop.stop_id)
    os.close(other)
    assert brake.state() == stop


def test_a_release_that_cannot_be_written_leaves_the_stop(tmp_path):
    with pytest.raises(BrakeError, match="the stop holds"):
        Brake(tmp_path / "nowhere").release(UNKNOWN)
    assert Brake(tmp_path / "nowhere").state() is not None


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\0" * SIZE,
        b" " * SIZE,
        b'{"state": "off"}',
        b'{"state": "off"}'.ljust(SIZE + 1),
        b'{"state": "off", "stop_id": "x"}'.ljust(SIZE),
        b'{"state": "on", "stop_id": "x"}'.ljust(SIZE),
        b'["off"]'.ljust(SIZE),
        b"[" * SIZE,
        b'{"stop_id":"a","reason":"","by":"","since_ms":1e999,"scope":""}'.ljust(SIZE),
        b"\xff" * SIZE,
    ],
)
def test_s03_a_damaged_latch_is_a_stop_that_only_its_name_unknown_lifts(brake, latch, damage):
    latch.write_bytes(damage)
    stop = brake.state()
    assert stop is not None
    assert stop.stop_id == UNKNOWN
    with pytest.raises(BrakeError, match="'unknown', not 'x'"):
        brake.release("x")
    brake.release(UNKNOWN)
    assert brake.state() is None


def test_every_prefix_of_a_stop_over_an_open_latch_is_a_stop(brake, latch):
    off = latch.read_bytes()
    brake.engage("x" * 100, "owner", NOW_MS)
    on = latch.read_bytes()
    for cut in range(1, SIZE):
        latch.write_bytes(on[:cut] + off[cut:])
        torn = brake.state()
        assert torn is not None or on[:cut] == off[:cut]


def test_s03_a_latch_that_is_gone_is_a_stop_even_after_preparing_again(brake, latch):
    latch.unlink()
    for _ in range(2):
        stop = brake.state()
        assert stop is not None
        assert stop.stop_id == UNKNOWN
        brake.prepare()
    brake.release(UNKNOWN)
    assert brake.state() is None


def test_a_latch_that_cannot_be_opened_is_a_stop(brake, latch):
    latch.unlink()
    latch.symlink_to("/dev/null")
    stop = brake.state()
    assert stop is not None
    assert stop.stop_id == UNKNOWN


def test_a_home_never_prepared_is_stopped(tmp_path):
    stop = Brake(tmp_path / "nowhere").state()
    assert stop is not None
    assert stop.stop_id == UNKNOWN


def test_a_stop_over_a_damaged_latch_gets_a_name(brake, latch):
    latch.write_bytes(b"")
    stop = brake.engage("x", "owner", NOW_MS)
    assert stop.stop_id != UNKNOWN
    assert brake.state() == stop


def test_a_disk_that_refuses_even_to_overwrite_still_stops(brake, latch):
    latch.unlink()
    latch.mkdir()
    stop = brake.engage("x", "owner", NOW_MS)
    assert stop.stop_id == UNKNOWN
    assert brake.state() is not None


@pytest.mark.parametrize("reason", ["é" * 1000, '"\\\n\x00' * 300, "\ud800" * 600, "x" * 481])
def test_a_long_reason_is_cut_and_the_latch_keeps_its_size(brake, latch, reason):
    stop = brake.engage(reason, "o" * 500, NOW_MS)
    assert latch.stat().st_size == SIZE
    assert stop.stop_id != UNKNOWN
    assert brake.state() == stop
    assert stop.reason.encode("utf-8", "replace")[:40] == reason.encode("utf-8", "replace")[:40]


def test_p03_a_stop_killed_at_any_call_is_in_force_or_was_never_acknowledged(
    tmp_path, kill_at_each
):
    def prepare(name):
        Brake(tmp_path / name).prepare()
        return (tmp_path / name,)

    states = set()
    killed = []
    for call in ("pwrite64", "ftruncate", "fsync"):
        for done, (folder,) in kill_at_each(call, "engage.py", prepare):
            stop = Brake(folder).state()
            states.add(stop is None)
            killed += [call] * (done.returncode != 0)
            if done.stdout:
                assert stop is not None
                assert stop.stop_id == done.stdout
    assert states == {True, False}
    assert killed == ["pwrite64", "ftruncate", "fsync"]


@pytest.mark.parametrize("call", ["pwrite64", "fsync", "ftruncate"])
def test_p03_a_disk_that_fails_while_stopping_leaves_a_stop(tmp_path, run_script, strace, call):
    Brake(tmp_path).prepare()
    done = run_script("engage.py", tmp_path, under=strace(call, "error=EIO", 1))
    assert done.returncode == 0, done.stderr
    assert Brake(tmp_path).state() is not None


def test_p03_a_disk_that_refuses_every_way_of_stopping_is_an_error(tmp_path, run_script, strace):
    Brake(tmp_path).prepare()
    done = run_script("engage.py", tmp_path, under=strace("pwrite64,unlink", "error=EIO", 1))
    assert "Input/output error" in done.stderr
    assert (done.returncode, done.stdout, Brake(tmp_path).state()) == (1, "", None)


def test_stops_compare_by_what_they_say():
    stop = Stop("a", "b", "c", 1, "all")
    assert stop == Stop("a", "b", "c", 1, "all")
    assert stop != Stop("a", "b", "c", 2, "all")
    assert stop != "a"
    assert len({stop, Stop("a", "b", "c", 1, "all")}) == 1
    assert "'stop_id': 'a'" in repr(stop)


def test_importing_the_brake_loads_nothing_heavy():
    source = str(Path(amiral.__file__).parent.parent)
    code = (
        f"import sys; sys.path.insert(0, {source!r}); import amiral.store.brake, json;"
        "print(json.dumps(sorted(sys.modules)))"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    loaded = set(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
    heavy = {"asyncio", "dataclasses", "inspect", "logging", "msgspec", "pathlib", "subprocess"}
    assert loaded & (heavy | {"socket", "tempfile", "threading", "typing", "sqlite3"}) == set()
    assert {name for name in loaded if name.startswith("amiral.")} == {
        "amiral.store",
        "amiral.store.brake",
        "amiral.store.latch",
    }
