"""What a CLI finds when it starts: exactly what was ordered, nothing of ours."""

import json
import os
import signal

import pytest

from amiral.processes import cgroup, proc

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
