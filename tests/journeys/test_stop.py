"""The emergency stop wins whatever is dead, hung or full, and only a person lifts it (P03)."""

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from amiral.base.ids import digest
from amiral.testbench.rig import is_running, until

# A session that was cut is begun anew with what was said before as context: only whole texts match.
ZOO = r"""
turns:
  - {match: \Aown-session\Z, process: {fork: setsid, hold_stdout: true}, hang: 300}
  - {match: \Aorphan\Z, process: {fork: double}, hang: 300}
  - match: \Astubborn\Z
    process: {fork: double, ignore: [TERM, INT, HUP], hold_stdout: true}
    hang: 300
  - match: \ATASK\s+shell
    use: {tool: bash, args: {command: "trap '' TERM; setsid sleep 300 & sleep 300"}}
  - {match: \Aquiet\Z, process: {ignore: [TERM, INT]}, hang: 300}
default: {say: ok}
"""
BUSY = {
    "consultant": "own-session",
    "developer": "shell",
    "ui-designer": "orphan",
    "tester": "stubborn",
    "writer": "quiet",
}
MOST_MS = 10_000


@pytest.fixture
def busy(yard, hire):
    """Five workers in mid turn, each with its own way of not ending, and messages behind them."""
    rig = yard.scripted(ZOO)
    hire(rig, {"id": "tester"}, {"id": "writer"})
    rig.start()
    rig.ask("trust", "workers_registry.json")
    until(lambda: "writer" in rig.run("workers").out, "the hired workers")
    rig.busy = [rig.post(f"/w:{worker} {text}") for worker, text in BUSY.items()]
    rig.behind = rig.post("/c more")
    until(lambda: len(rig.running()) == len(BUSY), "five sessions")
    rig.wait_told("MessageSeen", len(BUSY))
    until(lambda: len(children(rig)) == 3, "three children that slipped away")
    until(lambda: commands(rig, "sleep"), "the tool's children")
    return rig


def children(rig) -> list[int]:
    found = rig.state.glob("workers/*/home/scripted/effects.jsonl")
    return [int(pid) for file in found for pid in re.findall(r"child (\d+)", file.read_text())]


def tag(rig) -> str:
    return digest(str(rig.home))


def commands(rig, name: str) -> list[int]:
    return [pid for pid in rig.agents() if Path(f"/proc/{pid}/comm").read_text().strip() == name]


@contextlib.contextmanager
def bystander(tag_of_another: str):
    """A stranger that looks alike: the tag of a home whose name begins as ours does."""
    environ = {**os.environ, "AMIRAL_TAG": f"{tag_of_another}:shop:s1"}
    with subprocess.Popen(["sleep", "600"], env=environ, start_new_session=True) as stranger:
        try:
            yield stranger
            assert stranger.poll() is None, "a stranger was signalled"
        finally:
            stranger.kill()


def stop(rig) -> str:
    """Stop from the terminal; nothing of this home is left within ten seconds."""
    slipped = children(rig)
    began = time.monotonic()
    with bystander(f"{tag(rig)}0"):
        answer = rig.run("emergency-stop", "--json")
    took_ms = (time.monotonic() - began) * 1000
    report = answer.json()
    assert (answer.code, report["survivors"]) == (0, 0)
    assert report["ms"] < MOST_MS and took_ms < MOST_MS
    assert len(report["killed"]) >= 2 * len(BUSY) + len(slipped)
    assert {one["worker"] for one in report["workers"]} == {f"shop/{worker}" for worker in BUSY}
    assert (
        "shop/developer (Bash: trap '' TERM; setsid sleep 300 & sleep 300)" in report["was_doing"]
    )
    assert rig.agents() == {}
    assert [pid for pid in slipped if is_running(pid)] == []
    return str(report["stop_id"])


def nothing_starts(rig, stop_id, seconds=2.5):
    """Longer than the lanes' own look at the brake."""
    refused = rig.run("say", "/c hello", "--json")
    assert (refused.code, refused.json()["error"]["kind"]) == (6, "conflict")
    assert f"stop {stop_id} is on" in refused.json()["error"]["message"]
    assert refused.json()["error"]["next"] == f"release it to go on: amiral release {stop_id}"
    by = time.monotonic() + seconds
    while time.monotonic() < by:
        assert rig.agents() == {}, "something was started under the brake"
        time.sleep(0.05)


def goes_on_after_release(rig, stop_id):
    """What was cut is told as stopped; what waited is answered now."""
    assert rig.run("release", stop_id).code == 0
    assert rig.answer(rig.behind)["outcome"] == "done"
    assert {rig.answer(message)["outcome"] for message in rig.busy} == {"stopped"}
    assert rig.ask("say", "/d hello").json()["outcome"] == "done"


