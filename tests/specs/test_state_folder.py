"""The project's state folder: whole files, lines once, and no link is followed anywhere."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amiral.base.errors import Broken
from amiral.specs.state_folder import open_state


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "shop"
    root.mkdir()
    return root


@pytest.fixture
def state(root):
    return root / ".amiral" / "state"


@pytest.fixture
def outside(tmp_path):
    """A folder of the same user that no mirror may ever reach."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    return outside


def untouched(outside):
    return {path.name: path.read_text() for path in outside.iterdir()} == {"precious": "precious"}


def write_all(root):
    with open_state(root) as folder:
        folder.append("x.log", folder.size("x.log"), b"line\n")
        folder.replace("a.json", b"{}\n")


def test_s0_32_what_is_missing_is_made_and_kept_out_of_git(root, state):
    write_all(root)
    assert (state / "logs" / "x.log").read_bytes() == b"line\n"
    assert (state / "a.json").read_bytes() == b"{}\n"
    assert (root / ".amiral" / ".gitignore").read_text() == "state/\n"
    assert (state.stat().st_mode & 0o777, (state / "a.json").stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )
    assert sorted(os.listdir(state)) == ["a.json", "logs"]


def test_the_projects_own_gitignore_stays(root):
    (root / ".amiral").mkdir()
    (root / ".amiral" / ".gitignore").write_text("mine\n")
    write_all(root)
    assert (root / ".amiral" / ".gitignore").read_text() == "mine\n"


def test_r37_a_file_is_replaced_whole_and_leftovers_do_not_matter(root, state):
    write_all(root)
    (state / ".a.json.tmp").write_text("half")
    (state / "logs" / "x.log").write_bytes(b"")
    write_all(root)
    assert sorted(os.listdir(state)) == ["a.json", "logs"]


@pytest.mark.parametrize("place", [".amiral", ".amiral/state", ".amiral/state/logs"])
def test_a_folder_that_is_a_link_is_not_followed(root, outside, place):
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).symlink_to(outside)
    with pytest.raises(Broken, match="a link or no folder is in the way"):
        write_all(root)
    assert untouched(outside)


@pytest.mark.parametrize("target", ["precious", "missing"])
def test_a_log_that_is_a_link_is_not_followed(root, state, outside, target):
    write_all(root)
    (state / "logs" / "x.log").unlink()
    (state / "logs" / "x.log").symlink_to(outside / target)
    with pytest.raises(Broken):
        write_all(root)
    assert untouched(outside)


def test_a_log_that_is_another_name_of_a_file_outside_is_not_written(root, state, outside):
    write_all(root)
    (state / "logs" / "x.log").unlink()
    os.link(outside / "precious", state / "logs" / "x.log")
    with pytest.raises(Broken):
        write_all(root)
    assert untouched(outside)


@pytest.mark.parametrize("plant", [os.mkfifo, os.mkdir])
def test_a_log_that_is_no_plain_file_is_not_written(root, state, plant):
    write_all(root)
    (state / "logs" / "x.log").unlink()
    plant(state / "logs" / "x.log")
    with pytest.raises(Broken):
        write_all(root)


@pytest.mark.parametrize("name", ["a.json", ".a.json.tmp"])
def test_a_file_that_is_a_link_is_replaced_and_its_target_stays(root, state, outside, name):
    write_all(root)
    (state / name).unlink(missing_ok=True)
    (state / name).symlink_to(outside / "precious")
    write_all(root)
    assert untouched(outside)
    assert not (state / "a.json").is_symlink()
    assert sorted(os.listdir(state)) == ["a.json", "logs"]


def test_a_project_that_is_gone_is_told(root):
    root.rmdir()
    with pytest.raises(Broken, match="is not kept up to date: No such file or directory"):
        write_all(root)


DATA = st.binary(min_size=1, max_size=60)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(before=st.binary(max_size=40), data=DATA, cut=st.integers(0, 60), times=st.integers(1, 3))
def test_what_a_killed_writer_began_is_completed_once(root, state, before, data, cut, times):
    write_all(root)
    log = state / "logs" / "x.log"
    log.write_bytes(before + data[:cut])
    for _ in range(times):
        with open_state(root) as folder:
            folder.append("x.log", len(before), data)
    assert log.read_bytes() == before + data


@pytest.mark.parametrize(
    ("there", "after"),
    [
        (b"old\nforeign\n", b"old\nforeign\nline\n"),
        (b"", b"line\n"),
        (b"old\nline\nmore\n", b"old\nline\nmore\n"),
    ],
)
def test_what_others_wrote_into_a_log_stays(root, state, there, after):
    write_all(root)
    log = state / "logs" / "x.log"
    log.write_bytes(there)
    with open_state(root) as folder:
        folder.append("x.log", 4, b"line\n")
    assert log.read_bytes() == after
