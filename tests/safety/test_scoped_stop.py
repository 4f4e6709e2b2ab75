"""A stop of one project or one worker ends that alone, with all it has started."""

import pytest

from amiral.base.errors import Conflict
from amiral.safety.report import report_text
from amiral.safety.stop import Order, release, stop_agents


@pytest.fixture
def fleet(homes):
    """Two projects, the id of one beginning as the other's; the first has two workers."""
    home = homes().register(shop_1="shop", shop_1_2="shop two")
    home.start("shop-1", ("orphan", "bare"))
    return home.start("shop-1-2", ("orphan",))


def test_p03_s05_a_worker_is_stopped_with_all_that_slipped_away_and_no_other(fleet):
    mine = fleet.pids("shop-1", "orphan")
    others = {*fleet.pids("shop-1", "bare"), *fleet.pids("shop-1-2")}
    report = stop_agents(fleet.place, Order("shop/worker-orphan", "enough", "owner"))
    assert (report.survivors, report.was_doing) == (0, ("shop/worker-orphan",))
    assert fleet.alive(mine) == set()
    assert fleet.alive(others) == others
    assert set(report.killed) >= set(mine)
    here, there = fleet.brake("shop-1"), fleet.brake("shop-1-2")
    assert here.state("worker-orphan") == report.stop
    assert [here.state(), here.state("worker-bare"), there.state("worker-orphan")] == [None] * 3


def test_p03_a_project_is_stopped_and_one_that_is_called_alike_is_not(fleet):
    others = set(fleet.pids("shop-1-2"))
    test = fleet.tagged_sleep("shop-1:run-1")
    report = stop_agents(fleet.place, Order("shop", "enough", "owner"))
    assert (report.survivors, report.scope.shown) == (0, "shop")
    assert fleet.alive([*fleet.pids("shop-1"), test.pid]) == set()
    assert fleet.alive(others) == others
    assert "shop-1/run-1 (sleep, not registered)" in report.was_doing
    assert report_text(report).startswith(
        f"⛔ stopped shop (stop {report.stop.stop_id}): 2 workers"
    )
    assert fleet.brake("shop-1").state("worker-bare") == report.stop
    assert (fleet.brake("shop-1-2").state(), fleet.brake().state()) == (None, None)


def test_a_wider_stop_and_a_narrower_one_are_lifted_each_by_its_name(fleet):
    narrow = stop_agents(fleet.place, Order("shop/worker-bare", "one", "owner")).stop
    wide = stop_agents(fleet.place, Order("", "all", "owner")).stop
    here = fleet.brake("shop-1")
    with pytest.raises(Conflict, match=f"stops in force are '{wide.stop_id}', '{narrow.stop_id}'"):
        release(fleet.place, "0a1b2c3d")
    release(fleet.place, narrow.stop_id)
    assert here.state("worker-bare") == wide
    narrow = stop_agents(fleet.place, Order("shop/worker-bare", "again", "owner")).stop
    release(fleet.place, wide.stop_id)
    assert (here.state(), here.state("worker-bare")) == (None, narrow)


def test_r38_a_stop_the_brake_has_no_place_for_stops_everything_and_says_so(fleet):
    (fleet.folder / "brake" / "marks").unlink()
    (fleet.folder / "brake" / "marks").mkdir()
    report = stop_agents(fleet.place, Order("shop", "enough", "owner"))
    assert (report.scope.shown, report.survivors) == ("all", 0)
    assert fleet.alive(fleet.pids()) == set()
    assert "no place for shop alone: everything was stopped" in report_text(report)
    assert fleet.brake().state() == report.stop


def test_a_worker_that_never_worked_is_stopped_and_its_name_doubted(fleet):
    (fleet.folder / "projects" / "shop-1" / "workers" / "developer").mkdir(parents=True)
    report = stop_agents(fleet.place, Order("shop/develper", "enough", "owner"))
    assert (report.killed, report.scope.shown) == ((), "shop/develper")
    assert "no develper has ever worked there (known: developer)" in report_text(report)
    assert fleet.brake("shop-1").state("develper") == report.stop
