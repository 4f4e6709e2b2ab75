"""A project's own tests, run: what they say, and that nothing of them is left."""

import asyncio
import os
import secrets
import shutil
import sys
import time

import pytest

from amiral.base.errors import Conflict
from amiral.execution import own_tests
from amiral.execution.own_tests import OwnTests
from amiral.processes import tree
from amiral.processes.fence import READ, WRITE, Fence, system_grants
from amiral.processes.spawn import Spawner
from amiral.store.brake import Brake

PASSES = "import unittest\n\nclass T(unittest.TestCase):\n    def test_x(self): pass\n"


@pytest.fixture
def brake(tmp_path):
    brake = Brake(tmp_path / "brake")
    brake.prepare()
    return brake


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def spawner(brake):
    spawner = Spawner(brake, f"{secrets.token_hex(6)}:p")
    yield spawner
    tree.kill_tree((), spawner.tag, None, 10)


async def test_tests_that_pass_are_told_in_one_line(spawner, folder):
    (folder / "test_x.py").write_text(PASSES)
    tested = await OwnTests(spawner, "").run(folder)
    assert tested.passed
    assert tested.command == "python3 -m unittest"
    assert tested.summary.startswith("Ran 1 test in ")


async def test_tests_that_fail_are_told_with_what_they_said(spawner, folder):
    (folder / "test_x.py").write_text(PASSES.replace("pass", "self.fail('too dear')"))
    tested = await OwnTests(spawner, "").run(folder)
    assert not tested.passed
    assert tested.summary.startswith("Ran 1 test in ")
    assert "· exit code 1\n" in tested.summary
    assert "AssertionError: too dear" in tested.summary


@pytest.mark.parametrize("command", ["", "   "])
async def test_a_project_without_tests_says_so(spawner, folder, command):
    (folder / "cart.py").write_text("x = 1\n")
    assert await OwnTests(spawner, command).run(folder) == own_tests.Tested(
        True, "", "no tests found"
    )


async def test_a_run_without_any_test_says_so(spawner, folder):
    (folder / "test_x.py").write_text("# one day\n")
    tested = await OwnTests(spawner, "").run(folder)
    assert tested == own_tests.Tested(True, "python3 -m unittest", "no tests found")


async def test_the_owners_command_comes_before_what_is_found(spawner, folder):
    (folder / "test_x.py").write_text(PASSES.replace("pass", "self.fail()"))
    tested = await OwnTests(spawner, "echo 7 passed && pwd").run(folder)
    assert tested == own_tests.Tested(True, "echo 7 passed && pwd", "7 passed")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("no-such-program --x", "no-such-program: No such file or directory"),
        ("./cart.py", "./cart.py: Permission denied"),
        ("sh -c 'exit 5'", "exit code 5"),
        ("kill -9 $$", "ended by signal 9"),
        ("sh -c 'echo why >&2; exit 2'", "why · exit code 2\nwhy"),
    ],
)
async def test_what_does_not_run_well_has_failed_and_says_how(spawner, folder, command, told):
    (folder / "cart.py").write_text("x = 1\n")
    assert await OwnTests(spawner, command).run(folder) == own_tests.Tested(False, command, told)


async def test_a_folder_that_is_gone_has_failed_tests(spawner, folder):
    assert not (await OwnTests(spawner, "true").run(folder / "gone")).passed
    assert (await OwnTests(spawner, "").run(folder / "gone")).summary == "no tests found"


async def test_odd_files_are_looked_at_without_harm(spawner, folder):
    os.mkfifo(folder / "Makefile")
    (folder / "package.json").symlink_to("/dev/zero")
    (folder / "pyproject.toml").mkdir()
    (folder / "tox.ini").symlink_to("nowhere")
    (folder / "setup.cfg").write_bytes(b"\xff" * (2 << 20))
    (folder / "tests").write_text("no folder")
    assert (await OwnTests(spawner, "").run(folder)).summary == "no tests found"


async def test_tests_that_hang_are_ended_with_all_they_started(spawner, folder):
    command = "setsid sleep 300 & echo $! >pid; wait"
    tested = await OwnTests(spawner, command, longest_s=0.5).run(folder)
    assert not tested.passed
    assert tested.summary == "stopped after 0.5 s"
    assert (folder / "pid").read_text()
    assert tree.tagged(spawner.tag) == []


async def test_what_tests_leave_running_is_ended(spawner, folder):
    command = "setsid sleep 300 >/dev/null 2>&1 & echo $! >pid"
    assert (await OwnTests(spawner, command).run(folder)).passed
    assert tree.tagged(spawner.tag) == []


async def test_tests_of_a_killed_process_are_ended_and_nothing_else(spawner, folder):
    """They run on when ours is killed, and would run beside those of the next one."""
    code = (
        "import asyncio, sys; from pathlib import Path; from amiral.execution.own_tests import *;"
        "from amiral.store.brake import Brake;"
        f"spawner = Spawner(Brake(Path({str(folder.parent / 'brake')!r})), {spawner.tag!r});"
        "asyncio.run(OwnTests(spawner, 'sleep 300').run(Path('/')))"
    )
    ours = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    by = time.monotonic() + 20
    while not tree.tagged(spawner.tag):
        assert time.monotonic() < by
        await asyncio.sleep(0.01)
    ours.kill()
    await ours.wait()
    agent = await asyncio.create_subprocess_exec(
        *("sleep", "300"), env={**os.environ, "AMIRAL_TAG": f"{spawner.tag}:session"}
    )
    assert len(tree.tagged(spawner.tag)) == 2
    await OwnTests(spawner, "").end_leftovers()
    assert [process.pid for process in tree.tagged(spawner.tag)] == [agent.pid]
    agent.kill()
    await agent.wait()


async def test_under_a_stop_no_test_is_started(spawner, folder, brake):
    brake.engage("enough", "owner", 1)
    with pytest.raises(Conflict, match="no test is started"):
        await OwnTests(spawner, "touch ran").run(folder)
    assert not (folder / "ran").exists()


async def test_much_output_is_kept_by_its_end(spawner, folder):
    command = f"{sys.executable} -c \"print('x' * 9_000_000); print('the end'); exit(1)\""
    tested = await OwnTests(spawner, command).run(folder)
    assert tested.summary.startswith("the end · exit code 1\n")
    assert len(tested.summary) < 2000


async def test_what_tests_print_cannot_move_a_terminal(spawner, folder):
    tested = await OwnTests(spawner, r"printf '\033[2J\033]0;x\007 1 passed\n'").run(folder)
    assert tested.summary == "1 passed"


async def test_tests_run_with_the_rights_of_the_worker_whose_tree_they_are(spawner, folder):
    outside = folder.parent / "outside"
    asked = []

    async def confine(*what):
        asked.append(what)
        grants = ((str(folder), READ | WRITE), *system_grants())
        return own_tests.Confines(Fence(grants, WRITE), {"MARK": "held"}, "nobody was asked")

    tests = OwnTests(spawner, f"sh -c 'echo $MARK >inside; echo x >{outside}'", confine)
    tested = await tests.run(folder, "developer")
    assert not tested.passed
    assert " · nobody was asked\n" in tested.summary
    assert (folder / "inside").read_text() == "held\n"
    assert not outside.exists()
    assert asked == [("developer", folder, shutil.which("sh"))]
