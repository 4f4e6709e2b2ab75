"""Programs in a box: what its covers hold, who ends it, and that there is no half of it."""

import asyncio
import json
import os
import signal

import pytest

from amiral.base.errors import Denied
from amiral.processes import tree
from amiral.processes.behind import behind
from amiral.processes.box import go_behind
from amiral.processes.covers import HIDDEN_FILE, HIDDEN_FOLDER, KEPT
from amiral.processes.fence import Fence
from amiral.processes.spawn import base_environment

DENIED = """
kept, hidden, folder = (f"{inside}/{name}" for name in ("a/b/kept", "hidden", "folder"))

def put(path):
    with open(path, "w") as file:
        file.write("changed")

put(f"{inside}/mine")
attempt("write it", lambda: put(kept))
attempt("empty it", lambda: os.truncate(kept, 0))
attempt("remove it", lambda: os.unlink(kept))
put(f"{inside}/a/b/mine")
attempt("replace it", lambda: os.rename(f"{inside}/a/b/mine", kept))
attempt("replace it from elsewhere", lambda: os.rename(f"{inside}/mine", kept))
attempt("move it away", lambda: os.rename(kept, f"{inside}/a/b/away"))
attempt("move its folder away", lambda: os.rename(f"{inside}/a/b", f"{inside}/a/c"))
attempt("move what is above away", lambda: os.rename(f"{inside}/a", f"{inside}/c"))
attempt("give it another name", lambda: os.link(kept, f"{inside}/a/b/second"))
attempt("change its mode", lambda: os.chmod(kept, 0o777))
attempt("read it", lambda: open(kept).read())
attempt("read what is hidden", lambda: open(hidden).read())
attempt("write what is hidden", lambda: put(hidden))
attempt("remove what is hidden", lambda: os.unlink(hidden))
attempt("replace what is hidden", lambda: os.rename(f"{inside}/mine", hidden))
attempt("list the hidden folder", lambda: os.listdir(folder))
attempt("read in the hidden folder", lambda: open(f"{folder}/one").read())
attempt("write in the hidden folder", lambda: put(f"{folder}/new"))
attempt("remove the hidden folder", lambda: os.rmdir(folder))
attempt("open the hidden folder", lambda: os.chmod(folder, 0o777))
attempt("write beside it", lambda: put(f"{inside}/a/b/new"))
attempt("save beside it", lambda: os.rename(f"{inside}/a/b/new", f"{inside}/a/b/other"))
attempt("remove beside it", lambda: os.unlink(f"{inside}/a/b/other"))
attempt("make a folder beside it", lambda: os.mkdir(f"{inside}/a/b/more"))
"""
REFUSED = {
    **dict.fromkeys(("write it", "empty it", "change its mode"), "EROFS"),
    **dict.fromkeys(("remove it", "replace it", "move it away"), "EBUSY"),
    **dict.fromkeys(("move its folder away", "move what is above away"), "EBUSY"),
    **dict.fromkeys(("give it another name", "replace it from elsewhere"), "EXDEV"),
    **dict.fromkeys(("read what is hidden", "write what is hidden"), "EACCES"),
    **dict.fromkeys(("remove what is hidden", "replace what is hidden"), "EBUSY"),
    "list the hidden folder": "EACCES",
    "read in the hidden folder": "ENOENT",
    "write in the hidden folder": "EROFS",
    "remove the hidden folder": "EBUSY",
    "open the hidden folder": "EROFS",
}
PASSED = ("read it", "write beside it", "save beside it", "remove beside it")


def laid_out(pen):
    """Lay out what is denied in what is allowed, and give the fence with its covers."""
    for name in ("a/b/kept", "hidden", "folder/one"):
        path = pen.inside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kept")
    return pen.box(
        (f"{pen.inside}/a/b/kept", KEPT),
        (f"{pen.inside}/hidden", HIDDEN_FILE),
        (f"{pen.inside}/folder", HIDDEN_FOLDER),
    )


def is_as_it_was(pen):
    names = ("a/b/kept", "hidden", "folder/one")
    return [(pen.inside / name).read_text() for name in names] == ["kept"] * 3


