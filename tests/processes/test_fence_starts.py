"""A fence is put up whole or nothing runs, and it touches nobody else (S6–S8, F10)."""

import asyncio
import json
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from amiral.base.errors import Denied
from amiral.processes import tree
from amiral.processes.fence import READ, Fence
from amiral.processes.spawn import base_environment

BOTH = """
attempt("inside", lambda: open(f"{inside}/new", "w"))
attempt("outside", lambda: open(f"{outside}/new", "w"))
"""
NO_FENCE = """
sys.path.append(more[0])
from amiral.processes import fence

try:
    fence.apply(fence.Fence.from_json(json.loads(more[1])))
except fence.FenceError as error:
    told["refused"] = str(error)
told["abi"] = fence.abi()
"""


def start(pen, *argv, fence=None):
    env = base_environment()
    return pen.yard.spawner.start(argv, kind="test", env=env, cwd="/", fence=fence or pen.fence())


def fence_threads():
    return [one for one in threading.enumerate() if one.name == "fence"]


async def test_s6_after_many_fenced_starts_no_thread_of_ours_is_restricted(pen):
    await asyncio.gather(*(pen.run("true") for _ in range(24)))
    written = await asyncio.gather(
        *(asyncio.to_thread(writes, pen.outside / str(n)) for n in range(24))
    )
    assert written == [True] * 24
    free = await pen.tries_freely(BOTH)
    assert free == {"inside": "done", "outside": "done"}
    status = [
        Path(f"/proc/self/task/{task}/status").read_text() for task in os.listdir("/proc/self/task")
    ]
    assert all("NoNewPrivs:\t0" in one and "Seccomp:\t0" in one for one in status)


def writes(path):
    path.write_text("x")
    return True


async def test_two_disjoint_fences_in_turn_leave_us_and_each_other_alone(pen):
    one, other = pen.fence(), pen.fence((str(pen.outside), pen.ALL))
    assert await pen.tries(BOTH, fence=one) == {"inside": "done", "outside": "EACCES"}
    assert await pen.tries(BOTH, fence=other) == {"inside": "EACCES", "outside": "done"}
    assert writes(pen.inside / "ours")
    assert writes(pen.outside / "ours")
    assert set((await pen.tries_freely(BOTH)).values()) == {"done"}


async def test_s7_a_program_outlives_the_thread_that_started_it(pen):
    child = start(pen, "sleep", "1000")
    await pen.yard.until(lambda: not fence_threads(), "the end of the thread")
    assert tree.is_alive(child.identity)
    child.kill()
    assert await child.exited() == -signal.SIGKILL


async def test_s8_a_timeout_leaves_no_process_thread_or_file(pen):
    await pen.run("true")
    await pen.yard.until(lambda: not fence_threads())
    before = sorted(os.listdir("/proc/self/fd"))
    script = "setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; sleep 1000"
    ran = await pen.run("sh", "-c", script, timeout_s=0.5)
    assert ran.timed_out
    assert pen.yard.left() == []
    assert fence_threads() == []
    await pen.yard.until(lambda: sorted(os.listdir("/proc/self/fd")) == before)


async def test_s8_who_stops_waiting_for_a_start_leaves_no_process(pen):
    for turns in range(4):
        run = asyncio.create_task(pen.run("sleep", "1000"))
        for _ in range(turns):
            await asyncio.sleep(0)
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
        await pen.yard.until(lambda: not fence_threads())
        assert pen.yard.left() == []


async def test_f10_a_fence_that_cannot_be_put_up_whole_runs_nothing(pen):
    fence, ran = pen.fence(root="/nowhere"), pen.inside / "ran"
    with pytest.raises(Denied, match="/nowhere: there is no such folder") as refused:
        await pen.run("touch", str(ran), fence=fence)
    assert refused.value.next_step == "amiral permissions probe"
    with pytest.raises(Denied):
        start(pen, "touch", str(ran), fence=fence)
    assert not ran.exists()
    assert pen.yard.left() == []


async def test_f10_a_shim_runs_nothing_either_and_can_be_asked_again(pen):
    link = await pen.yard.shim()
    code = 'open(f"{inside}/ran", "w")'
    with pytest.raises(Denied, match="/nowhere: there is no such folder") as refused:
        await pen.session(code, link=link, fence=pen.fence(root="/nowhere"))
    assert refused.value.next_step == "amiral permissions probe"
    assert not (pen.inside / "ran").exists()
    run = await pen.session(code, link=link)
    await run.exited()
    assert (pen.inside / "ran").exists()


async def test_f10_a_machine_whose_calls_are_not_known_has_no_fence(pen):
    attempts = pen.trying(NO_FENCE, pen.SOURCES, json.dumps(pen.fence().as_json()))
    ran = await pen.run_freely("setarch", "i686", *attempts)
    told = json.loads(ran.out)
    assert (told["abi"], "i686" in told["refused"]) == (0, True)


async def test_a_folder_to_work_in_that_is_gone_runs_nothing(pen):
    gone = str(pen.inside / "gone")
    with pytest.raises(Denied, match="gone"):
        await pen.run("true", fence=pen.fence((gone, pen.ALL), root=gone))
    assert (await pen.run("true", fence=pen.fence((gone, pen.ALL)))).code == 0


async def test_a_fence_inside_a_fence_can_only_take_away(pen):
    everything = json.dumps(Fence((("/", pen.ALL),), pen.ALL).as_json())
    grants = (str(pen.inside), pen.ALL), (pen.SOURCES, READ)
    told = await pen.tries(NO_FENCE + BOTH, pen.SOURCES, everything, fence=pen.fence(*grants))
    assert "refused" not in told
    assert (told["inside"], told["outside"]) == ("done", "EACCES")
