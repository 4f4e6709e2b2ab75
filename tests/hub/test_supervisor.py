"""One process a project, whatever dies: real processes, a clock that is held where time matters."""

import asyncio
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from amiral.base import fleet_events as ev
from amiral.base.clock import SystemClock
from amiral.base.errors import Broken, Conflict, NotFound
from amiral.hub.supervisor import Supervisor
from amiral.hub.watchdog import MOST_RESTARTS, MOST_STARTING
from amiral.processes import proc, tree
from amiral.processes.heartbeat import own_beat, write
from amiral.processes.serving import Served, server_of
from amiral.processes.spawn import Spawner
from amiral.projects.store import Projects
from amiral.store.brake import Brake
from amiral.testbench.fake_clock import FakeClock

PATIENCE_S = 30.0
HERE = Path(__file__).parent
CHILD, HUB = HERE / "scripted_child.py", HERE / "scripted_hub.py"
LOOK_S = 0.01


class Host:
    """One home with projects, and the supervisors that tend it, one after the other."""

    def __init__(self, folder: Path):
        self.folder, self.home = folder, folder / "home"
        for name in ("run", "orders", "started"):
            (self.home / name).mkdir(mode=0o700, parents=True)
        self.registry = Projects(self.home, folder / "user")
        self.brake = Brake(self.home / "brake")
        self.brake.prepare()
        self.clock = SystemClock()
        self.told: list = []
        self.tasks: list[tuple[Supervisor, asyncio.Task]] = []
        self.beat_s, self.program, self.redact = 60.0, CHILD, str

    def project(self, name="shop"):
        (self.folder / name).mkdir()
        return self.registry.register(self.folder / name)

    def order(self, project, text):
        """Have the project's process do something: whole at once, as it reads at any moment."""
        draft = self.home / "orders" / f".{project.id}"
        draft.write_text(text)
        draft.rename(self.home / "orders" / project.id)

    def argv(self, one):
        beat = str(self.beat_s)
        return [
            sys.executable, str(self.program), str(self.home), one.id, one.name, one.path, beat
        ]  # fmt: skip

    def begin(self, beat_s=None, tell=None) -> Supervisor:
        async def keep(event):
            self.told.append(event)

        supervisor = Supervisor(
            self.home,
            self.clock,
            Spawner(self.brake, ""),
            self.registry.all,
            tell or keep,
            beat_s or self.beat_s,
            self.argv,
            self.redact,
        )
        self.tasks.append((supervisor, asyncio.create_task(supervisor.run())))
        return supervisor

    async def end(self, supervisor):
        """Close one as the hub does at its end."""
        await supervisor.close()
        for one, task in list(self.tasks):
            if one is supervisor:
                await self.until(task.done)
                await task
                self.tasks.remove((one, task))

    async def until(self, holds, step_s=0.0):
        """Wait in real time until `holds()`; a held clock is moved by `step_s` meanwhile."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := holds()):
            assert time.monotonic() < deadline, (self.told[-5:], self.states())
            if isinstance(self.clock, FakeClock):
                await self.clock.advance(step_s or 0.05)
            await asyncio.sleep(LOOK_S)
        return found

    def states(self):
        return {one.project.name: one for one in self.tasks[-1][0].states()} if self.tasks else {}

    async def runs(self, name="shop", step_s=0.0):
        await self.until(lambda: name in self.states(), step_s)
        await self.until(lambda: self.states()[name].state == "running", step_s)
        return self.states()[name].pid

    def heard(self, kind, name="shop"):
        return [one for one in self.told if isinstance(one, kind) and one.name == name]

    def starts(self, project):
        path = self.home / "started" / project.id
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def living(self):
        """Give the pids of this home's processes."""
        mark, pids = str(self.home).encode(), []
        for seen in proc.processes_now().values():
            with contextlib.suppress(OSError):
                command = proc.read_whole(f"/proc/{seen.pid}/cmdline")
                if not seen.is_dead and mark in command.split(b"\0"):
                    pids.append(seen.pid)
        return pids

    async def clear(self):
        for supervisor, _ in list(self.tasks):
            await self.end(supervisor)
        for pid in self.living():
            os.kill(pid, signal.SIGKILL)
        await self.until(lambda: not self.living())
        await self.until(self.nothing_to_reap)

    def nothing_to_reap(self):
        return not [one for one in proc.processes_now().values() if one.parent == os.getpid()]


