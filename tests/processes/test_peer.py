"""Who is at the other end: a person's program or something below a shim."""

import os
import socket
import subprocess

import pytest

from amiral.processes import lineage, peer

# Its arguments: the door, then how to get there.
VISITS = """
import os, socket, sys, time
door, words = sys.argv[1], sys.argv[2:]
if "orphan" in words:
    for _ in range(2):
        if os.fork():
            os._exit(0)
        os.setsid()
if "bare" in words:
    code = "import socket, sys, time; c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1]); "
    code += "c.send(b'x'); time.sleep(1000)"
    os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", code, door], {})
c = socket.socket(socket.AF_UNIX)
c.connect(door)
c.send(b"x")
time.sleep(0 if "leaves" in words else 1000)
"""


@pytest.fixture
def door(yard):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(yard.run / "door.sock"))
        listener.listen()
        listener.settimeout(20)
        yield listener


def visit(door, home):
    """Take the next visitor in, and look at who it is once it has spoken."""
    connection, _ = door.accept()
    with connection:
        assert connection.recv(1) == b"x"
        return peer.peer_of(connection, home)


async def test_we_ourselves_are_no_agent(yard, door):
    with socket.socket(socket.AF_UNIX) as visitor:
        visitor.connect(door.getsockname())
        visitor.send(b"x")
        found = visit(door, yard.home_tag)
    assert (found.pid, found.uid, found.below_shim) == (os.getpid(), os.getuid(), False)


@pytest.mark.parametrize("words", [[], ["orphan"], ["bare"], ["orphan", "bare"]])
async def test_what_runs_below_a_shim_is_an_agent_however_it_left(yard, door, words):
    await yard.session(VISITS, door.getsockname(), *words)
    found = visit(door, yard.home_tag)
    assert found.below_shim
    assert lineage.is_below_shim(found.pid, yard.home_tag)
    assert not lineage.is_below_shim(os.getpid(), yard.home_tag)


async def test_agents_of_another_home_are_none_of_this_one(yard, door):
    await yard.session(VISITS, door.getsockname())
    found = visit(door, "another")
    assert not found.below_shim
    assert not lineage.is_below_shim(found.pid, yard.home_tag[:-1])


async def test_the_tag_alone_makes_an_agent(yard, door):
    env = {"AMIRAL_TAG": f"{yard.home_tag}:p1:s1"}
    command = [*yard.PYTHON, VISITS, door.getsockname()]
    with subprocess.Popen(command, env=env) as visitor:
        assert visit(door, yard.home_tag).below_shim
        visitor.kill()


async def test_a_peer_that_cannot_be_looked_at_counts_as_an_agent(yard, door):
    with subprocess.Popen([*yard.PYTHON, VISITS, door.getsockname(), "leaves"], env={}) as visitor:
        visitor.wait()
    assert visit(door, yard.home_tag).below_shim


async def test_one_whose_shim_is_dead_is_known_by_its_cgroup(yard, door):
    run = await yard.session(VISITS, door.getsockname(), "orphan", "bare")
    if run.launched.cgroup is None:
        pytest.skip("no cgroup v2 of our own")
    connection, _ = door.accept()
    with connection:
        assert connection.recv(1) == b"x"
        os.kill(run.shim.pid, 9)
        await run.shim_gone()
        assert peer.peer_of(connection, yard.home_tag).below_shim
