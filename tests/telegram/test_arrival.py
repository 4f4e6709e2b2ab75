"""A file that comes in is whole under its name, or not there."""

import os
import signal
import subprocess
import sys

import pytest

from amiral.base.errors import Broken
from amiral.telegram.arrival import arriving

KILLED = """
import os, signal, sys
from pathlib import Path
from amiral.telegram.arrival import arriving

with arriving(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_there_when_it_is_whole_and_ours_alone(tmp_path):
    path = tmp_path / "a.ogg"
    with arriving(path) as file:
        file.write(b"one")
        assert not path.exists()
    assert path.read_bytes() == b"one"
    assert path.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["a.ogg"]


def test_a_failure_leaves_what_was_there_before(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail():
        with arriving(path) as file:
            file.write(b"new")
            raise ValueError

    with pytest.raises(ValueError):
        fail()
    assert path.read_bytes() == b"old" and names(tmp_path) == ["a"]


def test_the_remains_of_a_killed_download_are_no_hindrance(tmp_path):
    path = tmp_path / "a"
    ran = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert ran.returncode == -signal.SIGKILL and not path.exists()
    with arriving(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole" and names(tmp_path) == ["a"]


def test_what_lies_in_its_way_is_not_written_through(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / ".a.part").symlink_to(victim)
    with arriving(tmp_path / "a") as file:
        file.write(b"theirs")
    assert victim.read_bytes() == b"mine"
    os.unlink(tmp_path / "a")
    (tmp_path / "a").symlink_to(victim)
    with arriving(tmp_path / "a") as file:
        file.write(b"theirs")
    assert victim.read_bytes() == b"mine" and not (tmp_path / "a").is_symlink()


def test_a_disk_that_refuses_is_told(tmp_path):
    with pytest.raises(Broken, match="cannot write"), arriving(tmp_path / "none" / "a"):
        pass
    with pytest.raises(Broken, match="No space left"), arriving(tmp_path / "a"):
        raise OSError(28, "x")
    assert names(tmp_path) == []
