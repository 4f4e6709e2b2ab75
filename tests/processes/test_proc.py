"""Processes as /proc shows them."""

import os

import pytest

from amiral.processes import proc


def test_this_process_is_seen_as_it_is():
    seen = proc.look(os.getpid())
    assert seen is not None
    assert (seen.pid, seen.parent, seen.session) == (os.getpid(), os.getppid(), os.getsid(0))
    assert not seen.is_dead
    assert proc.processes_now()[os.getpid()].start == seen.start


async def test_a_process_may_choose_a_hostile_name(yard):
    code = "open('/proc/self/comm', 'w').write(') Z 1 1'); print('up', flush=True); input()"
    run = await yard.session(code)
    await run.prints(b"up\n")
    seen = proc.look(run.cli.pid)
    assert seen is not None
    assert (seen.parent, seen.start, seen.is_dead) == (run.shim.pid, run.cli.start, False)


@pytest.mark.parametrize("pid", [-1, 0, 2**22 + 1])
def test_a_process_that_is_not_there_is_not_seen(pid):
    assert proc.look(pid) is None
