"""From a question to a commit with the real CLIs: consult, spec, approve, execute, done."""

import subprocess

import pytest

from amiral.testbench.rig import until

pytestmark = pytest.mark.isolated
SCENARIO = """
turns:
  - match: discount codes
    say: Keep them beside the cart.
    spec:
      title: Add discount codes
      problem: The till takes percentages off by hand.
      approach: A table of codes in a module of its own.
      acceptance: [There is a table of codes]
  - match: Carry out spec
    use: {tool: write, args: {path: codes.py, text: "CODES = {'SPRING': 10}\\n"}}
  - match: Carry out spec
    say: "Done.\\n\\n```done\\n1: codes.py holds it\\n```\\n"
"""


def git(folder, *words):
    command = ("git", "-C", str(folder), *words)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("driver", ["claude", "codex"])
def test_a_question_becomes_a_spec_and_the_spec_a_commit(real, driver):
    """S0.7, S0.8, S0.9, S0.12, S0.18."""
    rig, _ = real.rig(driver, SCENARIO)
    rig.project = rig.home.with_name("home-sample") / "shop"
    rig.where = ("--sample",)
    rig.start()
    before = git(rig.project, "status", "--porcelain", "--", ":!.amiral")
    said = rig.ask("say", "/c How do we take discount codes?").json()
    assert (said["outcome"], said["worker"]) == ("done", "consultant")
    (spec,) = said["specs"]
    assert rig.ask("spec", "show", spec).json()["status"] == "draft"
    assert rig.ask("approve", spec).code == 0
    until(lambda: rig.told("SpecDone") or rig.told("SpecFailed"), "the end of the spec", 50)
    done = rig.ask("spec", "show", spec).json()
    assert done["status"] == "done", rig.told("SpecFailed")
    assert [turn["driver"] for turn in rig.told("SessionOpened")] == [driver] * 2
    assert [one["passed"] for one in rig.told("SpecTested")] == [True]
    assert git(rig.project, "show", f"{done['commit']}:codes.py") == "CODES = {'SPRING': 10}\n"
    assert done["commit"][:12] in done["ticks"][0]
    assert not (rig.project / "codes.py").exists()
    assert git(rig.project, "status", "--porcelain", "--", ":!.amiral") == before
