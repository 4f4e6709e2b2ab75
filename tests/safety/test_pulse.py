"""One guard a home, told by a lock; that it still looks, by what stands in its file (S09)."""

import json
import os
import time
from pathlib import Path

import pytest

from amiral.processes.tree import identify, is_alive
from amiral.safety.pulse import beat, pulse_of, take


@pytest.fixture
def home(tmp_path):
    return str(tmp_path)


@pytest.fixture
def lock(home):
    taken = take(home)
    assert taken is not None
    yield taken
    os.close(taken)


def test_without_a_guard_that_is_said(home):
    assert not pulse_of(home).is_running
    assert pulse_of(home).text == "no guard runs: amiral guard"
    assert os.listdir(home) == []


def test_r30_there_is_one_guard_and_its_lock_goes_with_it(home):
    first = take(home)
    assert first is not None
    assert take(home) is None
    os.close(first)
    again = take(home)
    assert again is not None
    os.close(again)


def test_a_guard_that_looks_is_running(home, lock):
    beat(home, 7, "⛔ stop 7f: killed 3 processes")
    pulse = pulse_of(home)
    assert (pulse.is_running, pulse.pid, pulse.told) == (
        True,
        os.getpid(),
        "⛔ stop 7f: killed 3 processes",
    )
    assert pulse.text == f"guard running (process {os.getpid()})"


def test_r30_the_process_that_beat_is_told_with_its_start(home, lock):
    """Its number may be another's by the time somebody wants to end it."""
    beat(home, 1, "")
    assert pulse_of(home).process == identify(os.getpid())
    file = Path(home, "guard", "beat.json")
    fields = json.loads(file.read_text())
    del fields["start"]
    file.write_text(json.dumps(fields))
    process = pulse_of(home).process
    assert process is not None
    assert not is_alive(process)


def test_a_beat_without_a_lock_is_of_the_dead(home):
    lock = take(home)
    assert lock is not None
    beat(home, 1, "looks")
    os.close(lock)
    assert pulse_of(home).text == "no guard runs: amiral guard"


@pytest.mark.parametrize(
    "change", [{"mono_s": time.monotonic() - 60}, {"mono_s": 1e12}, {"boot_id": "another"}]
)
def test_s09_a_guard_that_has_stopped_looking_hangs(home, lock, change):
    beat(home, 1, "looks")
    path = f"{home}/guard/beat.json"
    with open(path) as file:
        fields = json.load(file) | change
    with open(path, "w") as file:
        json.dump(fields, file)
    pulse = pulse_of(home)
    assert (pulse.is_held, pulse.is_running) == (True, False)
    assert pulse.text.startswith("the guard hangs (process")


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff" * 600])
def test_s09_a_torn_beat_is_no_beat_and_no_fault(home, lock, damage):
    beat(home, 1, "looks")
    with open(f"{home}/guard/beat.json", "wb") as file:
        file.write(damage)
    assert not pulse_of(home).is_running


def test_s09_the_file_keeps_its_size_whatever_is_told(home, lock):
    for told in ("x", "x" * 5000, "⛔" * 5000):
        beat(home, 2**60, told)
        assert os.path.getsize(f"{home}/guard/beat.json") == 1024
        assert pulse_of(home).is_running
