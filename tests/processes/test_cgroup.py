"""Cgroups of our own: made, filled, killed and removed; those of others are never touched."""

import os
import signal
import subprocess

import pytest

from amiral.processes import cgroup

pytestmark = pytest.mark.skipif(
    not os.access(cgroup.own_cgroup_folder() or "", os.W_OK), reason="no cgroup v2 of our own"
)


@pytest.fixture
def sleeper():
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


async def test_a_cgroup_is_made_joined_killed_and_removed(yard, sleeper):
    folder = cgroup.make_cgroup(f"{yard.tag}:s1")
    assert folder is not None
    assert cgroup.cgroups_under(yard.home_tag) == [folder]
    assert cgroup.join_cgroup(folder, sleeper.pid)
    assert cgroup.cgroup_members(folder) == {sleeper.pid}
    assert cgroup.cgroup_of(sleeper.pid).endswith(cgroup.cgroup_name(f"{yard.tag}:s1"))
    cgroup.remove_cgroup(folder)
    assert os.path.isdir(folder), "one that is in use stays"
    assert cgroup.kill_cgroup(folder)
    assert sleeper.wait() == -signal.SIGKILL
    cgroup.remove_cgroup(folder)
    assert not os.path.exists(folder)


async def test_those_an_agent_made_below_its_own_go_too(yard, sleeper):
    folder = cgroup.make_cgroup(f"{yard.tag}:s1")
    assert folder is not None
    os.makedirs(f"{folder}/inner/most")
    assert cgroup.join_cgroup(f"{folder}/inner/most", sleeper.pid)
    assert cgroup.cgroup_members(folder) == {sleeper.pid}
    assert cgroup.kill_cgroup(folder)
    assert sleeper.wait() == -signal.SIGKILL
    cgroup.remove_cgroup(folder)
    assert not os.path.exists(folder)


async def test_an_existing_one_is_not_taken_over(yard):
    folder = cgroup.make_cgroup(f"{yard.tag}:s1")
    assert cgroup.make_cgroup(f"{yard.tag}:s1") is None
    cgroup.remove_cgroup(folder)


async def test_a_tag_finds_whole_parts_only(yard):
    made = [cgroup.make_cgroup(f"{yard.home_tag}:{rest}") for rest in ("p1:s1", "p1:s12", "p10:s1")]
    assert set(cgroup.cgroups_under(f"{yard.home_tag}:p1")) == set(made[:2])
    assert cgroup.cgroups_under(f"{yard.home_tag}:p1:s1") == made[:1]


@pytest.mark.parametrize("folder", [None, "", "/", "/sys/fs/cgroup", "own"])
def test_a_cgroup_that_is_not_ours_is_left_alone(folder):
    folder = cgroup.own_cgroup_folder() if folder == "own" else folder
    assert cgroup.cgroup_members(folder) == set()
    assert not cgroup.kill_cgroup(folder)
    cgroup.remove_cgroup(folder)
    assert folder in (None, "") or os.path.isdir(folder)