@pytest.fixture
async def host():
    folder = Path(tempfile.mkdtemp(prefix="amiral-")).resolve()
    host = Host(folder)
    yield host
    await host.clear()
    shutil.rmtree(folder)


def kill(pid):
    os.kill(pid, signal.SIGKILL)


async def test_a_registered_project_is_started_and_runs(host):
    shop = host.project()
    host.begin()
    pid = await host.runs()
    state = host.states()["shop"]
    assert (state.project, state.heartbeat_age_s, state.restarts, state.reason) == (shop, 0, 0, "")
    assert host.starts(shop) == [pid]
    assert host.told == [ev.ChildStarted(shop.id, "shop", pid)]
    assert os.getsid(pid) == pid


async def test_its_process_knows_its_home_and_name_and_carries_no_tag(host, monkeypatch):
    monkeypatch.setenv(tree.TAG_VARIABLE, "of-another")
    host.project()
    host.begin()
    pid = await host.runs()
    environment = proc.read_whole(f"/proc/{pid}/environ").split(b"\0")
    assert f"AMIRAL_HOME={host.home}".encode() in environment
    assert b"BOT_NAME=shop" in environment
    assert tree.tag_of(pid) == ""


async def test_a_death_is_seen_at_once_and_healed(host):
    shop = host.project()
    host.begin()
    pid = await host.runs()
    kill(pid)
    killed = time.monotonic()
    (died,) = await host.until(lambda: host.heard(ev.ChildDied))
    assert time.monotonic() - killed < 2
    assert (died.project, died.pid, died.signature) == (shop.id, pid, "signal SIGKILL")
    await host.until(lambda: len(host.heard(ev.ChildStarted)) == 2)
    again = await host.runs()
    assert again != pid
    assert host.states()["shop"].restarts == 1


async def test_between_death_and_start_it_waits_and_says_why(host):
    host.clock = FakeClock(monotonic_s=time.monotonic() + 1000)
    shop = host.project()
    host.begin()
    await host.runs()
    host.order(shop, "exit 3")
    await host.until(lambda: host.heard(ev.ChildDied))
    state = host.states()["shop"]
    assert (state.state, state.pid, state.reason) == ("waiting", 0, "exit 3: it broke")
    assert state.next_s in (1, 2)


async def test_r33_a_process_that_dies_each_time_in_the_same_way_is_parked(host):
    host.clock = FakeClock(monotonic_s=time.monotonic() + 1000)
    shop = host.project()
    host.order(shop, "exit 1")
    host.begin()
    (parked,) = await host.until(lambda: host.heard(ev.ChildParked), 2.0)
    assert parked.reason == "died 3 times in the same way: exit 1: it broke"
    await host.clock.advance(24 * 3600)
    await host.until(lambda: host.clock.sleeping)
    assert len(host.starts(shop)) == 3
    state = host.states()["shop"]
    assert state.state == "parked"
    assert "`amiral restart shop`" in state.reason


async def test_r33_p06_of_two_hundred_different_crashes_five_are_healed(host):
    host.clock = FakeClock(monotonic_s=time.monotonic() + 1000)
    shop = host.project()
    host.order(shop, "random")
    host.begin()
    await host.until(lambda: host.heard(ev.ChildParked), 2.0)
    await host.clock.advance(24 * 3600)
    assert len(host.starts(shop)) == 1 + MOST_RESTARTS
    assert len({one.signature for one in host.heard(ev.ChildDied)}) == 1 + MOST_RESTARTS