async def test_f5_what_is_denied_in_what_is_allowed_stays_and_its_folder_takes_new_files(boxing):
    told = await boxing.tries(DENIED, fence=laid_out(boxing))
    assert told == {**REFUSED, **dict.fromkeys((*PASSED, "make a folder beside it"), "done")}
    assert is_as_it_was(boxing)
    assert sorted(os.listdir(boxing.inside)) == ["a", "folder", "hidden", "mine"]
    assert sorted(os.listdir(boxing.inside / "a/b")) == ["kept", "mine", "more"]


async def test_f5_what_is_denied_stays_for_the_cli_of_a_session_too(boxing):
    run = await boxing.session(DENIED, fence=laid_out(boxing))
    await run.exited()
    told = json.loads(run.out())
    assert told == {**REFUSED, **dict.fromkeys((*PASSED, "make a folder beside it"), "done")}
    assert is_as_it_was(boxing)


async def test_f5_without_a_box_the_same_attempts_change_it(boxing):
    laid_out(boxing)
    told = await boxing.tries(DENIED)
    changes = ("write it", "remove it", "replace it", "move its folder away", "read what is hidden")
    assert {told[one] for one in changes} == {"done"}


AWAY = """
import socket, subprocess
attempt("outside", lambda: open(f"{outside}/new", "w"))
attempt("mode outside", lambda: os.chmod(f"{outside}", 0o777))
attempt("time outside", lambda: os.utime(f"{outside}"))
attempt("tmp", lambda: open("/tmp/new", "w"))
attempt("names in tmp", lambda: os.listdir("/tmp"))
attempt("mode elsewhere", lambda: os.chmod("/etc/passwd", 0o600))
attempt("socket", lambda: socket.socket(socket.AF_UNIX))
for name in ("environ", "mem", "root/etc/passwd", "cwd"):
    attempt(f"{name} of the first", lambda: os.stat(f"/proc/1/{name}") and open(f"/proc/1/{name}"))
attempt("end the first", lambda: os.kill(1, 9))
told["processes"] = [int(name) for name in os.listdir("/proc") if name.isdigit()]
subprocess.run(["umount", f"{inside}/a/b/kept"], stderr=subprocess.DEVNULL)
attempt("what was uncovered", lambda: open(f"{inside}/a/b/kept", "w"))
told["open"] = sorted(map(int, os.listdir("/proc/self/fd")))[:-1]
"""


async def test_a_box_has_processes_and_shared_folders_of_its_own_and_no_way_out(boxing):
    fence = laid_out(boxing)
    told = await boxing.tries(AWAY, fence=fence)
    nowhere = ("outside", "mode outside", "time outside")
    assert {told[one] for one in nowhere} == {"ENOENT"}
    assert (told["tmp"], told["names in tmp"]) == ("EROFS", "EACCES")
    assert told["mode elsewhere"] == "EROFS"
    assert told["socket"] == "EPERM"
    assert {told[name] for name in told if name.endswith("of the first")} == {"EACCES"}
    assert told["end the first"] == "EPERM"
    assert told["processes"] == [1, 2]
    assert told["what was uncovered"] == "EROFS"
    assert told["open"] == [0, 1, 2]


@pytest.mark.parametrize("name", ["a/b/kept", "hidden", "folder"])
async def test_f2_a_link_in_the_place_of_what_is_covered_runs_nothing(boxing, name):
    fence = laid_out(boxing)
    target = boxing.inside / "target"
    (boxing.inside / name).rename(target)
    (boxing.inside / name).symlink_to(target)
    ran = await boxing.run("touch", str(boxing.inside / "ran"), fence=fence)
    assert ran.code != 0
    assert not (boxing.inside / "ran").exists()


async def test_what_was_covered_and_is_gone_is_no_obstacle(boxing):
    fence = laid_out(boxing)
    (boxing.inside / "a/b/kept").unlink()
    assert (await boxing.run("true", fence=fence)).code == 0
    assert sorted(os.listdir(boxing.inside / "a/b")) == []


READY = "print('ready', flush=True); input()"


