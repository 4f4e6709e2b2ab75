"""The guard alone enforces every stop, whatever else is dead, stopped or full."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from amiral.base.ids import digest
from amiral.guard import Guard, guard_command
from amiral.safety.pulse import pulse_of
from amiral.safety.scope import Place
from amiral.store.brake import Brake
from amiral.testbench.rig import until

LOOK_S = 2.0


class Fort:
    """A home with a guard of its own and agents that are nothing but a tag."""

    def __init__(self, home: Path, flag: Path):
        self.home, self.flag = home, flag
        self.tag = digest(str(home))
        self.brake = Brake(home / "brake")
        self.brake.prepare()
        self.started: list[subprocess.Popen] = []

    def guard(self, *command: str):
        env = {**os.environ, "AMIRAL_HOME": str(self.home), "AMIRAL_STOP_FLAG": str(self.flag)}
        log = (self.home / "guard.log").open("ab")
        with log:
            guard = subprocess.Popen(command or guard_command(), env=env, stdout=log, stderr=log)
        self.started.append(guard)
        until(lambda: pulse_of(str(self.home)).is_running or guard.poll() is not None, "a guard")
        return guard

    def agent(self, rest="shop-1:s1"):
        env = {"AMIRAL_TAG": f"{self.tag}:{rest}", "PATH": os.environ["PATH"]}
        self.started.append(subprocess.Popen(["sleep", "600"], env=env, start_new_session=True))
        return self.started[-1]

    def told(self) -> str:
        return (self.home / "guard.log").read_text()

    def clear(self):
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()


@pytest.fixture
def fort(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    fort = Fort(home.resolve(), tmp_path / "emergency-stop.flag")
    yield fort
    fort.clear()


def ends(process, seconds=3 * LOOK_S):
    return process.wait(seconds)


def test_p03_what_lives_under_a_stop_is_killed_again_and_again(fort):
    fort.guard()
    bystander = subprocess.Popen(["sleep", "600"], env={"AMIRAL_TAG": f"{fort.tag}0:p:s"})
    fort.started.append(bystander)
    first = fort.agent()
    stop = fort.brake.engage("enough", "owner", 0)
    assert ends(first) == -signal.SIGKILL
    assert ends(fort.agent()) == -signal.SIGKILL
    line = f"⛔ stop {stop.stop_id}: killed 1 processes, 0 processes left"
    until(lambda: fort.told().count(line) == 2, "both reports")
    fort.brake.release(stop.stop_id)
    free = fort.agent()
    with pytest.raises(subprocess.TimeoutExpired):
        free.wait(1.5 * LOOK_S)
    assert bystander.poll() is None


def test_p03_a_narrower_stop_is_enforced_for_its_scope_alone(fort):
    fort.guard()
    (fort.home / "projects" / "shop-1").mkdir(parents=True)
    mine, other = fort.agent("shop-1:s1"), fort.agent("shop-2:s1")
    fort.brake.engage("enough", "owner", 0, "shop-1")
    assert ends(mine) == -signal.SIGKILL
    assert other.poll() is None


def test_a_stop_with_gentle_levels_has_its_grace_first(fort):
    fort.guard()
    agent = fort.agent()
    began = time.monotonic()
    fort.brake.engage("enough", "owner", 0, grace_ms=3000)
    assert ends(agent, 5 * LOOK_S) == -signal.SIGKILL
    assert time.monotonic() - began >= 3


def test_s03_a_flag_plants_a_stop_that_has_no_age_and_is_not_planted_twice(fort):
    fort.guard()
    agent = fort.agent()
    fort.flag.touch(0o600)
    assert ends(agent) == -signal.SIGKILL
    stop = fort.brake.state()
    assert (stop.by, stop.reason) == ("flag", f"flag {fort.flag}")
    until(lambda: not fort.flag.exists(), "the flag's end")
    assert f"amiral release {stop.stop_id}" in fort.told()
    fort.brake.release(stop.stop_id)
    time.sleep(1.5 * LOOK_S)
    assert fort.brake.state() is None


def test_s03_a_flag_that_is_none_of_ours_plants_nothing_and_that_is_told_once(fort):
    fort.flag.touch(0o600)
    fort.flag.chmod(0o666)
    fort.guard()
    time.sleep(1.5 * LOOK_S)
    assert fort.brake.state() is None
    assert fort.told().count("does not count: others may write to it") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file that stays")
def test_a_flag_that_cannot_be_taken_away_is_heeded_once(fort):
    fort.flag.touch(0o600)
    subprocess.run(["chattr", "+i", str(fort.flag)], check=False)
    guard = Guard(Place(str(fort.home), fort.tag), str(fort.flag))
    try:
        guard.look()
        stop = fort.brake.state()
        assert stop is not None
        fort.brake.release(stop.stop_id)
        guard.look()
        assert fort.brake.state() is None
    finally:
        subprocess.run(["chattr", "-i", str(fort.flag)], check=False)


def test_p03_a_latch_that_cannot_be_read_is_a_stop_for_the_guard_too(fort):
    fort.guard()
    agent = fort.agent()
    (fort.home / "brake" / "latch").write_bytes(os.urandom(512))
    assert ends(agent) == -signal.SIGKILL


def test_a_freeze_is_kept_and_a_thaw_is_left_alone(fort):
    fort.guard()
    agent = fort.agent()
    fort.brake.freeze("a moment", "owner", 0)
    until(lambda: state_of(agent) == "T", "a paused agent", 3 * LOOK_S)
    agent.send_signal(signal.SIGCONT)
    until(lambda: state_of(agent) == "T", "a paused agent", 3 * LOOK_S)
    fort.brake.thaw("all")
    agent.send_signal(signal.SIGCONT)
    time.sleep(1.5 * LOOK_S)
    assert state_of(agent) == "S"


def state_of(process) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_r36_a_stop_of_an_earlier_boot_is_enforced_from_the_first_look(fort):
    fort.brake.engage("enough", "owner", 0)
    agent = fort.agent()
    fort.guard()
    assert ends(agent) == -signal.SIGKILL


def test_r30_there_is_one_guard_a_home_and_it_ends_when_told(fort):
    guard = fort.guard()
    second = subprocess.run(
        [sys.executable, "-m", "amiral", "guard", "--json"],
        env={**os.environ, "AMIRAL_HOME": str(fort.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (second.returncode, json.loads(second.stdout)["error"]["kind"]) == (6, "conflict")
    assert fort.guard().wait() == 6
    guard.terminate()
    assert guard.wait(5) == 0
    assert not pulse_of(str(fort.home)).is_running
    fort.guard(sys.executable, "-m", "amiral", "guard")
    assert pulse_of(str(fort.home)).is_running


def test_the_guard_is_small(fort):
    """14 MB, of which most is Python itself."""
    guard = fort.guard()
    status = Path(f"/proc/{guard.pid}/status").read_text().split("\n")
    (resident,) = (int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    assert resident <= 14 * 1024


def test_the_guard_loads_nothing_heavy():
    code = "import sys, amiral.guard, json; print(json.dumps(sorted(sys.modules)))"
    source = str(Path(__file__).parents[1] / "src")
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({source!r}); {code}"]
    loaded = set(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
    heavy = {"asyncio", "dataclasses", "hashlib", "msgspec", "pathlib", "socket", "sqlite3"}
    assert loaded & (heavy | {"subprocess", "threading", "typing", "tempfile"}) == set()
