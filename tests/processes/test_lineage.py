"""Who runs below a shim; test_peer.py has the ways out of it that are of no use."""

import os
import subprocess
import sys

from amiral.processes.lineage import is_below_shim


def test_who_carries_the_tag_of_this_home_is_below_a_shim_and_nobody_else_is():
    command = [sys.executable, "-c", "input('up')"]
    env = {**os.environ, "AMIRAL_TAG": "abc:p1:s1"}
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        # In the middle of its exec a process has no environment to look at.
        assert agent.stdout is not None
        assert agent.stdout.read(2) == b"up"
        assert is_below_shim(agent.pid, "abc")
        assert not is_below_shim(agent.pid, "ab")
        agent.kill()
    assert not is_below_shim(os.getpid(), "abc")


def test_a_process_that_cannot_be_looked_at_counts_as_one():
    assert is_below_shim(2**22 + 1, "abc")


def test_asking_needs_neither_sockets_nor_a_loop():
    code = "import sys, amiral.processes.lineage; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"socket", "asyncio", "subprocess", "json"} & set(told.stdout.split())
