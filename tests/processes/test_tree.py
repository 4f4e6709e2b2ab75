"""Process trees: everything of ours is found and killed, a stranger is never signalled."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

import amiral
from amiral.processes import cgroup, proc, tree
from amiral.processes.answers import Exited
from amiral.processes.spawn import Stdio

SLEEPS = "import time; print('up', flush=True); time.sleep(1000)"


@pytest.fixture
def start(yard):
    """Start plain programs of the test's own, and reap them at its end."""
    started = []

    def start(code, *arguments, env=None):
        process = subprocess.Popen(
            [*yard.PYTHON, code, *arguments], stdout=subprocess.PIPE, env=env, text=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().strip()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def identity(pid: int) -> tree.Identity:
    found = tree.identify(pid)
    assert found is not None
    return found


def test_an_identity_holds_for_one_process_only(start):
    process = start(SLEEPS)
    mine = identity(process.pid)
    assert tree.is_alive(mine)
    others = (
        tree.Identity(mine.boot_id, mine.pid, mine.start - 1),
        tree.Identity("another-boot", mine.pid, mine.start),
    )
    for other in others:
        assert other != mine
        assert not tree.is_alive(other)
        assert not tree.send(other, signal.SIGKILL)
    assert process.poll() is None
    assert tree.send(mine, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert tree.identify(process.pid) is None
    assert not tree.send(mine, signal.SIGKILL)


async def test_a_zombie_is_named_but_not_alive(yard, start):
    process = start("import os; os.close(0); print('up', flush=True); os.read(3, 1)")
    mine = identity(process.pid)
    await yard.until(lambda: not tree.is_alive(mine))
    assert tree.identify(process.pid) == mine
    assert tree.members([mine], "", None) == []


LEADER_GONE = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
print("up", flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""


async def test_a_process_without_its_main_thread_is_still_alive(yard, start):
    process = start(LEADER_GONE)
    mine = identity(process.pid)
    await yard.until(lambda: b") Z" in proc.read_whole(f"/proc/{process.pid}/stat"))
    assert tree.is_alive(mine)
    killed = await asyncio.to_thread(tree.kill_tree, [mine], "", None, 10.0)
    assert (killed.killed, killed.survivors) == ((mine,), ())


def test_parents_lead_up_and_descendants_down(start):
    process = start("import os, time; print(os.fork(), flush=True); time.sleep(1000)")
    assert tree.parents(process.pid)[0] == os.getpid()
    (child,) = tree.descendants(process.pid)
    assert tree.parents(child.pid)[:2] == [process.pid, os.getpid()]
    assert tree.send(child, signal.SIGKILL)
    assert tree.parents(2**22 + 1) == []


def test_tags_are_found_by_whole_parts(yard, start):
    tags = [f"{yard.home_tag}:p1:s1", f"{yard.home_tag}:p1:s12", f"{yard.home_tag}:p10:s1"]
    pids = [start(SLEEPS, env={"AMIRAL_TAG": tag, "X": "AMIRAL_TAG=no"}).pid for tag in tags]
    found = {
        wanted: [one.pid for one in tree.tagged(wanted)]
        for wanted in (yard.home_tag, f"{yard.home_tag}:p1", tags[0], "", "no")
    }
    assert found[yard.home_tag] == sorted(pids)
    assert found[f"{yard.home_tag}:p1"] == sorted(pids[:2])
    assert found[tags[0]] == pids[:1]
    assert found[""] == found["no"] == []


def test_killing_nothing_signals_nobody(start):
    process = start(SLEEPS)
    mine = identity(process.pid)
    stale = tree.Identity(mine.boot_id, mine.pid, mine.start - 1)
    killed = tree.kill_tree([stale], "", None, 10.0)
    assert (killed.killed, killed.survivors) == ((), ())
    assert process.poll() is None


STAYS_IN_THE_SESSION = """
import os, sys, time
if os.fork() == 0:
    if os.fork() == 0:
        code = "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-u", "-c", code], {})
    os._exit(0)
os.wait()
time.sleep(1000)
"""


async def test_an_orphan_without_tag_is_found_by_its_session_while_the_root_lives(yard):
    reading, writing = os.pipe()
    root = yard.spawner.start(
        [*yard.PYTHON, STAYS_IN_THE_SESSION],
        kind="own",
        env={},
        cwd="/",
        stdio=Stdio(stdout=writing),
    )
    os.close(writing)
    with open(reading) as lines:
        orphan = int(await asyncio.to_thread(lines.readline))
    assert tree.parents(orphan)[0] != root.pid
    assert {one.pid for one in root.kill().killed} == {root.pid, orphan}
    assert await root.exited() == -signal.SIGKILL


# Prints the number of each process it makes; one a line.
ZOO = """
import os, signal, sys, time
def note():
    os.write(1, b"%d\\n" % os.getpid())
def linger():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    note()
    while True:
        time.sleep(1000)
def daemon(bare):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            if bare:
                code = "import os, time; os.write(1, b'%d\\\\n' % os.getpid()); time.sleep(1000)"
                os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", code], {})
            linger()
        os._exit(0)
    os.wait()
def storm(count):
    for _ in range(count):
        if os.fork() == 0:
            linger()
for kind in sys.argv[1].split(","):
    if kind == "child" and os.fork() == 0:
        linger()
    if kind in ("daemon", "bare"):
        daemon(kind == "bare")
    if kind == "storm":
        storm(200)
note()
if "restless" in sys.argv[1]:
    while True:
        if os.fork() == 0:
            if os.fork() == 0:
                time.sleep(0.01)
            os._exit(0)
        os.wait()
while True:
    time.sleep(1000)
"""


async def zoo(yard, kinds, count, **changes):
    run = await yard.session(ZOO, kinds, **changes)
    await yard.until(lambda: len(run.pids()) == count, f"{count} processes")
    return run, run.pids()


def alive(pids):
    return sorted(pid for pid in pids if (one := tree.identify(pid)) and tree.is_alive(one))


@pytest.mark.parametrize("wrapper", ["", "umount -l {mount} 2>/dev/null || true"])
@pytest.mark.parametrize(
    ("kinds", "count"),
    [("child,daemon,bare", 4), ("storm", 201), ("child,daemon,bare,restless", 4)],
)
async def test_a_live_shim_kills_its_whole_zoo_r29_p04(yard, wrapper, kinds, count):
    link = await yard.shim_inside(wrapper.format(mount=cgroup_mount())) if wrapper else None
    run, pids = await zoo(yard, kinds, count, link=link)
    assert bool(run.launched.cgroup) == (not wrapper)
    assert alive(pids) == sorted(pids)
    began = time.monotonic()
    assert await run.link.kill() == 0
    assert time.monotonic() - began < 10
    assert alive(pids) == []
    assert await run.exited() == Exited(None, signal.SIGKILL)
    await run.shim_gone()
    assert [pid for pid in pids if tree.identify(pid)] == [], "zombies"
    assert yard.left() == []


async def test_the_exit_of_the_cli_ends_what_it_left_behind_r29(yard):
    run, pids = await zoo(yard, "child,daemon,bare", 4)
    os.kill(run.cli.pid, signal.SIGKILL)
    await run.shim_gone()
    assert [pid for pid in pids if tree.identify(pid)] == []


async def test_a_dead_shims_zoo_is_found_by_tag_and_cgroup_r29(yard):
    run, pids = await zoo(yard, "child,daemon,bare", 4)
    os.kill(run.shim.pid, signal.SIGKILL)
    await run.shim_gone()
    assert alive(pids) == sorted(pids)
    killed = await asyncio.to_thread(
        tree.kill_tree, [run.shim, run.cli], run.order.tag, run.launched.cgroup, 10.0
    )
    assert killed.survivors == ()
    assert {one.pid for one in killed.killed} == set(pids)
    assert alive(pids) == []
    await yard.until(lambda: cgroup.cgroup_members(run.launched.cgroup) == set())
    cgroup.remove_cgroup(run.launched.cgroup)


async def test_without_cgroup_a_dead_shims_tagged_processes_are_found_with_all_below(yard):
    link = await yard.shim_inside(f"umount -l {cgroup_mount()} 2>/dev/null || true")
    run, pids = await zoo(yard, "child,daemon", 3, link=link)
    os.kill(run.shim.pid, signal.SIGKILL)
    await run.shim_gone()
    killed = await asyncio.to_thread(tree.kill_tree, [run.shim], run.order.tag, None, 10.0)
    assert {one.pid for one in killed.killed} == set(pids)
    assert alive(pids) == []


async def test_killing_one_session_leaves_its_neighbour_alone(yard):
    one, _ = await zoo(yard, "child", 2)
    other, pids = await zoo(yard, "daemon", 2)
    assert await one.link.kill() == 0
    assert alive(pids) == sorted(pids)
    assert other.heard(Exited) is None


async def test_all_of_a_home_is_found_by_its_tag_shims_included_s04(yard):
    idle = await yard.shim()
    one, _ = await zoo(yard, "daemon", 2)
    other, _ = await zoo(yard, "child", 2)
    killed = await asyncio.to_thread(tree.kill_tree, [], yard.home_tag, None, 10.0)
    assert killed.survivors == ()
    pids = {process.pid for process in killed.killed}
    assert {idle.hello.pid, one.shim.pid, other.shim.pid, *one.pids(), *other.pids()} <= pids
    assert yard.left() == []


REUSE = """
import os, signal, subprocess, sys, time
sys.path.append(sys.argv[1])
from amiral.processes import tree

def born():
    pid = os.fork()
    if pid == 0:
        time.sleep(1000)
    return pid

victim = born()
mine = tree.identify(victim)
os.kill(victim, signal.SIGKILL)
os.waitpid(victim, 0)
stranger = 0
while stranger != victim or tree.identify(stranger) == mine:
    if stranger:
        os.kill(stranger, signal.SIGKILL)
        os.waitpid(stranger, 0)
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(victim - 1))
    stranger = born()
    time.sleep(0.02)
print("reused", not tree.is_alive(mine), not tree.send(mine, signal.SIGKILL))
killed = tree.kill_tree([mine], "", None, 5.0)
print("spared", killed.killed == killed.survivors == (), os.waitpid(stranger, os.WNOHANG) == (0, 0))
own = tree.identify(stranger)
print("ours", [one.pid for one in tree.kill_tree([own], "", None, 5.0).killed] == [stranger])
"""


async def test_a_reused_pid_is_never_signalled_r30_p04(yard):
    user = [] if os.geteuid() == 0 else ["-r"]
    command = ["unshare", *user, "--pid", "--fork", "--mount-proc", *yard.PYTHON, REUSE]
    sources = amiral.__path__[0].rpartition("/")[0]
    ran = await yard.spawner.run(
        [*command, sources], kind="own", env={"PATH": os.environ["PATH"]}, cwd="/", timeout_s=30.0
    )
    assert ran.out.split(b"\n") == [
        b"reused True True",
        b"spared True True",
        b"ours True",
        b"",
    ], ran.err


def test_what_this_system_cannot_promise_is_said_in_words():
    limits = tree.limits()
    own = cgroup.own_cgroup_folder()
    may_make = own is not None and os.access(own, os.W_OK)
    assert sys.platform.startswith("linux") == proc.HAS_PROC
    assert may_make != any("cgroup" in limit for limit in limits)
    assert not any("pidfd" in limit for limit in limits)


def cgroup_mount() -> str:
    with open("/proc/self/mountinfo") as lines:
        return next((line.split()[4] for line in lines if " - cgroup2 " in line), "/none")
