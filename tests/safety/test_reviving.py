"""The guard starts a hub again that was killed, if `amiral up` had begun it, and with patience."""

import contextlib
import fcntl
import os
import sys
import tempfile
import time
from pathlib import Path

import pytest

from amiral.safety.reviving import HUB, Reviving, lock_path, log_path, want, want_no_more

PATIENCE_S = 20


@pytest.fixture
def home(monkeypatch):
    """A home where the program started in place of a hub leaves its words in a file."""
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        root = Path(folder).resolve()
        (root / HUB).mkdir()
        program = root / "python"
        program.write_text(f'#!/bin/sh\necho "$@" >> {root}/started\necho said\n')
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))
        yield root
        # What the guard starts is reaped by the kernel; here it is our child like any other.
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, 0)[0]:
                pass


def started(home):
    try:
        return (home / "started").read_text().splitlines()
    except FileNotFoundError:
        return []


def until_started(home, count):
    by = time.monotonic() + PATIENCE_S
    while len(started(home)) < count:
        assert time.monotonic() < by
        time.sleep(0.02)


def test_nothing_is_started_that_nobody_wants(home):
    assert Reviving(str(home)).look() == ""
    want(str(home), None)
    want_no_more(str(home))
    want_no_more(str(home))
    assert Reviving(str(home)).look() == ""


@pytest.mark.parametrize(("port", "words"), [(None, ""), (8800, " --port 8800")])
def test_a_hub_that_is_gone_is_started_as_it_was_and_not_twice_at_once(home, port, words):
    want(str(home), port)
    reviving = Reviving(str(home))
    assert "started again" in reviving.look()
    until_started(home, 1)
    assert started(home) == [f"-P -m amiral hub --json{words}"]
    assert reviving.look() == "", "the next try comes after a pause"
    log = home / HUB / "process.log"
    by = time.monotonic() + PATIENCE_S
    while log.read_text() != "said\n":
        assert time.monotonic() < by
    assert log.stat().st_mode & 0o077 == 0


def test_a_log_grown_too_large_is_begun_anew_when_a_hub_is_started(home):
    want(str(home), None)
    log = Path(log_path(str(home)))
    log.write_bytes(b"x" * (5 << 20))
    assert Reviving(str(home)).look() != ""
    until_started(home, 1)
    assert log.stat().st_size < 100
    assert log.with_name("process.log.1").stat().st_size == 5 << 20


def test_a_hub_that_lives_is_left_alone(home):
    want(str(home), None)
    lock = os.open(lock_path(str(home)), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert Reviving(str(home)).look() == ""
    os.close(lock)
    assert Reviving(str(home)).look() != ""
    until_started(home, 1)


def test_a_wish_that_cannot_be_read_is_one_without_a_port(home):
    (home / HUB / "wanted").write_text("; rm -rf /")
    assert Reviving(str(home)).look() != ""
    until_started(home, 1)
    assert started(home) == ["-P -m amiral hub --json"]
