"""A freeze pauses every agent where it is, and the shims go on; a person alone thaws it."""

import os
import signal
import time

import pytest

from amiral.base.errors import Broken, Conflict
from amiral.processes import cgroup, proc
from amiral.safety.freeze import freeze, pause, thaw
from amiral.safety.scope import scope_named
from amiral.safety.stop import Order, stop_agents
from amiral.safety.working import working


@pytest.fixture
def fleet(homes):
    return homes().register(shop_1="shop").start("shop-1", ("double", "orphan"))


def paused(pids) -> set[int]:
    return {pid for pid in pids if (seen := proc.look(pid)) and (seen.is_paused or held(pid))}


def held(pid) -> bool:
    """Whether the kernel holds its cgroup; a stop signal may not have arrived before."""
    folder = f"{cgroup.own_cgroup_folder()}/{cgroup.cgroup_of(pid).rpartition('/')[2]}"
    return cgroup.is_frozen(folder)


def running(home) -> bool:
    before = [home.out("shop-1", kind) for kind in ("double", "orphan")]
    time.sleep(0.1)
    return [home.out("shop-1", kind) for kind in ("double", "orphan")] != before


def test_all_of_it_stands_still_until_it_is_thawed_and_then_goes_on(fleet):
    pids = set(fleet.pids())
    frozen = freeze(fleet.place, "shop", "a moment", "owner")
    assert (frozen.running, frozen.workers) == (0, ("shop/worker-double", "shop/worker-orphan"))
    assert paused(pids) == pids
    assert not running(fleet)
    shims = [one.shim for one in working(fleet.place, scope_named(fleet.place, "shop"))]
    assert paused(one.pid for one in shims if one) == set()
    mark = fleet.brake("shop-1").state()
    assert (mark.kind, mark.reason, mark.way_out) == ("freeze", "a moment", "amiral thaw shop-1")
    assert thaw(fleet.place, "shop").count >= len(pids)
    fleet.until(lambda: not paused(pids))
    assert running(fleet)
    assert fleet.brake("shop-1").state() is None


def test_an_agent_that_is_let_go_by_another_is_paused_again(fleet):
    freeze(fleet.place, "", "a moment", "owner")
    pids = set(fleet.pids())
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    assert {one.pid for one in pause(fleet.place, scope_named(fleet.place, ""))} >= pids
    fleet.until(lambda: not running(fleet))
    assert freeze(fleet.place, "shop", "longer", "owner").running == 0


def test_p03_a_stop_ends_what_is_frozen(fleet):
    freeze(fleet.place, "", "a moment", "owner")
    report = stop_agents(fleet.place, Order("", "enough", "owner"))
    assert (report.survivors, fleet.alive(fleet.pids())) == (0, set())
    assert [one.kind for one in fleet.brake().every()] == ["stop", "freeze"]


def test_what_another_freeze_holds_is_not_let_go(fleet):
    freeze(fleet.place, "shop/worker-double", "first", "owner")
    freeze(fleet.place, "shop", "second", "owner")
    with pytest.raises(Conflict, match="all is not frozen; frozen: shop-1/worker-double, shop-1"):
        thaw(fleet.place, "")
    thaw(fleet.place, "shop")
    mine = set(fleet.pids("shop-1", "double"))
    fleet.until(lambda: not paused(fleet.pids("shop-1", "orphan")))
    assert paused(mine) == mine
    thaw(fleet.place, "shop/worker-double")
    fleet.until(lambda: not paused(mine))


def test_what_stands_still_under_no_freeze_goes_on_by_a_thaw_too(fleet):
    """A look of the guard at the moment of a thaw may leave that."""
    freeze(fleet.place, "shop", "a moment", "owner")
    freeze(fleet.place, "shop/worker-double", "first", "owner")
    fleet.brake("shop-1").thaw("shop-1")
    assert thaw(fleet.place, "shop").mark is None
    fleet.until(lambda: not paused(fleet.pids("shop-1", "orphan")))
    mine = set(fleet.pids("shop-1", "double"))
    assert paused(mine) == mine
    with pytest.raises(Conflict, match="shop-1 is not frozen"):
        thaw(fleet.place, "shop")


def test_r38_a_freeze_that_cannot_be_kept_pauses_nothing(fleet):
    (fleet.folder / "brake" / "marks").unlink()
    (fleet.folder / "brake" / "marks").mkdir()
    with pytest.raises(Broken, match="nothing was paused"):
        freeze(fleet.place, "shop", "a moment", "owner")
    assert running(fleet)