async def test_r33_a_park_outlives_the_hub_and_a_person_lifts_it(host):
    host.clock = FakeClock(monotonic_s=time.monotonic() + 1000)
    shop = host.project()
    host.order(shop, "exit 1")
    first = host.begin()
    await host.until(lambda: host.heard(ev.ChildParked), 2.0)
    await host.end(first)
    second = host.begin()
    await host.until(lambda: "shop" in host.states())
    await host.clock.advance(3600)
    assert host.states()["shop"].state == "parked"
    assert len(host.starts(shop)) == 3
    host.order(shop, "")
    await second.restart(shop.id)
    await host.runs(step_s=0.1)
    assert host.states()["shop"].restarts == 0


async def test_r33_twenty_that_die_at_once_come_back_few_at_a_time(host):
    host.clock = FakeClock(monotonic_s=time.monotonic() + 1000)
    names = [f"p{number}" for number in range(20)]
    projects = [host.project(name) for name in names]
    host.begin()
    most = 0

    def all_run():
        nonlocal most
        states = host.states().values()
        most = max(most, sum(one.state == "starting" and one.pid > 0 for one in states))
        return len(states) == 20 and all(one.state == "running" for one in states)

    await host.until(all_run)
    for state in host.states().values():
        kill(state.pid)
    await host.until(lambda: sum(isinstance(one, ev.ChildDied) for one in host.told) == 20)
    await host.until(all_run, 0.1)
    assert 1 <= most <= MOST_STARTING
    assert [len(host.starts(one)) for one in projects] == [2] * 20
    assert len(host.living()) == 20


async def test_an_end_that_was_asked_for_is_no_death(host):
    shop = host.project()
    first = host.begin()
    pid = await host.runs()
    host.order(shop, "goodbye")
    await host.until(lambda: host.heard(ev.ChildEnded))
    assert host.states()["shop"].state == "ended"
    assert host.heard(ev.ChildEnded)[0].pid == pid
    assert host.heard(ev.ChildDied) == []
    await host.end(first)


async def test_a_goodbye_of_one_that_fails_is_a_death(host):
    shop = host.project()
    host.begin()
    await host.runs()
    host.order(shop, "botch")
    (died,) = await host.until(lambda: host.heard(ev.ChildDied))
    assert died.signature == "exit 1"
    assert host.heard(ev.ChildEnded) == []


async def test_the_goodbye_of_an_adopted_one_is_no_death(host):
    shop = host.project()
    first = host.begin()
    pid = await host.runs()
    await host.end(first)
    host.begin()
    assert await host.runs() == pid
    host.order(shop, "goodbye")
    (ended,) = await host.until(lambda: host.heard(ev.ChildEnded))
    assert ended.pid == pid
    assert host.states()["shop"].state == "ended"


async def test_what_a_person_ended_stays_ended_until_a_person_says_otherwise(host):
    host.clock = FakeClock(monotonic_s=time.monotonic() + 1000)
    shop = host.project()
    first = host.begin()
    await host.runs()
    host.order(shop, "goodbye")
    await host.until(lambda: host.heard(ev.ChildEnded))
    await host.clock.advance(60)
    await host.end(first)
    second = host.begin()
    await host.until(lambda: "shop" in host.states())
    await host.clock.advance(60)
    assert host.states()["shop"].state == "ended"
    host.order(shop, "")
    await second.restart(shop.id)
    await host.runs()


async def test_what_ended_together_with_the_hub_is_started_by_the_next(host):
    shop = host.project()
    first = host.begin()
    await host.runs()
    host.order(shop, "goodbye")
    await host.until(lambda: host.heard(ev.ChildEnded))
    await host.end(first)
    host.order(shop, "")
    host.begin()
    await host.runs()


async def test_p03_a_stop_does_not_keep_a_projects_own_process_down(host):
    host.brake.engage("enough", "owner", 0)
    host.project()
    host.begin()
    kill(await host.runs())
    await host.until(lambda: len(host.heard(ev.ChildStarted)) == 2)
    await host.runs()
    for kind in ("agent", "shim", "test", "deploy"):
        with pytest.raises(Conflict):
            Spawner(host.brake, "").check(kind)


