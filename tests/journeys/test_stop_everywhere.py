"""A stop from everywhere, whatever else is blocked, stopped, full or cut off (P03, P04, R29)."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time

import pytest

from amiral.guard import guard_command
from amiral.testbench.rig import is_running, until

MOST_S = 10.0
ZOO = r"""
turns:
  - match: \Astubborn\Z
    process: {fork: double, ignore: [TERM, INT, HUP], hold_stdout: true}
    hang: 300
  - match: \ATASK\s+shell
    use:
      tool: bash
      args: {command: "trap '' TERM; nohup setsid sleep 300 & (sleep 300 &) ; sleep 300"}
default: {say: ok}
"""
BLOCK = """
import signal

def block(_number, _frame):
    while True:
        pass

signal.signal(signal.SIGUSR2, block)
"""


class Cell:
    """One amiral with agents in mid turn and a guard, and the harm that is done to it."""

    def __init__(self, yard, harm):
        self.harm = harm
        self.flag = yard.folder / "emergency-stop.flag"
        (yard.folder / "sitecustomize.py").write_text(BLOCK)
        environ = {"PYTHONPATH": str(yard.folder), "AMIRAL_STOP_FLAG": str(self.flag)}
        self.rig = yard.scripted(ZOO, environ=environ)
        if harm == "full":
            self._mount()
        self.rig.start()
        self.guard = subprocess.Popen(guard_command(), env=self.rig.environ, cwd="/")
        for seat, text in (("c", "stubborn"), ("d", "shell")):
            self.rig.post(f"/{seat} {text}")
        self.rig.wait_told("MessageSeen", 2)
        self.queued = self.rig.post("/c more")
        until(lambda: self.commands("sleep") >= 3, "what the tool started")
        self._harm()

    def commands(self, name) -> int:
        found = 0
        for pid in self.rig.agents():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
                found += file.read().strip() == name
        return found

    def nothing_starts(self):
        by = time.monotonic() + 1.5
        while time.monotonic() < by:
            assert self.rig.agents() == {}, "something was started under the brake"
            time.sleep(0.05)

    def clear(self):
        self.guard.kill()
        self.guard.wait()
        self.rig.kill()
        self.rig.run("emergency-stop")
        if self.harm == "full":
            subprocess.run(["umount", "-l", str(self.rig.home)], check=True)

    def _mount(self):
        home = self.rig.home
        settings = (home / "amiral.toml").read_text()
        options = ["-t", "tmpfs", "-o", "size=8m,mode=700"]
        subprocess.run(["mount", *options, "none", str(home)], check=True)
        (home / "amiral.toml").write_text(settings)

    def _harm(self):
        match self.harm:
            case "blocked":
                os.kill(self.rig.pid, signal.SIGUSR2)
            case "stopped":
                os.kill(self.rig.pid, signal.SIGSTOP)
            case "full":
                with contextlib.suppress(OSError):
                    filler = self.rig.home / "filler"
                    filler.write_bytes(bytes(8 << 20))
            case _:
                pass


def from_terminal(cell):
    answer = cell.rig.run("emergency-stop", "--json")
    assert (answer.code, answer.json()["survivors"]) == (0, 0)


def from_flag(cell):
    cell.flag.touch(0o600)


def from_console(cell):
    assert cell.rig.ask("say", "STOP", seconds=MOST_S).code == 0


def from_http(cell):
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(cell.rig.socket_path.with_suffix(".http.sock")))
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/api/commands/emergency-stop", "{}", headers)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    assert (answer.status, told["survivors"]) == (200, 0)


FULL = pytest.param("full", marks=pytest.mark.mounting)
CUT_OFF = pytest.param("cut off", marks=pytest.mark.isolated)


@pytest.fixture
def cell(yard, request):
    cell = Cell(yard, request.param)
    yield cell
    cell.clear()


def stop(cell, press):
    """Press, and look how long anything of it lives."""
    pids = [*cell.rig.agents()]
    began = time.monotonic()
    press(cell)
    until(lambda: cell.rig.agents() == {} and not any(map(is_running, pids)), "the end", MOST_S)
    assert time.monotonic() - began < MOST_S
    cell.nothing_starts()


@pytest.mark.parametrize("press", [from_terminal, from_flag])
@pytest.mark.parametrize("cell", ["blocked", "stopped", FULL, CUT_OFF], indirect=True)
def test_p03_r36_a_stop_needs_nothing_of_a_process_that_hangs(cell, press):
    stop(cell, press)


@pytest.mark.parametrize("press", [from_console, from_http])
@pytest.mark.parametrize("cell", ["well", FULL, CUT_OFF], indirect=True)
def test_p03_r36_a_stop_by_the_projects_process_needs_neither_disk_nor_network(cell, press):
    stop(cell, press)


@pytest.mark.parametrize("cell", ["stopped"], indirect=True)
def test_p03_the_guard_stops_everything_and_leaves_the_stopped_process_alone(cell):
    stop(cell, from_flag)
    assert cell.rig.is_alive, "a project's process is no agent"
    os.kill(cell.rig.pid, signal.SIGCONT)
    (project,) = cell.rig.ask("status").json()["projects"]
    assert project["state"] == "stopped"
    cell.nothing_starts()
    assert cell.rig.run("release", project["stop_id"]).code == 0
    assert cell.rig.answer(cell.queued)["outcome"] == "done"
