"""The emergency stop: every agent of a home ends, proved; nothing of anybody else is touched."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from amiral.base.errors import Conflict, NotFound
from amiral.processes import cgroup, tree
from amiral.safety.report import report_data, report_text
from amiral.safety.stop import Order, release, stop_agents


@pytest.mark.parametrize("state", ["running", "stopped", "dead"])
def test_p03_five_streaming_workers_end_with_all_they_started(homes, state):
    home, stranger = homes().start(), homes().start()
    if state == "stopped":
        home.signal(signal.SIGSTOP)
    elif state == "dead":
        home.signal(signal.SIGKILL)
        home.process.wait()
    pids = home.pids()
    assert home.alive(pids) == set(pids)
    report = stop_agents(home.place, Order("", "enough", "owner"))
    assert report.survivors == 0
    assert home.alive(pids) == set()
    assert tree.tagged(home.place.tag) == []
    assert set(report.killed) >= set(pids)
    assert report.ms < 10_000
    assert report.was_doing == tuple(f"shop-1/worker-{kind}" for kind in sorted(home.KINDS))
    assert [one.level for one in report.ended] == [3] * len(home.KINDS)
    assert cgroup.cgroups_under(home.place.tag) == []
    assert home.alive(stranger.pids()) == set(stranger.pids())
    assert tree.tagged(stranger.place.tag)
    assert home.brake().state() == report.stop


def test_p03_the_control_plane_itself_is_not_killed(homes):
    home = homes().start()
    stop_agents(home.place, Order("all", "enough", "owner"))
    assert home.process.poll() is None


def test_a_stop_of_an_idle_home_says_that_nothing_was_running(homes):
    home = homes()
    home.brake().prepare()
    report = stop_agents(home.place, Order("", "just in case", "owner"))
    assert (report.killed, report.survivors, report.was_doing) == ((), 0, ())
    assert "nothing was running · 0 processes left" in report_text(report)
    assert home.brake().state().reason == "just in case"


def test_a_second_stop_keeps_the_first_one_in_force(homes):
    home = homes()
    home.brake().prepare()
    first = stop_agents(home.place, Order("", "first", "owner"))
    second = stop_agents(home.place, Order("", "second", "owner"))
    assert second.stop == first.stop


def test_s04_a_worker_that_stands_in_no_list_ends_too(homes):
    """Found by its tag alone: no session folder, no shim, no registry."""
    home = homes()
    home.brake().prepare()
    process = home.tagged_sleep()
    report = stop_agents(home.place, Order("", "enough", "owner"))
    assert report.killed == (process.pid,)
    assert report.was_doing == ("p1/s1 (sleep, not registered)",)
    assert process.wait() == -signal.SIGKILL


def test_the_report_names_the_way_back(homes):
    home = homes()
    home.brake().prepare()
    report = stop_agents(home.place, Order("", "enough", "owner"))
    stop_id = report.stop.stop_id
    assert report_text(report).startswith(f"⛔ stopped (stop {stop_id}): nothing was running")
    assert report_text(report).endswith(f"amiral release {stop_id}")
    assert report_data(report) == {
        "stop_id": stop_id,
        "scope": "all",
        "killed": [],
        "survivors": 0,
        "was_doing": [],
        "workers": [],
        "notice": "",
        "ms": report.ms,
    }


def test_a_release_must_name_the_stop_that_is_on(homes):
    home = homes()
    home.brake().prepare()
    report = stop_agents(home.place, Order("", "enough", "owner"))
    with pytest.raises(Conflict, match=report.stop.stop_id):
        release(home.place, "another")
    assert home.brake().state() == report.stop
    release(home.place, report.stop.stop_id)
    assert home.brake().state() is None
    with pytest.raises(Conflict, match="no stop is in force"):
        release(home.place, report.stop.stop_id)


@pytest.mark.parametrize("scope", ["shop", "shop/dev", "../brake", "..", "all/dev"])
def test_a_scope_that_does_not_exist_stops_nothing(homes, scope):
    home = homes()
    home.brake().prepare()
    with pytest.raises(NotFound, match="no project"):
        stop_agents(home.place, Order(scope, "enough", "owner"))
    assert home.brake().every() == []


def test_r38_a_disk_that_refuses_the_latch_keeps_nothing_alive_and_that_is_said(homes):
    home = homes()
    process = home.tagged_sleep()
    name = "unshare -m" if os.geteuid() == 0 else "unshare -r -m"
    script = Path(__file__).with_name("scripts") / "read_only.sh"
    command = [*name.split(), "sh", str(script), sys.executable, home.place.home, home.place.tag]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    kind, message, advice = ran.stdout.strip().split("\n")
    assert kind == "broken"
    assert message.startswith("1 processes were killed and 0 are left, but the brake cannot be")
    assert "Read-only file system" in message
    assert "then stop again" in advice
    assert process.wait() == -signal.SIGKILL


def test_r38_a_latch_that_cannot_be_read_is_a_stop_already(homes):
    home = homes()
    (home.folder / "brake").write_text("a file where the folder should be")
    process = home.tagged_sleep()
    assert stop_agents(home.place, Order("", "enough", "owner")).stop.stop_id == "unknown"
    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    "meta", ["", "?", "{}", '{"cli": 5}', '{"cli": {"pid": "x", "start": 1}}', "[]"]
)
def test_a_damaged_session_folder_keeps_nothing_from_being_stopped(homes, meta):
    home = homes()
    home.brake().prepare()
    folder = home.folder / "projects" / "shop-1" / "sessions" / "s1"
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(meta)
    (home.folder / "projects" / "a file").write_text("x")
    assert stop_agents(home.place, Order("", "enough", "owner")).was_doing == ()