async def test_r34_one_that_hangs_is_told_of_once_and_never_killed(host):
    host.beat_s = 0.2
    shop = host.project()
    host.begin()
    pid = await host.runs()
    os.kill(pid, signal.SIGSTOP)
    (hung,) = await host.until(lambda: host.heard(ev.ChildHung))
    assert hung.pid == pid
    assert "`amiral restart shop`" in hung.advice
    state = host.states()["shop"]
    assert (state.state, state.pid) == ("hung", pid)
    os.kill(pid, signal.SIGCONT)
    await host.until(lambda: host.states()["shop"].state == "running")
    assert host.starts(shop) == [pid]
    assert len(host.heard(ev.ChildHung)) == 1
    assert host.heard(ev.ChildDied) == []


async def test_r34_one_that_answers_is_only_slow(host):
    host.beat_s = 0.2
    shop = host.project()
    host.begin()
    pid = await host.runs()
    host.order(shop, "silent")
    await host.until(lambda: (host.states()["shop"].heartbeat_age_s or 0) >= 4)
    assert host.states()["shop"].state == "running"
    assert host.heard(ev.ChildHung) == []
    assert host.starts(shop) == [pid]


async def test_s09_a_full_disk_is_a_state_of_its_own(host):
    host.beat_s = 0.2
    shop = host.project()
    host.begin()
    await host.runs()
    host.order(shop, "full")
    await host.until(lambda: host.states()["shop"].reason == "the disk is full")
    assert host.states()["shop"].state == "running"


@pytest.mark.parametrize("jump_ms", [8 * 3600 * 1000, -2 * 3600 * 1000])
async def test_r35_a_jump_of_the_wall_clock_kills_and_hangs_nobody(host, jump_ms):
    host.clock = FakeClock(monotonic_s=time.monotonic() + 1000)
    shop = host.project()
    host.begin()
    pid = await host.runs()
    host.clock.jump(jump_ms)
    await host.clock.advance(20)
    assert host.states()["shop"].state == "running"
    assert host.starts(shop) == [pid]
    assert host.told == [ev.ChildStarted(shop.id, "shop", pid)]


async def test_r35_after_a_pause_of_the_machine_silence_is_not_counted_for_one_beat(host):
    host.clock = LeapingClock(monotonic_s=time.monotonic() + 1000)
    host.project()
    host.begin()
    pid = await host.runs()
    os.kill(pid, signal.SIGSTOP)
    host.clock.leap(30 * 60)
    await host.clock.advance(50)
    await asyncio.sleep(0.2)
    assert host.states()["shop"].state == "running"
    assert host.tasks[-1][0]._asking == {}
    await host.clock.advance(30)
    await host.until(lambda: host.tasks[-1][0]._asking)
    os.kill(pid, signal.SIGCONT)
    await host.until(lambda: not host.tasks[-1][0]._asking)
    assert host.heard(ev.ChildHung) == []


class LeapingClock(FakeClock):
    """A machine that is held: both clocks are further on when it goes on, and nothing ran."""

    def leap(self, seconds):
        self._monotonic_s += seconds


async def test_a_closed_hub_lets_its_processes_go_on_and_the_next_adopts_them(host):
    shop = host.project()
    first = host.begin()
    pid = await host.runs()
    await host.end(first)
    assert [state.pid for state in first.states()] == [pid]
    with pytest.raises(Conflict, match="the hub goes down"):
        await first.restart(shop.id)
    host.told.clear()
    host.begin()
    assert await host.runs() == pid
    assert host.told == [ev.ChildAdopted(shop.id, "shop", pid)]
    assert host.starts(shop) == [pid]


