"""What a fence is made of: it travels as JSON and names what programs need of the system."""

import json
import os
from pathlib import Path

import pytest

from amiral.processes import landlock
from amiral.processes.fence import (
    DEVICE,
    EXECUTE,
    READ,
    WRITE,
    Fence,
    system_grants,
)

WHOLE = {"grants": [["/one", 1]], "fenced": 3, "ports": [80], "root": "/one"}


@pytest.mark.parametrize(
    "fence",
    [
        Fence((), 0),
        Fence((("/one", 1), ("/\udcff\n", 63)), 63, (), "/one"),
        Fence((("/one", 7),), 3, (1, 65535)),
        Fence((("/one", 7),), 3, covers=(("/one/kept", 1), ("/one/hidden", 3))),
        Fence((("/one", 7),), 3, has_unix=True),
    ],
)
def test_a_fence_travels_as_json(fence):
    there = Fence.from_json(json.loads(json.dumps(fence.as_json())))
    assert there == fence
    assert hash(there) == hash(fence)
    assert repr(there) == repr(fence)


def test_what_a_fence_does_not_say_is_as_when_it_is_made():
    assert Fence.from_json({"grants": [], "fenced": 1, "ports": None}) == Fence((), 1)
    assert Fence((), 1) != Fence((), 1, ports=())


@pytest.mark.parametrize(
    "changes",
    [
        {"grants": None},
        {"grants": {}},
        {"grants": [["relative", 1]]},
        {"grants": [["/one"]]},
        {"grants": [["/one", 64]]},
        {"grants": [["/one", True]]},
        {"grants": [[1, 1]]},
        {"fenced": -1},
        {"fenced": "3"},
        {"fenced": 64},
        {"ports": 80},
        {"ports": [65536]},
        {"ports": ["80"]},
        {"root": None},
        {"covers": None},
        {"covers": [["kept", 1]]},
    ],
    ids=str,
)
def test_what_is_no_fence_is_refused_as_a_whole(changes):
    Fence.from_json(WHOLE)
    with pytest.raises(ValueError, match=r"."):
        Fence.from_json(WHOLE | changes)


@pytest.mark.parametrize("told", [None, [], "fence", {}, {"grants": [], "fenced": 1}], ids=str)
def test_a_fence_without_its_parts_is_refused(told):
    with pytest.raises(ValueError, match="a fence has"):
        Fence.from_json(told)


def test_programs_of_the_system_may_be_read_and_run_and_nothing_there_changed():
    grants = dict(system_grants())
    assert grants["/usr"] == READ | EXECUTE
    assert grants["/proc"] == READ
    assert grants["/dev/null"] == READ | WRITE | DEVICE
    assert not [path for path, bits in grants.items() if bits & WRITE and path[:5] != "/dev/"]
    assert all(path == os.path.realpath(path) for path in grants)
    assert not [path for path in grants if path in ("/", "/dev", "/home", "/tmp", "/run", "/var")]


def test_terminals_and_shared_memory_which_are_one_for_all_programs_are_not_granted():
    granted = {path for path, _ in system_grants()}
    assert not granted & {"/dev/ptmx", "/dev/pts", "/dev/pts/ptmx", "/dev/shm"}


def test_toolchains_of_a_home_are_granted_without_links_and_the_logins_beside_them(tmp_path):
    for name in (".cargo/bin", ".nvm", ".local/bin", ".local/share/keyrings", ".ssh"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".pyenv").symlink_to(tmp_path / ".ssh")
    own = {
        path: bits
        for path, bits in system_grants(str(tmp_path))
        if Path(path).is_relative_to(tmp_path)
    }
    assert own == {
        str(tmp_path / name): READ | EXECUTE for name in (".nvm", ".cargo/bin", ".local/bin")
    }


def test_further_programs_are_granted_once(tmp_path):
    (tmp_path / "below").mkdir()
    programs = [str(tmp_path), str(tmp_path / "below"), str(tmp_path / "gone"), "/usr/bin"]
    more = set(system_grants(programs=programs)) - set(system_grants())
    assert more == {(str(tmp_path), READ | EXECUTE)}


@pytest.mark.parametrize(
    ("abi", "unknown"),
    [
        (1, landlock.REFER | landlock.TRUNCATE | landlock.IOCTL_DEV),
        (2, landlock.TRUNCATE | landlock.IOCTL_DEV),
        (3, landlock.IOCTL_DEV),
        (4, landlock.IOCTL_DEV),
        (5, 0),
        (7, 0),
    ],
)
def test_a_kernel_is_asked_only_for_the_rights_it_knows(abi, unknown):
    every_right = (1 << 16) - 1
    assert landlock.known_rights(every_right, abi) == every_right & ~unknown
