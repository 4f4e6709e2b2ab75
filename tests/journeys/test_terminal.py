"""A stop finds who works in a terminal too, whatever it has left; a restart keeps it open (P03)."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from amiral.base.home import home_tag
from amiral.processes.cgroup import cgroup_members, cgroups_under, is_frozen
from amiral.testbench.rig import is_running, until

# Leaves its session, its parents and its terminal; then ignores what asks it to end.
SLIP = "(setsid sh -c 'trap \"\" TERM HUP INT; (sleep 301 & sleep 302)' & ) ; sleep 303"


@pytest.fixture
def rig(yard):
    rig = yard.scripted("default: {say: ok}\n")
    rig.start()
    return rig


def attach(rig, worker="developer") -> list[str]:
    """Open a terminal; gives the words of a client of it."""
    answer = rig.ask("terminal", worker)
    assert answer.code == 0, answer
    words = shlex.split(answer.json()["attach"])
    return words[1 : words.index("attach")]


def client(words, *more):
    return subprocess.run([*words, *more], capture_output=True, text=True, check=True).stdout


def type_in(words, text):
    client(words, "send-keys", "-l", text)
    client(words, "send-keys", "Enter")


def comm(pid):
    """Give a process's name, "" when it has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def sleepers(rig) -> list[int]:
    return [pid for pid in rig.agents() if comm(pid) == "sleep"]


@pytest.fixture
def slipped(rig):
    rig.client = attach(rig)
    type_in(rig.client, SLIP)
    until(lambda: len(sleepers(rig)) == 3, "three that slipped away")
    return rig


def nothing_opens(rig, kind="conflict"):
    refused = rig.run("terminal", "developer", "--json")
    assert (refused.code, refused.json()["error"]["kind"]) == (6, kind)
    assert rig.agents() == {}


def test_a_stop_ends_terminals_with_all_that_slipped_away_and_none_opens_after(slipped):
    met = [*slipped.agents()]
    report = slipped.run("emergency-stop", "--json").json()
    assert report["survivors"] == 0
    assert {one["worker"] for one in report["workers"]} == {"shop/developer"}
    assert slipped.agents() == {}
    assert [pid for pid in met if is_running(pid)] == []
    nothing_opens(slipped)
    assert slipped.run("release", report["stop_id"]).code == 0
    answer = slipped.ask("say", "/d hello").json()
    assert answer["outcome"] == "done", answer
    attach(slipped)


@pytest.mark.parametrize("level", ["1", "2", "3"])
def test_a_stop_of_one_worker_ends_its_terminal_at_every_level(slipped, level):
    """No level presses a key in there, an Enter after Ctrl+C least of all (S02)."""
    other = attach(slipped, "consultant")
    words = ("emergency-stop", "shop/developer", "--level", level, "--json")
    report = slipped.run(*words).json()
    assert report["survivors"] == 0
    assert sleepers(slipped) == []
    assert client(other, "list-panes", "-a")


def test_a_stop_works_with_the_project_process_dead_and_the_server_hung(slipped):
    slipped.kill()
    for pid in slipped.agents():
        if comm(pid).startswith("tmux"):
            os.kill(pid, signal.SIGSTOP)
    report = slipped.run("emergency-stop", "--json").json()
    assert report["survivors"] == 0
    assert slipped.agents() == {}


def test_a_freeze_pauses_terminals_and_a_thaw_lets_them_go_on(slipped):
    assert slipped.run("freeze", "--json").code == 0
    frozen = sleepers(slipped)
    assert frozen
    assert [pid for pid in frozen if not is_at_rest(slipped, pid)] == []
    refused = slipped.run("terminal", "consultant", "--json")
    assert (refused.code, refused.json()["error"]["kind"]) == (6, "conflict")
    assert slipped.run("thaw", "--json").code == 0
    type_in(slipped.client, "")
    assert client(slipped.client, "list-panes", "-a")


def test_it_is_found_again_after_the_project_process_was_killed(slipped):
    slipped.kill()
    slipped.start()
    assert attach(slipped) == slipped.client
    status = slipped.ask("status").json()["projects"][0]["workers"]
    assert {one["id"]: one["state"] for one in status}["developer"] == "terminal"
    message = slipped.post("/d hello")
    time.sleep(1.5)
    assert slipped.answers(message) == []
    assert slipped.ask("terminal", "close", "developer").code == 0
    assert slipped.answer(message)["outcome"] == "done"
    assert sleepers(slipped) == []


def test_who_is_in_there_is_an_agent_for_amiral(rig):
    words, told = attach(rig), rig.project / "told"
    amiral = f"AMIRAL_HOME={rig.home} {shlex.join((sys.executable, '-m', 'amiral'))}"
    ask = f"cd {rig.project}; {amiral} terminal consultant --json >{told}.new; mv {told}.new {told}"
    type_in(words, ask)
    until(told.exists, "the answer")
    assert json.loads(told.read_text())["error"]["kind"] == "denied"


def is_at_rest(rig, pid) -> bool:
    """Tell whether a signal holds it, or the kernel with all of its cgroup."""
    groups = filter(is_frozen, cgroups_under(home_tag(str(rig.home))))
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "T" or any(pid in cgroup_members(one) for one in groups)