async def test_one_started_by_hand_is_adopted_and_its_death_seen(host):
    shop = host.project()
    child = Spawner(host.brake, "").start(
        host.argv(shop), kind="own", env=dict(os.environ), cwd="/"
    )
    await host.until(_served(host, shop).socket.exists)
    host.begin()
    assert await host.runs() == child.pid
    assert host.told == [ev.ChildAdopted(shop.id, "shop", child.pid)]
    kill(child.pid)
    (died,) = await host.until(lambda: host.heard(ev.ChildDied))
    assert died.signature == ""
    assert await host.runs() != child.pid


def _served(host, project):
    return Served(host.home, project.id, project.name, project.path)


async def test_r30_a_heartbeat_and_a_lock_file_of_strangers_are_no_process_of_ours(host):
    shop = host.project()
    stranger = os.getpid()
    write(host.home, own_beat("shop", shop.id, 1, SystemClock()))
    lock = _served(host, shop).lock
    lock.parent.mkdir(parents=True)
    lock.write_text(f"{stranger}\n")
    supervisor = host.begin()
    pid = await host.runs()
    assert pid != stranger
    await supervisor.restart(shop.id)
    assert await host.runs() not in (pid, stranger)


async def test_r30_the_number_of_a_dead_process_that_another_has_by_now_is_not_adopted(host):
    shop = host.project()
    first = host.begin()
    pid = await host.runs()
    await host.end(first)
    kill(pid)
    await host.until(lambda: pid not in host.living())
    memory = host.home / "hub" / "watchdog.json"
    text = memory.read_text()
    assert f'"pid": {pid}' in text
    memory.write_text(text.replace(f'"pid": {pid}', f'"pid": {os.getpid()}'))
    host.begin()
    assert await host.runs() not in (pid, os.getpid())
    assert host.heard(ev.ChildAdopted) == []
    (died,) = host.heard(ev.ChildDied)
    assert died.signature == ""
    assert len(host.starts(shop)) == 2


async def test_a_row_that_is_removed_ends_its_process_and_a_new_one_starts_one(host):
    shop = host.project()
    host.begin()
    pid = await host.runs()
    host.registry.remove("shop")
    till = host.project("till")
    (ended,) = await host.until(lambda: host.heard(ev.ChildEnded))
    assert (ended.project, ended.pid) == (shop.id, pid)
    await host.runs("till")
    assert list(host.states()) == ["till"]
    assert host.heard(ev.ChildDied) == []
    assert host.starts(till)


async def test_a_row_that_is_removed_and_comes_back_is_served_again(host):
    shop = host.project()
    host.begin()
    pid = await host.runs()
    os.kill(pid, signal.SIGSTOP)
    host.registry.remove("shop")
    await host.until(lambda: host.states()["shop"].state == "stopped")
    with pytest.raises(Conflict, match="its row is gone"):
        await host.tasks[-1][0].restart(shop.id)
    host.registry.register(host.folder / "shop")
    os.kill(pid, signal.SIGCONT)
    await host.until(lambda: len(host.starts(shop)) == 2)
    assert await host.runs() != pid


async def test_a_row_removed_while_no_hub_ran_ends_its_process_too(host):
    host.project()
    first = host.begin()
    pid = await host.runs()
    await host.end(first)
    host.registry.remove("shop")
    host.begin()
    await host.until(lambda: pid not in host.living())
    await host.until(lambda: host.states() == {})


async def test_a_registry_that_cannot_be_read_ends_nobody(host):
    shop = host.project()
    host.begin()
    pid = await host.runs()
    registry = host.home / "config" / "bot_registry.json"
    for path in registry.parent.iterdir():
        path.write_text("{")
    with pytest.raises(Broken):
        host.registry.all()
    kill(pid)
    await host.until(lambda: len(host.starts(shop)) == 2)
    await host.runs()


