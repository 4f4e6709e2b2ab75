"""Homes with a stand-in for a project process, whose workers stream and fork under real shims."""

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from amiral.processes import cgroup, tree
from amiral.safety.scope import Place
from amiral.store.brake import Brake

PROJECT = Path(__file__).with_name("scripts") / "project.py"
KINDS = ("plain", "setsid", "double", "bare", "orphan")
PROCESSES = {"plain": 1, "setsid": 2, "double": 2, "bare": 2, "orphan": 2, "polite": 1}
PATIENCE_S = 20.0


class Home:
    """A home with project processes; `pids` are all that must end."""

    KINDS = KINDS

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="amiral-"))
        (self.folder / "run").mkdir(mode=0o700)
        self.place = Place(str(self.folder), secrets.token_hex(6))
        self.processes: list[subprocess.Popen[str]] = []
        self.sleeps: list[subprocess.Popen[bytes]] = []

    @property
    def process(self):
        return self.processes[0]

    def start(self, project="shop-1", kinds=KINDS):
        command = [sys.executable, str(PROJECT), self.place.home, self.place.tag, project, *kinds]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        count = sum(PROCESSES[kind] for kind in kinds)
        self.until(lambda: all(b"on " in self.out(project, kind) for kind in kinds))
        self.until(lambda: len(self.pids(project)) == count)
        return self

    def register(self, **names: str):
        (self.folder / "config").mkdir(exist_ok=True)
        rows = [
            {"name": name, "path": f"/{name}", "id": key.replace("_", "-")}
            for key, name in names.items()
        ]
        path = self.folder / "config" / "bot_registry.json"
        path.write_text(json.dumps({"version": 1, "children": rows}))
        return self

    def session(self, project: str, kind: str) -> Path:
        return self.folder / "projects" / project / "sessions" / kind

    def out(self, project: str, kind: str) -> bytes:
        path = self.session(project, kind) / "out.000001"
        return path.read_bytes() if path.exists() else b""

    def pids(self, project="", kind="") -> list[int]:
        found = self.folder.glob(f"projects/{project or '*'}/sessions/{kind or '*'}/out.000001")
        return [int(pid) for path in found for pid in re.findall(rb"\d+", path.read_bytes())]

    def brake(self, project="") -> Brake:
        return Brake(self.folder / "brake", project)

    def tagged_sleep(self, rest="p1:s1") -> "subprocess.Popen[bytes]":
        env = {"AMIRAL_TAG": f"{self.place.tag}:{rest}", "PATH": os.environ["PATH"]}
        self.sleeps.append(subprocess.Popen(["sleep", "600"], env=env))
        return self.sleeps[-1]

    @staticmethod
    def alive(pids) -> set[int]:
        return {pid for pid in pids if (one := tree.identify(pid)) and tree.is_alive(one)}

    @staticmethod
    def until(holds):
        deadline = time.monotonic() + PATIENCE_S
        while not (found := holds()):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        return found

    def signal(self, number: int):
        self.process.send_signal(number)

    def clear(self):
        for process in self.processes:
            assert process.stdout is not None
            process.stdout.close()
            process.kill()
            process.wait()
        tree.kill_tree((), self.place.tag, None, PATIENCE_S)
        for folder in cgroup.cgroups_under(self.place.tag):
            tree.kill_tree((), "", folder, PATIENCE_S)
            cgroup.remove_cgroup(folder)
        for sleep in self.sleeps:
            sleep.wait()
        assert self.alive(self.pids()) == set()
        shutil.rmtree(self.folder)


@pytest.fixture
def homes():
    made = []

    def make() -> Home:
        made.append(Home())
        return made[-1]

    yield make
    for home in made:
        home.clear()
