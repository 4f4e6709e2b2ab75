"""The journeys of a whole fleet: up, kills of hub, child and guard, stop, down."""

import http.client
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from amiral.testbench.rig import is_running, until

PROJECTS = ("shop", "till", "barn")
MOST_S = 10.0
SLOW = 'turns: [{match: slow, hang: 3, say: "Slowly answered."}, {match: forever, hang: 300}]'


class Fleet:
    """Three projects below one hub, driven by the command line alone."""

    def __init__(self, rig):
        self.rig, self.home = rig, rig.home
        self.paths = [rig.project.with_name(name) for name in PROJECTS]
        for path in self.paths:
            path.mkdir(exist_ok=True)
        self.up = rig.run("up", *map(str, self.paths), "--detach", "--json", cwd=Path("/"))

    def ask(self, *words):
        return self.rig.run(*words, "--json", cwd=Path("/"))

    def children(self):
        return {one["name"]: one for one in self.ask("watchdog").json()["children"]}

    def hub(self):
        return int((self.home / "hub" / "lock").read_text())

    def guard(self):
        return json.loads((self.home / "guard" / "beat.json").read_text())["pid"]

    def states(self):
        answer = self.ask("status")
        if answer.code != 0:
            return {}
        return {one["name"]: one["state"] for one in answer.json()["projects"]}

    def all_run(self):
        return self.states() == dict.fromkeys(PROJECTS, "running")


@pytest.fixture
def fleet(yard):
    one = Fleet(yard.scripted(SLOW))
    assert one.up.code == 0, one.up
    yield one
    one.ask("down", "--agents")
    until(lambda: one.ask("watchdog").code == 3, "the end of the hub")


def test_s1_three_projects_are_seen_running_from_anywhere(fleet):
    assert fleet.all_run()
    assert len({one["pid"] for one in fleet.children().values()}) == 3
    health = fleet.ask("health").json()
    assert (health["ok"], health["guard"], health["stop_id"]) == (True, True, "")
    assert [one["name"] for one in fleet.ask("projects").json()["projects"]] == list(PROJECTS)


def test_r36_s1_hub_child_and_guard_come_back_by_themselves_and_the_answer_comes_once(fleet):
    before = {name: one["pid"] for name, one in fleet.children().items()}
    posted = fleet.ask("say", "-p", "shop", "--wait", "0", "/c slow please").json()
    until(lambda: "MessageSeen" in events(fleet), "the turn")
    guard, hub = fleet.guard(), fleet.hub()
    os.kill(hub, signal.SIGKILL)
    os.kill(before["shop"], signal.SIGKILL)
    until(lambda: fleet.all_run() and fleet.hub() != hub, "hub and child")
    after = {name: one["pid"] for name, one in fleet.children().items()}
    assert after["shop"] != before["shop"]
    assert {after[name] for name in ("till", "barn")} == {before["till"], before["barn"]}
    until(lambda: "TurnEnded" in events(fleet), "the answer")
    told = events(fleet)
    assert [told.count(name) for name in ("MessageQueued", "TurnStarted", "TurnEnded")] == [1, 1, 1]
    (said,) = fleet.ask("say", "-p", "shop", "/c again").json()["replies"]
    assert said["text"]
    assert posted["accepted"]
    os.kill(guard, signal.SIGKILL)
    until(lambda: fleet.guard() != guard and fleet.ask("health").json()["guard"], "a new guard")


def test_down_ends_everything_and_a_later_up_finds_it_again(fleet):
    pids = [one["pid"] for one in fleet.children().values()] + [fleet.hub(), fleet.guard()]
    assert fleet.ask("down").code == 0
    until(lambda: not any(map(is_running, pids)), "the end of all of them")
    assert fleet.ask("status").code == 3
    again = fleet.rig.run("up", str(fleet.paths[0]), "--detach", "--json", cwd=Path("/"))
    assert again.code == 0
    until(fleet.all_run, "all three: what is registered runs")


def test_a_project_that_was_told_to_go_down_stays_down_until_it_is_started(fleet):
    assert fleet.ask("down", "-p", "till").code == 0
    until(lambda: fleet.states().get("till") == "ended", "its end")
    assert fleet.children()["till"]["restarts"] == 0
    assert fleet.ask("restart", "till").code == 0
    until(fleet.all_run, "its start")
    wrong = fleet.ask("restart", "tull")
    assert (wrong.code, "till" in wrong.json()["error"]["message"]) == (4, True)


def test_a_project_is_removed_beside_a_running_hub_and_comes_back_when_that_is_refused(fleet):
    words = ("project", "remove", "till", "--yes-remove=till")
    (fleet.home / "archive").write_text("in the way")
    refused = fleet.ask(*words)
    assert refused.json()["error"]["kind"] == "denied"
    until(fleet.all_run, "all three again")
    (fleet.home / "archive").unlink()
    removed = fleet.ask(*words)
    assert removed.code == 0, removed
    until(lambda: set(fleet.states()) == {"shop", "barn"}, "a fleet without it")
    assert fleet.states() == {"shop": "running", "barn": "running"}


def test_a_second_up_only_adds_what_is_missing(fleet):
    hub = fleet.hub()
    farm = fleet.paths[0].with_name("farm")
    farm.mkdir()
    added = fleet.rig.run("up", str(farm), "--json", cwd=Path("/"))
    assert added.code == 0, added
    assert added.json()["url"].startswith("http://127.0.0.1:")
    assert any(one.startswith("scripted ") for one in added.json()["found"])
    assert fleet.states()["farm"] == "running"
    assert fleet.hub() == hub
    second = fleet.ask("hub")
    assert (second.code, second.json()["error"]["kind"]) == (6, "conflict")