async def test_a_restart_ends_exactly_the_projects_process(host):
    shop = host.project()
    supervisor = host.begin()
    pid = await host.runs()
    agent = Spawner(host.brake, "t:shop").start(
        ["sleep", "1000"], kind="agent", env=dict(os.environ), cwd="/"
    )
    await asyncio.gather(supervisor.restart(shop.id), supervisor.restart(shop.id))
    again = await host.runs()
    assert pid not in host.living()
    assert host.living() == [again]
    assert not agent.has_ended
    agent.drop()
    assert host.heard(ev.ChildDied) == []


async def test_a_hung_one_is_restarted_when_a_person_says_so(host):
    shop = host.project()
    supervisor = host.begin()
    pid = await host.runs()
    os.kill(pid, signal.SIGSTOP)
    await supervisor.restart(shop.id)
    assert await host.runs() != pid


async def test_an_unknown_project_cannot_be_restarted(host):
    supervisor = host.begin()
    with pytest.raises(NotFound, match="till"):
        await supervisor.restart("till")


async def test_a_project_served_by_somebody_unnamed_is_left_alone(host):
    shop = host.project()
    served = _served(host, shop)
    served.lock.parent.mkdir(parents=True)
    holder = Spawner(host.brake, "").start(
        ["flock", str(served.lock), "sleep", "1000"], kind="own", env=dict(os.environ), cwd="/"
    )
    await host.until(served.lock.exists)
    await _until_held(host, served)
    supervisor = host.begin()
    await host.until(lambda: host.states().get("shop"))
    assert host.states()["shop"].state == "waiting"
    with pytest.raises(Conflict, match="does not tell its number"):
        await supervisor.restart(shop.id)
    holder.drop()
    await host.runs()
    assert len(host.starts(shop)) == 1


async def _until_held(host, served):
    while await server_of(served, host.clock) is None:
        await asyncio.sleep(LOOK_S)


async def test_one_that_makes_way_for_another_is_no_death(host):
    shop = host.project()
    served, argv = _served(host, shop), host.argv(shop)
    loses = f"while ! test -S {served.socket}; do sleep 0.05; done; exit 6"
    host.argv = lambda _: ["sh", "-c", loses]
    host.begin()
    await host.until(lambda: host.heard(ev.ChildStarted))
    other = Spawner(host.brake, "").start(argv, kind="own", env=dict(os.environ), cwd="/")
    await host.until(lambda: host.heard(ev.ChildAdopted))
    assert await host.runs() == other.pid
    assert host.heard(ev.ChildDied) == []


async def test_one_that_never_comes_up_does_not_hold_up_the_others_for_long(host):
    host.clock = FakeClock(monotonic_s=time.monotonic() + 1000)
    mute = [host.project(f"mute{number}") for number in range(MOST_STARTING)]
    for one in mute:
        host.order(one, "mute")
    host.project()
    host.begin()
    await host.until(lambda: all(host.starts(one) for one in mute))
    await host.clock.advance(50)
    assert host.states()["shop"].state == "starting"
    assert host.states()["shop"].pid == 0
    await host.runs(step_s=1.0)
    assert len(host.told) == MOST_STARTING + 1


async def test_the_last_beat_of_the_dead_says_nothing_of_the_next(host):
    shop = host.project()
    host.begin()
    pid = await host.runs()
    host.order(shop, "mute")
    kill(pid)
    await host.until(lambda: len(host.starts(shop)) == 2)
    await host.until(lambda: host.heard(ev.ChildStarted)[1:])
    looked = host.tasks[-1][0]._looked
    await host.until(lambda: host.tasks[-1][0]._looked != looked)
    state = host.states()["shop"]
    assert (state.state, state.heartbeat_age_s) == ("starting", None)


async def test_a_program_that_is_not_there_is_a_death_like_any_other(host):
    host.clock = FakeClock(monotonic_s=time.monotonic() + 1000)
    host.project()
    host.argv = lambda one: ["/no/such/amiral"]
    host.begin()
    (parked,) = await host.until(lambda: host.heard(ev.ChildParked), 2.0)
    assert "/no/such/amiral" in parked.reason


