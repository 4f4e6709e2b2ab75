"""Whole amirals in homes of their own; each ends with nothing left running and no fault told."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

import pytest

from amiral.testbench.model_server import ModelServer
from amiral.testbench.netns import isolating
from amiral.testbench.rig import Rig, scripted_config
from amiral.testbench.scenario_yaml import parse_scenario

INSIDE = "AMIRAL_TEST_INSIDE"
ROOT = Path(__file__).parents[2]
NOISE = ("Traceback", "never retrieved", "never awaited", "a fault of amiral", "met a fault")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test marked `isolated` or `mounting` in a process of its own inside a namespace.

    `isolated`: no network but the loopback; `mounting`: mounts of its own.
    """
    if os.environ.get(INSIDE) or not (into := _namespace(pyfuncitem)):
        return None
    inner = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        into([*inner, "--timeout=60", f"{pyfuncitem.path}::{pyfuncitem.name}"]),
        cwd=ROOT,
        env={**os.environ, INSIDE: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        pytest.fail(f"{ran.stdout}\n{ran.stderr}", pytrace=False)
    return True


def _namespace(item):
    marks = {"isolated": isolating, "mounting": mounting}
    return next((into for name, into in marks.items() if item.get_closest_marker(name)), None)


def mounting(command):
    return ["unshare", "-m", *([] if os.geteuid() == 0 else ["-r"]), *command]


def pytest_configure(config):
    config.addinivalue_line("markers", "isolated: sees no network but the loopback")
    config.addinivalue_line("markers", "mounting: has mounts of its own")


class Yard:
    """Makes rigs, and ends them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.rigs: list[Rig] = []

    def rig(self, config="", environ=None, project="shop", folder="") -> Rig:
        """Give a rig that is not started; `folder` parts several homes of one test."""
        inside = self.folder / folder
        inside.mkdir(exist_ok=True)
        rig = Rig(inside, config or scripted_config(), environ, project)
        self.rigs.append(rig)
        return rig

    def scripted(self, scenario="", more="", **options) -> Rig:
        """Give a rig whose workers play this scenario; `more` is added to its amiral.toml."""
        path = self.folder / "scenario.yaml"
        path.write_text(scenario, "utf-8")
        return self.rig(scripted_config(path if scenario else None) + more, **options)

    def clear(self):
        for rig in self.rigs:
            report = rig.stop()
            assert report.code == 0, report
            assert report.json()["survivors"] == 0
            for noise in NOISE:
                assert noise not in rig.log(), rig.log()


class Model(ModelServer):
    """A scripted model in a thread of its own that keeps every request as it came."""

    def __init__(self, scenario: str, root=""):
        super().__init__(parse_scenario(scenario, "scenario"), root=root)
        self.bodies: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        self._do(self.start())
        return self

    def __exit__(self, *_exception):
        self._do(self.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _answer(self, request):
        self.bodies.append((await request.body()).decode())
        return await super()._answer(request)

    async def _respond(self, request):
        self.bodies.append((await request.body()).decode())
        return await super()._respond(request)

    def _do(self, work):
        done: Future = asyncio.run_coroutine_threadsafe(work, self._loop)
        return done.result(30)


def hire(rig, *workers, text=""):
    """Write a registry of these workers, each a change of one row, or any text in its place."""
    row: dict = {"id": "tester", "label": "Tester", "icon": "T", "type": "chat", "model": "sonnet"}
    row |= {"max_turns": 0, "tools": ["Read"], "system_prompt_skill": "", "focus_dirs": []}
    row |= {"prompt_style": "history", "output_format": "text", "log_category": "tester"}
    folder = rig.project / ".amiral" / "config"
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row | worker for worker in workers]
    told = text or json.dumps({"version": 1, "workers": rows}, indent=1)
    (folder / "workers_registry.json").write_text(told)


@pytest.fixture(name="hire")
def hire_fixture():
    return hire


@pytest.fixture
def yard():
    """A short path, since sockets lie in it; private, since homes do."""
    folder = Path(tempfile.mkdtemp(prefix="amiral-"))
    yard = Yard(folder)
    try:
        yield yard
        yard.clear()
    finally:
        for rig in yard.rigs:
            rig.kill()
            for pid in rig.agents():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def model():
    return Model


CLAUDE = '[drivers.claude]\nenv = {ANTHROPIC_BASE_URL = "@"}\n'
CODEX = """
[drivers.codex.config]
model_provider = "scripted"
[drivers.codex.config.model_providers.scripted]
name = "Scripted"
base_url = "@/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""


class Real:
    """Starts scripted models, and makes rigs whose workers are real CLIs with them behind."""

    SETTINGS: Mapping[str, str] = {"claude": CLAUDE, "codex": CODEX}
    LOGINS: Mapping[str, dict[str, str]] = {
        "claude": {"ANTHROPIC_API_KEY": "sk-ant-api03-dummy-0123456789"},
        "codex": {"SCRIPTED_KEY": "sk-dummy-0123456789abcdef"},
    }

    def __init__(self, yard, clis):
        self._yard, self._clis = yard, clis
        self._models: list[Model] = []

    def rig(self, drivers, scenario, more="", *, settings=None, login=None, root="", environ=None):
        """Give a rig that is not started, where there is none but these CLIs, and its model.

        `more` is added to its amiral.toml; `settings` and `login` take the place of the usual ones,
        `@` being the model's address.
        """
        names = drivers.split()
        served = Model(scenario, root)
        self._models.append(served.__enter__())
        lacking = (name for name in self.SETTINGS if name not in names)
        parts = [f'[drivers.{name}]\ncommand = ["no-such-cli"]\n' for name in lacking]
        parts += [settings] if settings is not None else [self.SETTINGS[name] for name in names]
        env = {"AMIRAL_CLIS": [self._clis(name) for name in names][-1]}
        for name in names:
            env |= self.LOGINS[name] if login is None else login
        config = "".join(parts).replace("@", served.url)
        return self._yard.rig(more + config, env | (environ or {})), served

    def clear(self):
        for served in self._models:
            served.__exit__()


@pytest.fixture
def real(yard, clis):
    real = Real(yard, clis)
    yield real
    real.clear()
