"""One thing is done behind a fence, on a thread that does nothing else."""

import asyncio
import os
import socket
import threading
from pathlib import Path

import pytest

from amiral.base.errors import Denied
from amiral.processes.behind import awaited, behind


async def test_what_was_done_behind_the_fence_is_given_and_its_thread_ends(pen):
    done_on = await awaited(behind(pen.fence(), threading.current_thread), lambda _: None)
    done_on.join(10)
    assert not done_on.is_alive()
    assert done_on is not threading.current_thread()


async def test_behind_the_fence_we_are_refused_ourselves(pen):
    with pytest.raises(PermissionError):
        behind(pen.fence(), (pen.outside / "new").touch).result()
    (pen.outside / "new").touch()


async def test_a_socket_from_before_the_fence_reaches_no_abstract_name_behind_it(pen):
    """S2: the kernel's scope holds by itself, where no filter refuses the socket."""
    name = f"\0amiral-behind-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as early:
        listener.bind(name)
        listener.listen()
        with pytest.raises(PermissionError):
            behind(pen.fence(), lambda: early.connect(name)).result()
        early.connect(name)


async def test_capabilities_are_gone_before_anything_is_started(pen):
    status = behind(pen.fence(), Path("/proc/thread-self/status").read_text).result()
    told = dict(line.split(":\t", 1) for line in status.split("\n") if line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert told[name] == "0" * 16


async def test_without_the_fence_nothing_is_done(pen):
    done: list[int] = []
    with pytest.raises(Denied):
        behind(pen.fence(root="/nowhere"), lambda: done.append(1)).result()
    assert done == []


async def test_what_nobody_waits_for_any_more_is_undone(pen):
    may_go_on = threading.Event()
    undone: list[bool] = []
    told = behind(pen.fence(), lambda: may_go_on.wait(10))
    waiting = asyncio.create_task(awaited(told, undone.append))
    await asyncio.sleep(0)
    waiting.cancel()
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert undone == [True]


async def test_what_was_not_done_needs_no_undoing(pen):
    undone: list[object] = []
    waiting = asyncio.create_task(
        awaited(behind(pen.fence(root="/nowhere"), object), undone.append)
    )
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert undone == []