async def test_what_cannot_be_told_or_written_down_keeps_nobody_from_being_tended(host):
    async def tell(event):
        raise Broken("the disk is full")

    (host.home / "hub").write_text("no folder")
    shop = host.project()
    host.begin(tell=tell)
    kill(await host.runs())
    await host.until(lambda: len(host.starts(shop)) == 2)
    await host.runs()


async def test_a_memory_that_cannot_be_read_is_no_obstacle(host):
    shop = host.project()
    first = host.begin()
    pid = await host.runs()
    await host.end(first)
    for path in (host.home / "hub").glob("watchdog.json*"):
        path.write_text('{"version": 9}')
    host.begin()
    assert await host.runs() == pid
    assert host.starts(shop) == [pid]


async def test_what_a_process_prints_is_kept_within_bounds(host):
    shop = host.project()
    log = host.home / "projects" / shop.id / "logs" / "process.log"
    log.parent.mkdir(parents=True, mode=0o700)
    log.write_bytes(b"x" * (5 << 20) + b"\nthe last line\n")
    host.begin()
    await host.runs()
    assert log.stat().st_size < 1 << 20
    assert log.with_suffix(".log.1").read_bytes().endswith(b"the last line\n")
    assert log.with_suffix(".log.1").stat().st_size == 1 << 20


async def test_r50_secrets_are_taken_out_of_the_last_words_before_anybody_is_told(host):
    shop = host.project()
    host.redact = lambda text: text.replace("broke", "[redacted]")
    host.order(shop, "exit 3")
    host.begin()
    (died, *_) = await host.until(lambda: host.heard(ev.ChildDied))
    assert died.signature == "exit 3: it [redacted]"
    assert "it [redacted]" in host.states()["shop"].reason


class KilledHub:
    """A supervising process of its own, that can be killed."""

    def __init__(self, host):
        argv = [sys.executable, str(HUB), str(host.home), str(host.beat_s)]
        self.child = Spawner(host.brake, "").start(argv, kind="own", env=dict(os.environ), cwd="/")

    async def kill(self):
        kill(self.child.pid)
        await self.child.exited()


def children(host, project):
    """Give the pids of the living processes of a project, however many there are."""
    mark, found = project.id.encode(), []
    for pid in host.living():
        with contextlib.suppress(OSError):
            if mark in proc.read_whole(f"/proc/{pid}/cmdline").split(b"\0"):
                found.append(pid)
    return found


async def test_a_killed_hub_leaves_its_processes_to_the_next_one(host):
    projects = [host.project(name) for name in ("shop", "till", "depot")]
    hub = KilledHub(host)
    await host.until(lambda: all(_served(host, one).socket.exists() for one in projects))
    pids = {one.name: children(host, one) for one in projects}
    await hub.kill()
    host.begin()
    for one in projects:
        assert [await host.runs(one.name)] == pids[one.name]
    assert Counter(type(one) for one in host.told) == {ev.ChildAdopted: 3}
    kill(pids["till"][0])
    await host.until(lambda: host.heard(ev.ChildDied, "till"))
    assert await host.runs("till") not in pids["till"]


@pytest.mark.parametrize("seed", range(3))
async def test_a_hub_killed_at_any_moment_never_leaves_a_second_process(host, seed):
    dice = random.Random(seed)
    projects = [host.project(name) for name in ("shop", "till", "depot")]
    for _ in range(5):
        hub = KilledHub(host)
        await asyncio.sleep(dice.uniform(0.1, 0.9))
        await hub.kill()
        if dice.random() < 0.5 and host.living():
            kill(dice.choice(host.living()))
    host.begin()
    for one in projects:
        await host.runs(one.name)
    async with asyncio.timeout(PATIENCE_S):
        for one in projects:
            # One that was killed a moment ago may only just be coming back.
            while children(host, one) != [await _serving(host, one)]:
                await asyncio.sleep(LOOK_S)


async def _serving(host, project):
    server = await server_of(_served(host, project), host.clock)
    return server.identity.pid if server else None