def test_five_busy_workers_are_ended_while_the_project_process_lives(busy):
    stop_id = stop(busy)
    until(lambda: all(busy.answers(message) for message in busy.busy), "the told ends")
    nothing_starts(busy, stop_id)
    (project,) = busy.ask("status").json()["projects"]
    assert (project["state"], project["stop_id"]) == ("stopped", stop_id)
    assert f"⛔ stop {stop_id} is on: amiral release {stop_id}" in busy.run("status").out
    goes_on_after_release(busy, stop_id)
    assert [one["on"] for one in busy.wait_told("BrakeSeen", 2)] == [True, False]


def test_five_busy_workers_are_ended_while_the_project_process_is_dead(busy):
    busy.kill()
    stop_id = stop(busy)
    busy.start()
    nothing_starts(busy, stop_id)
    goes_on_after_release(busy, stop_id)


def test_five_busy_workers_are_ended_while_the_project_process_hangs(busy):
    os.kill(busy.pid, signal.SIGSTOP)
    stop_id = stop(busy)
    os.kill(busy.pid, signal.SIGCONT)
    nothing_starts(busy, stop_id)
    goes_on_after_release(busy, stop_id)


@pytest.mark.mounting
def test_busy_workers_are_ended_while_the_disk_is_full(yard, hire):
    """R38: nothing is accepted and nothing hidden, the stop works, and room heals it."""
    rig = yard.scripted(ZOO)
    settings = (rig.home / "amiral.toml").read_text()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "none", str(rig.home)], check=True
    )
    (rig.home / "amiral.toml").write_text(settings)
    rig.start()
    messages = [rig.post(f"/{seat} {text}") for seat, text in (("c", "stubborn"), ("d", "shell"))]
    rig.wait_told("MessageSeen", 2)
    filler = rig.home / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 20))
    with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(1 << 10))
    refused = rig.run("say", "--wait", "0", "/c " + "more " * 5000, "--json")
    assert (refused.code, refused.json()["error"]["kind"]) == (1, "broken")
    assert "space" in refused.json()["error"]["next"]

    report = rig.run("emergency-stop", "--json")
    assert (report.code, report.json()["survivors"]) == (0, 0)
    assert report.json()["ms"] < MOST_MS
    assert rig.agents() == {}
    stop_id = report.json()["stop_id"]
    nothing_starts(rig, stop_id)
    filler.unlink()
    assert rig.run("release", stop_id).code == 0
    ended = {rig.answer(message)["outcome"] for message in messages}
    assert ended <= {"stopped", "interrupted"}, "told once there is room again"
    hire(rig, {})
    rig.ask("trust", "workers_registry.json")
    until(lambda: "tester" in rig.run("workers").out, "the upkeep goes on")
    assert rig.ask("say", "/d hello").json()["outcome"] == "done"
    rig.kill()
    rig.run("emergency-stop")
    subprocess.run(["umount", "-l", str(rig.home)], check=True)


def test_only_the_stop_that_is_on_can_be_released_and_only_by_its_name(yard):
    rig = yard.scripted().start()
    none = rig.run("release", "0a1b2c3d", "--json")
    assert (none.code, none.json()["error"]["kind"]) == (6, "conflict")
    assert "no stop is in force" in none.json()["error"]["message"]
    first = rig.run("emergency-stop", "--json").json()["stop_id"]
    assert rig.run("emergency-stop", "--json").json()["stop_id"] == first
    wrong = rig.run("release", "0a1b2c3d", "--json")
    assert wrong.code == 6
    assert f"the stop in force is '{first}'" in wrong.json()["error"]["message"]
    assert rig.run("release").code == 2
    assert rig.run("say", f"/release {first}").out == f"✓ released stop {first}\n"
    assert rig.run("release", first).code == 6
    assert rig.ask("say", "/c hello").json()["outcome"] == "done"


def test_a_word_in_chat_stops_everything(yard):
    rig = yard.scripted(ZOO).start()
    message = rig.post("/c quiet")
    rig.wait_told("MessageSeen")
    stopped = rig.run("say", "STOP")
    assert stopped.code == 0
    stop_id = re.findall(
        r"⛔ stopped \(stop (\w+)\): 1 worker: shop/consultant · 0 processes left", stopped.out
    )
    assert len(stop_id) == 1
    assert rig.agents() == {}
    assert rig.answer(message)["outcome"] == "stopped"
    assert rig.run("release", *stop_id).code == 0


