"""A flag file plants a stop only when it is the owner's own, plain, private and fresh (S03)."""

import os
import time

import pytest

from amiral.safety.flag import PATH, flag_path, look_for_flag


@pytest.fixture
def flag(tmp_path):
    path = tmp_path / "emergency-stop.flag"
    path.touch(0o644)
    return path


def why_not(path) -> str:
    found = look_for_flag(str(path))
    assert found is not None
    return found.why_not


def test_a_fresh_plain_file_of_our_own_counts_and_is_taken_away(flag):
    found = look_for_flag(str(flag))
    assert found is not None
    assert (found.why_not, found.path) == ("", str(flag))
    found.remove()
    assert look_for_flag(str(flag)) is None
    found.remove()


def test_a_link_does_not_count_whatever_it_leads_to(flag, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(flag)
    assert why_not(link) == "it is no plain file"


def test_a_folder_or_a_pipe_does_not_count(tmp_path):
    assert why_not(tmp_path) == "it is no plain file"
    os.mkfifo(tmp_path / "pipe")
    assert why_not(tmp_path / "pipe") == "it is no plain file"


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o622])
def test_one_that_others_may_write_to_does_not_count(flag, mode):
    flag.chmod(mode)
    assert why_not(flag) == "others may write to it"


def test_one_that_another_user_gave_a_second_name_does_not_count(flag, tmp_path):
    os.link(flag, tmp_path / "other")
    assert why_not(flag) == "it has several names"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_one_of_another_user_does_not_count(flag):
    os.chown(flag, 65534, -1)
    assert why_not(flag) == "it belongs to user 65534"


@pytest.mark.parametrize(
    ("age_s", "told"),
    [
        (0, ""),
        (590, ""),
        (610, "it is older than ten minutes"),
        (-50, ""),
        (-70, "it comes from the future"),
    ],
)
def test_only_a_fresh_one_counts(flag, age_s, told):
    at = time.time() - age_s
    os.utime(flag, (at, at))
    assert why_not(flag) == told


def test_where_it_lies_can_be_said(monkeypatch):
    monkeypatch.delenv("AMIRAL_STOP_FLAG", raising=False)
    assert flag_path() == PATH == "/tmp/emergency-stop.flag"
    monkeypatch.setenv("AMIRAL_STOP_FLAG", "/run/flag")
    assert flag_path() == "/run/flag"
