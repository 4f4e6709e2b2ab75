"""Many trees in one look: found by tag, root and cgroup, ended or paused, nobody else touched."""

import asyncio
import os
import signal
import subprocess

import pytest

from amiral.processes import cgroup, proc, tree
from amiral.processes.grove import Grove


@pytest.fixture
def sleeper(yard):
    started = []

    def start(rest=""):
        env = {"PATH": os.environ["PATH"]}
        env |= {"AMIRAL_TAG": f"{yard.home_tag}:{rest}"} if rest else {}
        started.append(subprocess.Popen(["sleep", "1000"], env=env, start_new_session=True))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


def is_at_rest(pid, grove) -> bool:
    seen = proc.look(pid)
    frozen = (cgroup.cgroup_members(one) for one in grove.groups if cgroup.is_frozen(one))
    return (seen is not None and seen.is_paused) or any(pid in members for members in frozen)


async def test_several_tags_and_roots_end_together_and_each_tag_is_told(yard, sleeper):
    one, two, three = sleeper("p1:s1"), sleeper("p2:s1"), sleeper()
    other, plain = sleeper("p3:s1"), sleeper()
    root = tree.identify(three.pid)
    assert root is not None
    grove = Grove([f"{yard.home_tag}:p1", f"{yard.home_tag}:p2"], [root])
    killed = await asyncio.to_thread(grove.kill, 10.0)
    assert {process.pid for process in killed.killed} == {one.pid, two.pid, three.pid}
    assert killed.survivors == ()
    assert grove.met == {
        one.pid: (f"{yard.home_tag}:p1:s1", b"sleep"),
        two.pid: (f"{yard.home_tag}:p2:s1", b"sleep"),
    }
    assert (other.poll(), plain.poll()) == (None, None)


async def test_r30_a_root_of_another_life_is_no_root(yard, sleeper):
    process = sleeper()
    mine = tree.identify(process.pid)
    assert mine is not None
    stale = tree.Identity(mine.boot_id, mine.pid, mine.start - 1)
    assert Grove([], [stale]).living() == set()
    assert Grove([], [mine]).living() == {mine}


async def test_what_is_spared_goes_on_and_what_is_below_it_does_not(yard):
    run = await yard.session(
        "import os, time\nos.fork() or os.setsid()\nprint(1)\ntime.sleep(1000)"
    )
    grove = Grove([yard.home_tag], (), cgroup.cgroups_under(yard.home_tag), [run.shim])
    await yard.until(lambda: len(grove.living()) == 2)
    paused = await asyncio.to_thread(grove.pause)
    assert run.shim not in paused
    await yard.until(lambda: all(is_at_rest(one.pid, grove) for one in paused))
    assert not is_at_rest(run.shim.pid, grove)
    assert await run.link.request("input_state", id="x")
    resumed = await asyncio.to_thread(grove.resume)
    assert resumed == paused
    await yard.until(lambda: not any(is_at_rest(one.pid, grove) for one in paused))


HAS_IT_GO_ON = """
import os, signal, time
child = os.fork() or time.sleep(1000)
print(os.getpid(), child, flush=True)
while True:
    os.waitpid(child, os.WUNTRACED)
    os.kill(child, signal.SIGCONT)
"""


async def test_a_child_whose_parent_has_it_go_on_comes_to_rest_all_the_same(yard, sleeper):
    """As tmux does with what runs in its panes."""
    env = {"AMIRAL_TAG": f"{yard.home_tag}:p1"}
    parent = subprocess.Popen([*yard.PYTHON, HAS_IT_GO_ON], env=env, stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        pids = {int(word) for word in parent.stdout.readline().split()}
        grove = Grove([yard.home_tag])
        for _ in range(20):
            assert {one.pid for one in await asyncio.to_thread(grove.pause)} == pids
            assert grove.moving() == set()
            assert {one.pid for one in await asyncio.to_thread(grove.resume)} == pids
    finally:
        await asyncio.to_thread(grove.kill, 10.0)
        parent.communicate()


@pytest.mark.skipif(
    not os.access(cgroup.own_cgroup_folder() or "", os.W_OK), reason="no cgroup v2 of our own"
)
async def test_the_kernel_holds_a_frozen_cgroup_whoever_says_go_on(yard, sleeper):
    folder = cgroup.make_cgroup(f"{yard.tag}:s1")
    assert folder is not None
    process = sleeper()
    assert cgroup.join_cgroup(folder, process.pid)
    assert not cgroup.is_frozen(folder)
    assert cgroup.freeze_cgroup(folder)
    await yard.until(lambda: cgroup.is_frozen(folder))
    process.send_signal(signal.SIGCONT)
    assert cgroup.is_frozen(folder)
    assert cgroup.thaw_cgroup(folder)
    await yard.until(lambda: not cgroup.is_frozen(folder))
    assert cgroup.freeze_cgroup(folder)
    killed = await asyncio.to_thread(Grove([], [], [folder]).kill, 10.0)
    assert [one.pid for one in killed.killed] == [process.pid]
    assert not os.path.exists(folder)
    for strange in (None, "/sys/fs/cgroup"):
        assert not cgroup.freeze_cgroup(strange)
        assert not cgroup.thaw_cgroup(strange)
        assert not cgroup.is_frozen(strange)