def test_one_worker_is_stopped_while_the_others_work(yard):
    """Its session ends, its queue waits, nothing is accepted for it; nobody else is touched."""
    rig = yard.scripted(ZOO).start()
    mine, other = rig.post("/d shell"), rig.post("/c quiet")
    rig.wait_told("MessageSeen", 2)
    slipped = until(lambda: commands(rig, "sleep"), "what the tool started")
    behind = rig.post("/d more")
    pids = {one.worker: one.cli for one in rig.running()}
    report = rig.run("emergency-stop", "shop/developer", "--json").json()
    stop_id = report["stop_id"]
    assert (report["scope"], report["survivors"]) == ("shop/developer", 0)
    assert [one["worker"] for one in report["workers"]] == ["shop/developer"]
    assert not any(map(is_running, [pids["developer"], *slipped]))
    assert is_running(pids["consultant"])
    assert rig.answer(mine)["outcome"] == "stopped"
    refused = rig.run("say", "/d hello", "--json").json()["error"]
    assert (refused["kind"], f"stop {stop_id} is on" in refused["message"]) == ("conflict", True)
    assert f"⛔ stop {stop_id} is on for shop/developer" in rig.run("status").out
    (project,) = rig.ask("status").json()["projects"]
    assert (project["state"], project["stops"][0]["stop_id"]) == ("running", stop_id)
    assert rig.run("say", "/w:ui-designer hello", "--json").json()["outcome"] == "done"
    time.sleep(1.5)
    assert [one.worker for one in rig.running() if one.worker == "developer"] == []
    assert rig.run("release", stop_id).code == 0
    assert rig.answer(behind)["outcome"] == "done"
    assert rig.answers(other) == []


def test_a_gentle_stop_interrupts_turns_closes_sessions_and_the_conversation_goes_on(yard):
    rig = yard.scripted("turns:\n  - {hang: 300}\ndefault: {say: ok}").start()
    message = rig.post("/c first")
    rig.wait_told("MessageSeen")
    turn = rig.running()[0].folder / "turn.json"
    until(turn.exists, "the turn's file")
    stopped = rig.run("emergency-stop", "--level", "1", "--json").json()
    assert (stopped["survivors"], rig.agents()) == (0, {})
    assert stopped["workers"] == [{"worker": "shop/consultant", "act": "", "level": 1}]
    assert rig.answer(message)["outcome"] == "stopped"
    assert not turn.exists()
    assert rig.told("ResumeKeyProved"), "the point to resume from is kept"
    rig.run("release", stopped["stop_id"])
    assert rig.ask("say", "/c second").json()["outcome"] == "done"
    first, second = rig.wait_told("SessionOpened", 2)
    assert second["resume_key"] == (first["resume_key"] or first["fresh_key"])


def test_what_is_frozen_stands_still_and_goes_on_when_it_is_thawed(yard):
    rig = yard.scripted("turns:\n  - {hang: 2}\n  - {say: ok}\ndefault: {say: ok}").start()
    message = rig.post("/c work")
    rig.wait_told("MessageSeen")
    frozen = rig.run("freeze", "shop", "--json").json()
    assert (frozen["workers"], frozen["running"]) == (["shop/consultant"], 0)
    behind = rig.run("say", "/d hello", "--json").json()["error"]
    assert behind["next"].startswith("release it to go on: amiral thaw shop-")
    (project,) = rig.ask("status").json()["projects"]
    assert (project["state"], project["stops"][0]["kind"]) == ("frozen", "freeze")
    time.sleep(2.5)
    assert (rig.answers(message), len(rig.running())) == ([], 1)
    assert rig.run("thaw", "shop").out.startswith("✓ thawed shop")
    assert rig.answer(message)["outcome"] == "done"
    assert [(one["on"], one["kind"]) for one in rig.wait_told("BrakeSeen", 2)] == [
        (True, "freeze"),
        (False, "freeze"),
    ]


def test_what_is_not_there_is_not_stopped_and_the_stop_says_so(yard):
    rig = yard.scripted().start()
    for words, kind in (
        (("shoop",), (4, "not_found")),
        (("shop", "more"), (2, "usage")),
        (("--now",), (2, "usage")),
        (("--level", "0"), (2, "usage")),
    ):
        refused = rig.run("emergency-stop", *words, "--json")
        assert (refused.code, refused.json()["error"]["kind"]) == kind
    assert rig.run("say", "/c hello").code == 0
    assert rig.run("emergency-stop", "all", "--level", "3").code == 0


@pytest.mark.parametrize("harm", ["cut", "gone", "scribbled"])
def test_a_latch_that_cannot_be_read_is_a_stop_and_can_be_released(yard, harm):
    rig = yard.scripted().start()
    latch = rig.home / "brake" / "latch"
    match harm:
        case "cut":
            latch.write_bytes(latch.read_bytes()[:100])
        case "gone":
            latch.unlink()
        case _:
            latch.write_bytes(os.urandom(512))
    nothing_starts(rig, "unknown", 0.2)
    (project,) = rig.ask("status").json()["projects"]
    assert (project["state"], project["stop_id"]) == ("stopped", "unknown")
    rig.kill()
    rig.start()
    nothing_starts(rig, "unknown", 0.2)
    assert rig.run("release", "unknown").code == 0
    assert rig.ask("say", "/c hello").json()["outcome"] == "done"


def test_a_stop_before_the_first_start_holds_after_it(yard):
    rig = yard.scripted()
    stop_id = rig.run("emergency-stop", "--json").json()["stop_id"]
    rig.start()
    nothing_starts(rig, stop_id, 0.2)
    assert rig.run("release", stop_id).code == 0
    assert rig.run("say", "/c hello").code == 0
