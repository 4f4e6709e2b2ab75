"""What a CLI finds when it starts: exactly what was ordered, nothing of ours."""

import json
import os
import signal
from pathlib import Path

import msgspec
import pytest

from amiral.base.errors import Denied, Invalid
from amiral.processes import cgroup, proc
from amiral.processes.fence import Fence
from amiral.processes.pool import _request

TELLS = """
import json, os, signal
held = {int(name): os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{name}")}
print(json.dumps({
    "env": dict(os.environ), "cwd": os.getcwd(), "held": sorted(held),
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    "group": os.getpgid(0), "pid": os.getpid(),
    "ignored": open("/proc/self/status").read().split("SigIgn:")[1].split()[0],
}), flush=True)
input()
"""


async def test_environment_folder_and_files_are_exactly_those_ordered(yard, monkeypatch):
    monkeypatch.setenv("AMIRAL_SECRET", "ours")
    env = {"ONE": "1", "ÉTÉ": "ü\udcff"}
    run = await yard.session(TELLS, env=env, cwd=str(yard.run))
    told = json.loads(await run.prints(b"}\n"))
    assert told["env"].pop("LC_CTYPE", "C.UTF-8") == "C.UTF-8"
    assert told["env"] == {**env, "AMIRAL_TAG": run.order.tag}
    assert (told["cwd"], told["group"]) == (str(yard.run), told["pid"])
    assert told["held"] == [0, 1, 2]


async def test_signals_are_as_a_fresh_program_expects_them(yard):
    run = await yard.session(TELLS)
    told = json.loads(await run.prints(b"}\n"))
    ignored = int(told["ignored"], 16)
    # Python itself ignores these two.
    own = {signal.SIGPIPE, signal.SIGXFSZ}
    assert {n for n in signal.Signals if ignored >> (n - 1) & 1} <= own
    assert told["blocked"] == []


STATUS = 'print(open("/proc/self/status").read(), flush=True)'


async def test_without_a_fence_a_cli_and_its_request_are_as_ever(yard):
    """S3.79."""
    order = yard.order(STATUS)
    wish = dict.fromkeys(("session", "dir", "argv", "env", "cwd", "tag"))
    assert _request(order).keys() == wish.keys()
    run = await yard.session(STATUS)
    told = (await run.prints(b"Seccomp:")).decode()
    own = open_status("self")
    for field in ("NoNewPrivs", "Seccomp", "CapBnd", "CapEff"):
        assert line_of(told, field) == line_of(own, field)


async def test_behind_its_fence_a_cli_finds_what_was_ordered_and_its_shim_is_not_fenced(pen):
    env = {"ONE": "1"}
    run = await pen.session("", argv=(*pen.yard.PYTHON, TELLS), env=env, cwd=str(pen.inside))
    told = json.loads(await run.prints(b"}\n"))
    assert told["env"].pop("LC_CTYPE", "C.UTF-8") == "C.UTF-8"
    assert told["env"] == {**env, "AMIRAL_TAG": run.order.tag}
    assert (told["cwd"], told["group"]) == (str(pen.inside), told["pid"])
    assert (told["held"], told["blocked"]) == ([0, 1, 2], [])
    assert line_of(open_status(run.cli.pid), "Seccomp") == ["2"]
    assert line_of(open_status(run.shim.pid), "Seccomp") == ["0"]
    assert line_of(open_status(run.shim.pid), "NoNewPrivs") == ["0"]


async def test_a_fence_that_cannot_be_read_is_refused_and_nothing_runs(pen):
    link = await pen.yard.shim()
    order = msgspec.to_builtins(pen.yard.order("open('ran', 'w')", cwd=str(pen.inside)))
    for fence in ({}, {"grants": [["in", 1]], "fenced": 1, "ports": None}, "none"):
        with pytest.raises(Invalid, match="fence"):
            await link.request("launch", **(order | {"fence": fence}))
    assert list(pen.inside.iterdir()) == []


async def test_the_folder_to_work_in_must_be_there_when_the_fence_is_put_up(pen):
    link = await pen.yard.shim()
    gone = str(pen.inside / "gone")
    with pytest.raises(Denied, match="gone"):
        await pen.session("", link=link, fence=pen.fence((gone, pen.ALL), root=gone))
    run = await pen.session("", link=link)
    await run.exited()


async def test_a_program_that_is_not_granted_is_named(pen):
    with pytest.raises(Denied, match="sh: Permission denied"):
        await pen.session("", argv=("sh",), fence=Fence(((str(pen.inside), pen.ALL),), pen.ALL))


def open_status(pid):
    return Path(f"/proc/{pid}/status").read_text()


def line_of(status, field):
    return next(line.split()[1:] for line in status.split("\n") if line.startswith(f"{field}:"))


async def test_a_pipe_that_broke_ends_a_plain_program(yard):
    run = await yard.session("", argv=("sh", "-c", "yes | head -n 1"))
    await run.exited()
    assert run.out() == b"y\n"


needs_cgroup = pytest.mark.skipif(
    not os.access(cgroup.own_cgroup_folder() or "", os.W_OK), reason="no cgroup v2 of our own"
)


@needs_cgroup
async def test_it_runs_in_a_cgroup_of_its_own_which_goes_with_it(yard):
    run = await yard.session(TELLS)
    folder = run.launched.cgroup
    assert cgroup.cgroup_members(folder) == {run.cli.pid}
    assert cgroup.cgroups_under(yard.tag) == [folder]
    await run.link.close_input()
    await run.shim_gone()
    assert cgroup.cgroups_under(yard.home_tag) == []


async def test_without_cgroups_it_runs_all_the_same(yard):
    link = await yard.shim_inside(f"umount -l {cgroup_mount()} 2>/dev/null || true")
    run = await yard.session(TELLS, link=link)
    assert run.launched.cgroup is None
    assert proc.look(run.launched.pid) is not None
    assert await link.kill() == 0
    await run.shim_gone()
    assert yard.left() == []


def cgroup_mount() -> str:
    with open("/proc/self/mountinfo") as lines:
        return next((line.split()[4] for line in lines if " - cgroup2 " in line), "/none")
