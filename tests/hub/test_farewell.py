"""What a `down` ends: processes that hang or died included, their agents if asked, or the truth."""

import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from amiral.base.home import home_tag
from amiral.hub.child_state import ChildState
from amiral.hub.farewell import Farewell, Left, left_text
from amiral.processes.serving import server_of
from amiral.processes.spawn import Child, Spawner
from amiral.processes.tree import Identity, identify, is_alive
from amiral.projects.served import served_by
from amiral.projects.store import Projects
from amiral.store.brake import Brake
from amiral.testbench.fake_clock import FakeClock

PATIENCE_S = 30
CHILD = Path(__file__).with_name("scripted_child.py")


class Place:
    """One home with processes of projects and agents; time is moved while something is awaited."""

    def __init__(self, folder: Path):
        self.folder, self.home = folder, folder / "home"
        for name in ("run", "orders", "started"):
            (self.home / name).mkdir(mode=0o700, parents=True)
        self.registry = Projects(self.home, folder / "user")
        self.clock = FakeClock()
        self.brake = Brake(self.home / "brake")
        self.brake.prepare()
        self.children: list[Child] = []

    def start(self, argv, tag="", kind="own"):
        env = dict(os.environ)
        child = Spawner(self.brake, tag).start(argv, kind=kind, env=env, cwd="/")
        self.children.append(child)
        return child

    async def project(self, name="shop"):
        """Register a project and have it served."""
        (self.folder / name).mkdir()
        one = self.registry.register(self.folder / name)
        argv = [sys.executable, str(CHILD), str(self.home), one.id, one.name, one.path, "60"]
        child = self.start(argv)
        await self.until(served_by(self.home, one).socket.exists)
        return one, child

    def agent(self, project):
        tag = f"{home_tag(str(self.home))}:{project.id}:s1"
        return self.start(["sleep", "1000"], tag, "shim")

    async def until(self, holds):
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await self.clock.advance(0.5)
                await asyncio.sleep(0.01)

    async def farewell(self, *states, with_agents=False):
        saying = asyncio.create_task(
            Farewell(self.home, self.clock, with_agents=with_agents).say(states)
        )
        await self.until(saying.done)
        return saying.result()


def state_of(project, process):
    return ChildState(project, "running", process, None, 0, "", 0)


@pytest.fixture
async def place():
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        one = Place(Path(folder).resolve())
        yield one
        for child in one.children:
            child.drop()


async def test_one_that_hangs_ends_together_with_its_agents(place):
    shop, child = await place.project()
    agent = place.agent(shop)
    os.kill(child.pid, signal.SIGSTOP)
    assert await place.farewell(state_of(shop, child.identity), with_agents=True) == ()
    assert not is_alive(child.identity)
    assert not is_alive(agent.identity)


async def test_agents_of_one_that_is_dead_or_was_ended_by_signal_end_too(place):
    shop, child = await place.project()
    till, dead = await place.project("till")
    agents = [place.agent(shop), place.agent(till)]
    dead.kill()
    states = (state_of(shop, child.identity), state_of(till, None))
    assert await place.farewell(*states, with_agents=True) == ()
    assert [one for one in agents if is_alive(one.identity)] == []


async def test_agents_go_on_unless_they_are_named(place):
    shop, child = await place.project()
    agent = place.agent(shop)
    os.kill(child.pid, signal.SIGSTOP)
    assert await place.farewell(state_of(shop, child.identity)) == ()
    assert not is_alive(child.identity)
    assert is_alive(agent.identity)


async def test_another_process_with_its_number_is_not_signalled(place):
    shop, child = await place.project()
    child.kill()
    stranger = place.start(["sleep", "1000"])
    was = Identity(child.identity.boot_id, stranger.pid, stranger.identity.start - 1)
    assert await place.farewell(state_of(shop, was)) == ()
    assert is_alive(stranger.identity)


async def test_who_serves_a_project_still_is_named_with_what_to_do(place):
    shop, child = await place.project()
    (left,) = await place.farewell(state_of(shop, None))
    assert left == Left("shop", f"process {child.pid} does not end", f"kill -KILL {child.pid}")
    assert left_text([left]).split("\n") == [
        "✗ amiral goes down, and not all of it ends",
        f"  shop: process {child.pid} does not end: kill -KILL {child.pid}",
    ]


async def test_one_that_does_not_tell_its_number_is_told_of_too(place):
    (place.folder / "shop").mkdir()
    shop = place.registry.register(place.folder / "shop")
    served = served_by(place.home, shop)
    served.lock.parent.mkdir(parents=True)
    place.start(["flock", str(served.lock), "sleep", "1000"])
    while await server_of(served, place.clock) is None:
        await asyncio.sleep(0.01)
    (left,) = await place.farewell(state_of(shop, None))
    assert (left.project, left.next_step) == ("shop", "amiral doctor")
    assert "does not tell its number" in left.what


async def test_a_lock_that_cannot_be_looked_at_is_no_end(place):
    (place.folder / "shop").mkdir()
    shop = place.registry.register(place.folder / "shop")
    lock = served_by(place.home, shop).lock
    lock.parent.mkdir(parents=True)
    lock.symlink_to("elsewhere")
    (left,) = await place.farewell(state_of(shop, None))
    assert "process.lock" in left.what


def test_a_number_is_for_people():
    shop = state_of(None, None)
    assert shop.pid == 0
    assert state_of(None, identify(os.getpid())).pid == os.getpid()
