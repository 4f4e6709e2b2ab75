"""Shims are started, kept ready, launched and ended."""

import os
import signal
from pathlib import Path

import pytest

from amiral.base.errors import Conflict, Invalid
from amiral.processes import cgroup, tree
from amiral.processes.answers import Exited
from amiral.processes.cgroup import cgroups_under
from amiral.processes.link import ShimGone
from amiral.processes.pool import ShimPool, start_shim
from amiral.processes.spawn import Spawner
from amiral.store.brake import Brake
from amiral.store.latch import Stop


@pytest.fixture
async def pool(yard):
    pool = ShimPool(yard.spawner, yard.run, 1, size=2)
    yield pool
    await pool.close()


async def test_ready_shims_are_taken_and_made_ready_again(yard, pool):
    await pool.fill()
    assert pool.ready == 2
    link = yard.keep(await pool.take())
    assert link.hello.pid in {one.pid for one in yard.left()}
    assert pool.ready == 1
    launched = await pool.launch(link, yard.order("input()"))
    assert tree.parents(launched.pid)[0] == link.hello.pid
    await yard.until(lambda: pool.ready == 2)


def children(link):
    return [one.pid for one in tree.descendants(link.hello.pid)]


async def test_an_idle_shim_has_the_process_of_its_cli_ready_in_a_cgroup(yard, pool):
    await pool.fill()
    link = yard.keep(await pool.take())
    await yard.until(lambda: children(link))
    (ahead,) = children(link)
    launched = await pool.launch(link, yard.order("input()"))
    assert launched.pid == ahead
    assert launched.cgroup is not None
    assert ahead in cgroup.cgroup_members(launched.cgroup)


async def test_a_process_held_ahead_that_was_killed_is_replaced_at_launch(yard, pool):
    await pool.fill()
    link = yard.keep(await pool.take())
    await yard.until(lambda: children(link))
    (ahead,) = children(link)
    os.kill(ahead, 9)
    await yard.until(lambda: children(link) == [])
    launched = await pool.launch(link, yard.order("input()"))
    assert launched.pid != ahead
    assert tree.parents(launched.pid)[0] == link.hello.pid


async def test_a_process_held_ahead_ends_with_its_idle_shim_and_leaves_no_cgroup(yard, pool):
    await pool.fill()
    link = yard.keep(await pool.take())
    await yard.until(lambda: children(link))
    link.close()
    await pool.close()
    await yard.until(lambda: yard.left() == [])
    assert cgroup.cgroups_under(yard.home_tag) == []


async def test_a_process_held_ahead_ends_when_its_shim_is_killed(yard, pool):
    link = yard.keep(await pool.take())
    await yard.until(lambda: children(link))
    (ahead,) = children(link)
    os.kill(link.hello.pid, 9)
    await yard.until(lambda: tree.identify(ahead) is None)


async def test_an_empty_pool_starts_one_at_once(yard, pool):
    link = yard.keep(await pool.take())
    assert (link.hello.state, pool.ready) == ("idle", 0)


async def test_closing_it_ends_those_that_wait(yard, pool):
    await pool.fill()
    await pool.close()
    await yard.until(lambda: yard.left() == [])
    assert list(yard.run.iterdir()) == []


async def test_one_that_died_is_not_given_out(yard, pool):
    await pool.fill()
    for one in yard.left():
        os.kill(one.pid, 9)
    await yard.until(lambda: pool.ready == 0)
    link = yard.keep(await pool.take())
    assert await link.input_state("i1") == "unknown"


async def test_under_a_stop_no_ready_shim_is_given_out_p03(yard, pool):
    await pool.fill()
    stop = yard.brake.engage("enough", "owner", 1)
    with pytest.raises(Conflict):
        await pool.take()
    yard.brake.release(stop.stop_id)
    yard.keep(await pool.take())


async def test_under_a_stop_a_taken_shim_launches_nothing_p03(yard, pool):
    link = yard.keep(await pool.take())
    yard.brake.engage("enough", "owner", 1)
    with pytest.raises(Conflict):
        await pool.launch(link, yard.order("pass"))
    assert (await yard.connect_to(link.path, 1)).hello.state == "idle"


class PulledMeanwhile(Brake):
    """A brake that somebody pulls between the look at it and the launch."""

    looks = 0

    def state(self, worker: str = "") -> Stop | None:
        self.looks += 1
        return None if self.looks == 1 else Stop("st1", "just now", "owner", 1, "all")


async def test_a_stop_that_comes_while_a_cli_is_launched_still_ends_it_p03(yard):
    link = await yard.shim()
    notices: list = []
    link.on_notice(notices.append)
    braked = Spawner(PulledMeanwhile(yard.home / "brake"), yard.tag)
    pool = ShimPool(braked, yard.run, 1, size=0)
    with pytest.raises(Conflict, match="st1"):
        await pool.launch(link, yard.order("import time; time.sleep(1000)"))
    await yard.until(lambda: Exited(None, 9) in notices)
    await yard.until(lambda: yard.left() == [])


async def test_a_folder_too_deep_for_a_socket_is_named(yard):
    deep = yard.run / ("x" * 90)
    deep.mkdir()
    with pytest.raises(Invalid, match="too long for a socket"):
        await start_shim(yard.spawner, deep, 1)


async def test_a_shim_that_dies_at_its_start_leaves_nothing(yard, monkeypatch):
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(ShimGone):
        await start_shim(yard.spawner, yard.run, 1)
    assert list(yard.run.iterdir()) == []
    await yard.until(lambda: yard.left() == [])


async def test_the_socket_is_private_and_short(yard):
    link = await yard.shim()
    assert Path(link.path).stat().st_mode & 0o777 == 0o600
    assert len(link.path) <= 100


async def test_what_a_dead_shim_left_is_killed_off_the_loop(yard):
    run = await yard.session("import time; print('up', flush=True); time.sleep(1000)")
    await run.prints(b"up\n")
    os.kill(run.shim.pid, 9)
    await run.shim_gone()
    killed = await yard.pool.kill_tree(run.order.tag, [run.shim, run.cli], run.launched.cgroup, 9.0)
    assert (killed.killed, killed.survivors) == ((run.cli,), ())
    assert cgroups_under(yard.home_tag) == []


async def test_a_shim_that_does_not_launch_in_time_is_killed_and_launches_nothing(yard):
    pool = ShimPool(yard.spawner, yard.run, 1, size=0, patience_s=0.1)
    link = yard.keep(await pool.take())
    os.kill(link.hello.pid, signal.SIGSTOP)
    with pytest.raises(ShimGone, match="did not launch in time"):
        await pool.launch(link, yard.order("input()"))
    await yard.until(lambda: yard.left() == [])
    await pool.close()
