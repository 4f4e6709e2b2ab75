"""One project's process, in process: taken over, wired, let go of."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from amiral.app import App
from amiral.base import events as ev
from amiral.base.errors import Conflict
from amiral.base.settings import DriverSettings, Settings
from amiral.projects.served import served_by
from amiral.projects.store import Projects
from amiral.store.brake import Brake

PATIENCE_S = 20.0


class Place:
    def __init__(self, folder: Path):
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        (folder / "shop").mkdir()
        self.project = Projects(self.home, folder / "user").register(folder / "shop")
        none = DriverSettings(command=("no-such-cli",))
        self.settings = Settings(drivers={"claude": none, "codex": none})
        self.apps: list[App] = []

    def app(self, warnings=()) -> App:
        app = App(self.home, self.project, self.settings, warnings)
        self.apps.append(app)
        return app

    async def started(self) -> App:
        app = self.app()
        await app.start()
        return app

    async def ask(self, *argv):
        reader, writer = await asyncio.open_unix_connection(
            served_by(self.home, self.project).socket
        )
        writer.write(json.dumps({"argv": [*argv, "--json"]}).encode() + b"\n")
        async with asyncio.timeout(PATIENCE_S):
            *frames, ended = [json.loads(line) for line in (await reader.read()).split(b"\n")[:-1]]
        writer.close()
        return ended["exit"], json.loads("".join(frame["out"] for frame in frames) or "null")


@pytest.fixture
async def place():
    folder = Path(tempfile.mkdtemp(prefix="amiral-")).resolve()
    place = Place(folder)
    yield place
    for app in place.apps:
        await app.close()
    shutil.rmtree(folder)


async def told(app, kind):
    return [one.event for one in app.journal.read(0) if isinstance(one.event, kind)]


async def test_what_is_made_of_the_home_is_private(place):
    app = await place.started()
    state = place.home / "projects" / place.project.id
    for folder in (place.home, place.home / "run", place.home / "brake", state):
        assert folder.stat().st_mode & 0o777 == 0o700, folder
    assert (state / "journal.db").stat().st_mode & 0o777 == 0o600
    assert app.socket_path.stat().st_mode & 0o777 == 0o600


async def test_who_takes_over_has_a_larger_token_than_all_before(place):
    for expected in (1, 2, 3):
        app = await place.started()
        tokens = [one.token for one in await told(app, ev.ProjectProcessStarted)]
        assert tokens == list(range(1, expected + 1))
        await app.close()


async def test_a_second_one_is_refused_and_disturbs_nothing_of_the_first(place):
    first = await place.started()
    second = place.app()
    with pytest.raises(Conflict, match=str(os.getpid())):
        await second.start()
    await second.close()
    assert first.socket_path.exists()
    assert (await place.ask("health"))[0] == 0


async def test_what_was_opened_is_closed_and_the_socket_gone(place):
    app = await place.started()
    assert (await place.ask("say", "/c hello"))[1]["outcome"] == "done"
    await app.close()
    await app.close()
    assert not app.socket_path.exists()
    lock = place.home / "projects" / place.project.id / "journal.db.lock"
    assert lock.exists()
    again = await place.started()
    assert len(await told(again, ev.TurnEnded)) == 1


async def test_the_scripted_worker_answers_where_there_is_no_cli_and_says_so(place):
    app = place.app(("a warning from before",))
    await app.start()
    assert app.notices()[:2] == (
        "no agent CLI found: the scripted worker answers",
        "a warning from before",
    )
    code, workers = await place.ask("workers")
    assert code == 0
    assert {worker["driver"] for worker in workers["workers"]} == {"scripted"}


async def test_who_runs_below_a_shim_of_this_home_is_an_agent_and_others_are_the_owner(place):
    app = await place.started()
    ask = [sys.executable, "-m", "amiral", "health", "--json"]
    for tag, code in ((f"{app.tag}:shop:s1", 5), (f"{app.tag}0:shop:s1", 0), ("", 0)):
        child = await asyncio.create_subprocess_exec(
            *ask,
            cwd=place.project.path,
            env={**os.environ, "AMIRAL_HOME": str(place.home), "AMIRAL_TAG": tag},
            stdout=asyncio.subprocess.DEVNULL,
        )
        assert await child.wait() == code, tag


async def test_a_brake_that_is_put_on_and_lifted_is_told_in_the_journal(place):
    app = await place.started()
    stop = Brake(place.home / "brake").engage("a test", "owner", 0)
    await _until(lambda: ("BrakeSeen", True) in _brakes(app))
    assert (await place.ask("say", "/c hello"))[0] == 6
    Brake(place.home / "brake").release(stop.stop_id)
    await _until(lambda: ("BrakeSeen", False) in _brakes(app))
    assert (await place.ask("say", "/c hello"))[0] == 0


def _brakes(app):
    return [
        ("BrakeSeen", one.event.on)
        for one in app.journal.read(0)
        if isinstance(one.event, ev.BrakeSeen)
    ]


async def _until(holds):
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.02)


async def test_going_down_is_heard_and_says_whether_the_agents_go_too(place):
    app = await place.started()
    assert (await place.ask("down"))[0] == 0
    assert app.over.is_set()
    assert not app._ends_agents
    assert (await place.ask("down", "--agents"))[0] == 0
    assert app._ends_agents
