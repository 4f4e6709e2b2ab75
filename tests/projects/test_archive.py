"""An archive is whole, is proved, and never takes the place of another."""

import os
import tarfile
from pathlib import Path

import pytest

from amiral.base.errors import Broken, Conflict
from amiral.projects.archive import keep


@pytest.fixture
def state(tmp_path):
    (tmp_path / "state" / "in").mkdir(parents=True)
    (tmp_path / "state" / "in" / "a").write_bytes(bytes(range(256)) * 100)
    return tmp_path / "state"


def test_each_archive_of_a_day_has_a_name_of_its_own(tmp_path, state):
    made = [keep(tmp_path / "archive", "tea", {"state": state}, b"{}") for _ in range(3)]
    assert [path.name for path in made] == ["tea.tar.gz", "tea-2.tar.gz", "tea-3.tar.gz"]
    assert {path.stat().st_mode & 0o777 for path in made} == {0o600}
    assert (tmp_path / "archive").stat().st_mode & 0o777 == 0o700
    assert len(list((tmp_path / "archive").iterdir())) == 3


def test_what_is_not_there_is_left_out(tmp_path, state):
    path = keep(tmp_path / "archive", "tea", {"state": state, "x": tmp_path / "none"}, b"{}")
    with tarfile.open(path) as opened:
        assert set(opened.getnames()) == {"record.json", "state", "state/in", "state/in/a"}


def test_a_tree_deeper_than_any_stack_is_kept(tmp_path, state):
    held = os.open(state, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d" * 9, dir_fd=held)
        inner = os.open("d" * 9, os.O_RDONLY, dir_fd=held)
        os.close(held)
        held = inner
    os.close(held)
    path = keep(tmp_path / "archive", "tea", {"state": state}, b"{}")
    with tarfile.open(path) as opened:
        assert sum(name.endswith("d" * 9) for name in opened.getnames()) == 300


class WrittenTo(dict):
    """Parts with a writer who does not rest: each look at them finds something new."""

    def items(self):
        for path in self.values():
            with (path / "log").open("ab") as log:
                log.write(b"x")
        return super().items()


def test_what_changes_meanwhile_gives_no_archive(tmp_path, state):
    with pytest.raises(Conflict, match="while it was archived"):
        keep(tmp_path / "archive", "tea", WrittenTo(state=state), b"{}")
    assert list((tmp_path / "archive").iterdir()) == []


def test_what_reads_otherwise_the_second_time_gives_no_archive(tmp_path):
    with pytest.raises(Broken, match="not in the archive as it lies there"):
        keep(tmp_path / "archive", "tea", {"state": Path("/proc/uptime")}, b"{}")
    assert list((tmp_path / "archive").iterdir()) == []


def test_a_place_that_takes_nothing_is_told(tmp_path, state):
    (tmp_path / "archive").mkdir(mode=0o700)
    name = "x" * 300
    with pytest.raises(Broken, match="cannot archive into"):
        keep(tmp_path / "archive", name, {"state": state}, b"{}")
