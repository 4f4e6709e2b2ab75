"""The emergency stop: every agent of a home ends, proved; nothing of anybody else is touched."""

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from amiral.base.errors import Conflict, Invalid
from amiral.processes import cgroup, tree
from amiral.safety.stop import Place, release, report_data, report_text, stop_everything
from amiral.store.brake import Brake

PROJECT = Path(__file__).with_name("scripts") / "project.py"
KINDS = ("plain", "setsid", "double", "bare", "orphan")
PATIENCE_S = 20.0


def until(holds):
    deadline = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return found


class Home:
    """A home whose project process has five workers streaming; `pids` are all that must end."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="amiral-"))
        (self.folder / "run").mkdir(mode=0o700)
        self.place = Place(str(self.folder), secrets.token_hex(6))
        self.process: subprocess.Popen[str] | None = None

    def start(self):
        command = [sys.executable, str(PROJECT), self.place.home, self.place.tag]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"
        until(lambda: all(b"on " in self.out(kind) for kind in KINDS) and len(self.pids()) == 9)
        return self

    def out(self, kind: str) -> bytes:
        path = self.folder / "projects" / "shop-1" / "sessions" / kind / "out.000001"
        return path.read_bytes() if path.exists() else b""

    def pids(self) -> list[int]:
        return [int(pid) for kind in KINDS for pid in re.findall(rb"\d+", self.out(kind))]

    def brake(self) -> Brake:
        return Brake(self.folder / "brake")

    def signal(self, number: int):
        assert self.process is not None
        self.process.send_signal(number)

    def clear(self):
        if self.process is not None:
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process.kill()
            self.process.wait()
        tree.kill_tree((), self.place.tag, None, PATIENCE_S)
        for folder in cgroup.cgroups_under(self.place.tag):
            tree.kill_tree((), "", folder, PATIENCE_S)
            cgroup.remove_cgroup(folder)
        for pid in self.pids():
            assert not is_alive(pid)
        shutil.rmtree(self.folder)


def is_alive(pid: int) -> bool:
    found = tree.identify(pid)
    return found is not None and tree.is_alive(found)


@pytest.fixture
def homes():
    made = []

    def make() -> Home:
        made.append(Home())
        return made[-1]

    yield make
    for home in made:
        home.clear()


@pytest.mark.parametrize("state", ["running", "stopped", "dead"])
def test_p03_five_streaming_workers_end_with_all_they_started(homes, state):
    home, stranger = homes().start(), homes().start()
    if state == "stopped":
        home.signal(signal.SIGSTOP)
    elif state == "dead":
        home.signal(signal.SIGKILL)
        home.process.wait()
    pids = home.pids()
    assert all(map(is_alive, pids))
    report = stop_everything(home.place, "", "enough", "owner")
    assert report.survivors == 0
    assert not any(map(is_alive, pids))
    assert tree.tagged(home.place.tag) == []
    assert set(report.killed) >= set(pids)
    assert report.ms < 10_000
    assert report.was_doing == tuple(f"shop-1/worker-{kind}" for kind in sorted(KINDS))
    assert cgroup.cgroups_under(home.place.tag) == []
    assert all(map(is_alive, stranger.pids()))
    assert tree.tagged(stranger.place.tag)
    assert home.brake().state() == report.stop


def test_p03_the_control_plane_itself_is_not_killed(homes):
    home = homes().start()
    stop_everything(home.place, "all", "enough", "owner")
    assert home.process.poll() is None


def test_a_stop_of_an_idle_home_says_that_nothing_was_running(homes):
    home = homes()
    home.brake().prepare()
    report = stop_everything(home.place, "", "just in case", "owner")
    assert (report.killed, report.survivors, report.was_doing) == ((), 0, ())
    assert "nothing was running · 0 processes left" in report_text(report)
    assert home.brake().state().reason == "just in case"


def test_a_second_stop_keeps_the_first_one_in_force(homes):
    home = homes()
    home.brake().prepare()
    first = stop_everything(home.place, "", "first", "owner")
    second = stop_everything(home.place, "", "second", "owner")
    assert second.stop == first.stop


def test_s04_a_worker_that_stands_in_no_list_ends_too(homes):
    """Found by its tag alone: no session folder, no shim, no registry."""
    home = homes()
    home.brake().prepare()
    process = tagged_sleep(home)
    report = stop_everything(home.place, "", "enough", "owner")
    assert report.killed == (process.pid,)
    assert process.wait() == -signal.SIGKILL


def test_the_report_names_the_way_back(homes):
    home = homes()
    home.brake().prepare()
    report = stop_everything(home.place, "", "enough", "owner")
    stop_id = report.stop.stop_id
    assert report_text(report).startswith(f"⛔ stopped (stop {stop_id}): nothing was running")
    assert report_text(report).endswith(f"amiral release {stop_id}")
    assert report_data(report) == {
        "stop_id": stop_id,
        "scope": "all",
        "killed": [],
        "survivors": 0,
        "was_doing": [],
        "ms": report.ms,
    }


def test_a_release_must_name_the_stop_that_is_on(homes):
    home = homes()
    home.brake().prepare()
    report = stop_everything(home.place, "", "enough", "owner")
    with pytest.raises(Conflict, match=report.stop.stop_id):
        release(home.place, "another")
    assert home.brake().state() == report.stop
    release(home.place, report.stop.stop_id)
    assert home.brake().state() is None
    with pytest.raises(Conflict, match="no stop is in force"):
        release(home.place, report.stop.stop_id)


def test_a_scope_that_does_not_exist_stops_nothing(homes):
    home = homes()
    home.brake().prepare()
    with pytest.raises(Invalid, match="not shop alone"):
        stop_everything(home.place, "shop", "enough", "owner")
    assert home.brake().state() is None


def tagged_sleep(home) -> "subprocess.Popen[bytes]":
    env = {"AMIRAL_TAG": f"{home.place.tag}:p1:s1", "PATH": os.environ["PATH"]}
    return subprocess.Popen(["sleep", "600"], env=env)


def test_r38_a_disk_that_refuses_the_latch_keeps_nothing_alive_and_that_is_said(homes):
    home = homes()
    process = tagged_sleep(home)
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
    process = tagged_sleep(home)
    assert stop_everything(home.place, "", "enough", "owner").stop.stop_id == "unknown"
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
    assert stop_everything(home.place, "", "enough", "owner").was_doing == ()