async def test_s7_a_box_outlives_every_thread_that_fences_others(boxing):
    env = base_environment()
    child = boxing.yard.spawner.start(
        ["sleep", "1000"], kind="test", env=env, cwd="/", fence=boxing.box()
    )
    await asyncio.gather(*(boxing.run("true") for _ in range(4)))
    await asyncio.gather(*(boxing.run("true", fence=boxing.box()) for _ in range(4)))
    assert tree.is_alive(child.identity)
    child.kill()
    assert await child.exited() == -signal.SIGKILL
    assert boxing.yard.left() == []


async def test_s7_a_box_ends_with_its_shim_and_all_that_is_in_it(boxing):
    code = "import subprocess; subprocess.Popen(['setsid', 'sleep', '1000']); "
    run = await boxing.session(code + READY, fence=boxing.box())
    await run.prints(b"ready")
    assert len(boxing.yard.left()) >= 5
    tree.send(run.shim, signal.SIGKILL)
    await boxing.yard.until(lambda: not boxing.yard.left(), "the end of all in the box")


async def test_s7_a_box_outlives_the_process_of_its_project(boxing):
    run = await boxing.session(READY, fence=boxing.box())
    await run.prints(b"ready")
    run.link.close()
    link = await boxing.yard.connect_to(run.link.path, 2)
    assert link.hello.state == "running"
    assert await link.kill() == 0


async def test_s8_a_kill_leaves_nothing_of_a_box(boxing):
    code = "os.fork() or os.setsid(); os.fork(); "
    run = await boxing.session(code + READY, fence=boxing.box())
    await boxing.yard.until(lambda: run.out().count(b"ready") == 4)
    assert await run.link.kill() == 0
    await run.shim_gone()
    assert boxing.yard.left() == []


async def test_a_signal_for_the_cli_reaches_it_in_its_box(boxing):
    code = """
import signal
signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""
    run = await boxing.session(code, fence=boxing.box())
    await run.prints(b"ready")
    await run.link.signal("INT")
    await run.prints(b"interrupted")
    assert await run.link.kill() == 0


async def test_the_exit_code_is_that_of_the_program(boxing):
    run = await boxing.session("sys.exit(7)", fence=boxing.box())
    assert (await run.exited()).code == 7


async def test_a_program_that_is_missing_is_named(boxing):
    run = await boxing.session("", argv=("no-such-program",), fence=boxing.box())
    assert (await run.exited()).code == 127
    assert "no-such-program: No such file" in (run.folder / "err").read_text()


NO_MOUNTS = """
import os, sys
sys.path.append(sys.argv[1])
from amiral.processes.fence import Fence, apply
apply(Fence((("/", 63),), 63))
os.execvp(sys.argv[2], sys.argv[2:])
"""


async def test_s11_where_no_box_can_be_made_nothing_runs_and_it_is_told(boxing):
    """Behind a fence nothing can be mounted: that is the wrong way round."""
    command = go_behind(boxing.box(), ["touch", str(boxing.inside / "ran")], "/")
    ran = await boxing.run_freely(*boxing.yard.PYTHON, NO_MOUNTS, boxing.SOURCES, *command)
    assert ran.code != 0
    assert ran.err.startswith(b"bwrap: ")
    assert not (boxing.inside / "ran").exists()


async def test_s11_a_session_whose_box_cannot_be_made_ends_and_says_why(boxing):
    """The folder to work in is hidden, and not granted."""
    code, where = 'open(f"{inside}/ran", "w")', str(boxing.outside)
    run = await boxing.session(code, fence=boxing.box(), cwd=where)
    assert (await run.exited()).code != 0
    assert (run.folder / "err").read_text().startswith("bwrap: ")
    assert not (boxing.inside / "ran").exists()


async def test_s11_a_fence_with_covers_is_never_put_up_without_its_box(boxing):
    fence = laid_out(boxing)
    for covers in (boxing.box().covers, fence.covers[-1:], fence.covers[-2:-1]):
        with pytest.raises(Denied, match="is not covered"):
            behind(Fence(fence.grants, fence.fenced, covers=covers), lambda: None).result()
