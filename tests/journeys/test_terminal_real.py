"""Real agent CLIs in terminals of their workers, behind the fence of their turns."""

import shlex
import subprocess

import pytest

from amiral.testbench.rig import until

pytestmark = pytest.mark.isolated

# What the first screen of each shows, before anybody has answered anything.
SCREENS = {"claude": "Claude Code", "codex": "Ask Codex"}
RULES = {"default": "allow", "rules": [{"capability": "write", "match": "x", "posture": "deny"}]}


def screen(words):
    ran = subprocess.run(
        [*words, "capture-pane", "-p"], capture_output=True, text=True, check=False
    )
    return ran.stdout


def opened(rig, worker):
    answer = rig.ask("terminal", worker)
    assert answer.code == 0, answer
    words = shlex.split(answer.json()["attach"])
    return words[1 : words.index("attach")]


def started(real, hire, driver, **row):
    rig, _ = real.rig(driver, "default: {say: ok}\n")
    hire(rig, {"tools": "all", "driver": driver, **row})
    rig.start()
    rig.ask("trust", "workers_registry.json")
    until(lambda: "tester" in rig.run("workers").out, "the worker", 5)
    return rig


@pytest.mark.parametrize("driver", ["claude", "codex"])
@pytest.mark.parametrize("rules", [None, RULES], ids=["free", "fenced"])
def test_s4_a_cli_speaks_to_a_person_in_its_worker_s_terminal(real, hire, driver, rules):
    rig = started(real, hire, driver, **({"permissions": rules} if rules else {}))
    if driver == "codex" and rules:
        refused = rig.ask("terminal", "tester")
        assert (refused.code, refused.json()["error"]["kind"]) == (5, "denied")
        return
    words = opened(rig, "tester")
    until(lambda: SCREENS[driver] in screen(words), "its first screen")
    assert rig.ask("terminal", "close", "tester").code == 0
    assert rig.running() == []
