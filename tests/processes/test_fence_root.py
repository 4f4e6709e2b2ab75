"""What root behind the fence may: what anybody may there (S9, S10, S12)."""

import json
import os
from pathlib import Path

import pytest

from amiral.processes import cgroup

needs_cgroup = pytest.mark.skipif(
    not os.access(cgroup.own_cgroup_folder() or "", os.W_OK), reason="no cgroup v2 of our own"
)


LEAVES = """
attempt("leave", lambda: open(f"{more[0]}/cgroup.procs", "w").write(str(os.getpid())))
attempt("be thawed", lambda: open(f"{more[0]}/cgroup.freeze", "w").write("0"))
attempt("make another", lambda: os.mkdir(f"{more[0]}/amiral-escape"))
print(json.dumps(told), flush=True)
input()
"""
STATUS = """
for line in open("/proc/self/status"):
    name, _, value = line.partition(":")
    told[name] = value.strip()
"""


@needs_cgroup
async def test_s9_a_fenced_session_cannot_leave_its_cgroup(pen):
    run = await pen.session(LEAVES, cgroup.own_cgroup_folder())
    told = json.loads(await run.prints(b"}\n"))
    assert set(told.values()) == {"EACCES"}, told
    assert cgroup.cgroup_members(run.launched.cgroup) == {run.cli.pid}


async def test_s10_no_capability_is_left_even_to_root(pen):
    told = await pen.tries(STATUS)
    sets = {name: value for name, value in told.items() if name.startswith("Cap")}
    if os.geteuid() != 0:
        # What a user's programs may not use they cannot get either.
        del sets["CapBnd"]
    assert set(sets.values()) == {"0" * 16}, sets
    assert (told["NoNewPrivs"], told["Seccomp"]) == ("1", "2")


async def test_s10_root_cannot_do_what_needs_a_capability(pen):
    code = """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)

    def mount():
        if libc.mount(b"none", inside.encode(), b"tmpfs", 0, None):
            raise OSError(ctypes.get_errno(), "")

    attempt("mount", mount)
    attempt("become another", lambda: os.setuid(65534))
    attempt("change root", lambda: os.chroot(inside))
    attempt("raise a limit", lambda: os.nice(-5))
    """
    told = await pen.tries(code)
    assert set(told.values()) <= {"EPERM", "EACCES"}, told


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user's")
async def test_s12_a_program_that_takes_its_owners_identity_does_not(pen):
    copy = pen.inside / "id"
    copy.write_bytes(Path("/usr/bin/id").read_bytes())
    os.chown(copy, 65534, 65534)
    copy.chmod(0o6755)
    free = await pen.yard.spawner.run([str(copy)], kind="test", env={}, cwd="/", timeout_s=20.0)
    fenced = await pen.run(str(copy))
    assert b"euid=65534" in free.out
    assert (fenced.code, b"65534" in fenced.out) == (0, False)