def test_a_project_that_cannot_run_is_told_and_the_others_go_on(yard):
    rig = yard.scripted()
    bad = rig.project.with_name("till") / ".amiral" / "config"
    bad.mkdir(parents=True)
    (bad / "amiral.toml").write_text("[sandbox\n", "utf-8")
    fleet = Fleet(rig)
    assert fleet.up.code == 1
    (missing,) = fleet.up.json()["missing"]
    assert missing.startswith("till does not run: parked: ")
    assert "amiral.toml:1" in missing
    assert "amiral restart till" in missing
    assert fleet.states()["shop"] == "running"
    fleet.ask("down")


def test_p03_after_a_stop_nothing_starts_and_the_stop_is_named(fleet):
    fleet.ask("say", "-p", "shop", "--wait", "0", "/c slow please")
    until(lambda: "MessageSeen" in events(fleet), "the turn")
    stopped = fleet.ask("emergency-stop")
    assert (stopped.code, stopped.json()["survivors"]) == (0, 0)
    stop_id = stopped.json()["stop_id"]
    said = fleet.ask("say", "-p", "till", "/c hello")
    assert (said.code, stop_id in said.json()["error"]["next"]) == (6, True)
    assert set(fleet.states().values()) == {"stopped"}
    assert fleet.ask("release", stop_id).code == 0
    assert fleet.ask("say", "-p", "till", "/c hello").json()["outcome"] == "done"


def busy_and_hung(fleet):
    """Put an agent to work and have its project's process hang; gives both numbers."""
    fleet.ask("say", "-p", "shop", "--wait", "0", "/c forever")
    until(lambda: "MessageSeen" in events(fleet), "the turn")
    shop, agents = fleet.children()["shop"]["pid"], list(fleet.rig.agents())
    assert agents
    os.kill(shop, signal.SIGSTOP)
    return shop, agents


@pytest.mark.parametrize("surface", ["page", "socket"])
def test_p03_with_a_projects_process_hung_a_stop_from_its_page_goes_by_the_hub(fleet, surface):
    shop, _ = busy_and_hung(fleet)
    for name in ("till", "barn"):
        os.kill(fleet.children()[name]["pid"], signal.SIGSTOP)
    press = by_page if surface == "page" else by_socket
    began = time.monotonic()
    stopped = press(fleet, "emergency-stop", {})
    assert stopped["survivors"] == 0
    assert stopped["was_doing"] == ["shop/consultant"]
    assert time.monotonic() - began < MOST_S
    assert fleet.rig.agents() == {}
    assert is_running(shop), "a project's process is no agent"
    assert press(fleet, "release", {"stop_id": stopped["stop_id"]})["released"]
    frozen = press(fleet, "freeze", {"scope": "shop"})
    assert frozen["scope"] == "shop"
    assert press(fleet, "thaw", {"scope": "shop"})["freeze_id"] == frozen["freeze_id"]


def test_down_with_agents_ends_a_process_that_hangs_and_its_agents(fleet):
    shop, agents = busy_and_hung(fleet)
    down = fleet.ask("down", "--agents")
    assert (down.code, down.json()["left"]) == (0, [])
    assert [pid for pid in (shop, *agents) if is_running(pid)] == []
    assert fleet.rig.agents() == {}
    until(lambda: not is_running(fleet.guard()), "the end of the guard: it watches over nobody")


def by_page(fleet, name, values):
    """Post as the page of a project does."""
    connection = http.client.HTTPConnection("localhost", timeout=MOST_S)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(MOST_S)
    connection.sock.connect(str(fleet.home / "run" / "hub.http.sock"))
    headers = {"Content-Type": "application/json"}
    connection.request("POST", f"/p/shop/api/commands/{name}", json.dumps(values), headers)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    assert answer.status == 200, told
    return told


def by_socket(fleet, name, values):
    """Ask the hub over its socket, as a program does."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(MOST_S)
        link.connect(str(fleet.home / "run" / "hub.sock"))
        argv = [name, *values.values(), "--json"]
        link.sendall(json.dumps({"argv": argv, "cwd": "/"}).encode() + b"\n")
        told, ended = map(json.loads, link.makefile("rb"))
    assert ended == {"exit": 0}, told
    return json.loads(told["out"])


def test_an_agent_may_ask_the_hub_nothing(yard, tmp_path):
    found = tmp_path / "found"
    home = yard.folder / "home"
    amiral = f"AMIRAL_HOME={home} {sys.executable} -m amiral"
    command = f"{amiral} status > {found} 2>&1; {amiral} down >> {found} 2>&1"
    use = f"use: {{tool: bash, args: {{command: {json.dumps(command)}}}}}"
    rig = yard.scripted(f"turns: [{{{use}}}, {{say: Done.}}]")
    fleet = Fleet(rig)
    try:
        fleet.ask("say", "-p", "shop", "/d look around")
        refused = found.read_text()
        assert refused.count("you are agent") == 2, refused
        assert fleet.all_run()
    finally:
        fleet.ask("down", "--agents")


def events(fleet):
    return [one["name"] for one in fleet.rig.run("events", "-p", "shop", "--json").lines()]
