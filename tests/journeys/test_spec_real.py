"""From a question to a commit with the real CLIs: consult, spec, approve, execute, done."""

import subprocess
from pathlib import Path

import pytest

from amiral.testbench.rig import until

pytestmark = pytest.mark.isolated
ROOT = Path(__file__).parents[2]
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
CLAUDE = """
[drivers.claude]
env = {ANTHROPIC_BASE_URL = "{url}"}
"""
CODEX = """
[drivers.claude]
command = ["no-such-cli"]
[drivers.codex.config]
model_provider = "scripted"
[drivers.codex.config.model_providers.scripted]
name = "Scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""
KEY = "sk-ant-dummy-0123456789abcdef"


def git(folder, *words):
    command = ("git", "-C", str(folder), *words)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("program", "config", "login"),
    [
        pytest.param("claude", CLAUDE, {"ANTHROPIC_API_KEY": KEY}, id="claude"),
        pytest.param("codex", CODEX, {"SCRIPTED_KEY": KEY}, id="codex"),
    ],
)
def test_a_question_becomes_a_spec_and_the_spec_a_commit(yard, model, clis, program, config, login):
    """S0.7, S0.8, S0.9, S0.12, S0.18."""
    environ = {"AMIRAL_CLIS": clis(program), **login}
    with model(SCENARIO) as served:
        rig = yard.rig(config.replace("{url}", served.url), environ)
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
        assert [turn["driver"] for turn in rig.told("SessionOpened")] == [program] * 2
        assert [one["passed"] for one in rig.told("SpecTested")] == [True]
        assert git(rig.project, "show", f"{done['commit']}:codes.py") == "CODES = {'SPRING': 10}\n"
        assert done["commit"][:12] in done["ticks"][0]
        assert not (rig.project / "codes.py").exists()
        assert git(rig.project, "status", "--porcelain", "--", ":!.amiral") == before
