"""A closed network: a worker's CLI reaches its own service by its proxy, and nothing else."""

import pytest

from amiral.testbench.rig import until

pytestmark = pytest.mark.isolated
CLAUDE = """
[sandbox]
network = "none"
[drivers.claude]
env = {ANTHROPIC_BASE_URL = "{url}"}
"""
CODEX = """
[sandbox]
network = "none"
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
REACH = """
turns:
  - match: reach
    use: {tool: bash, args: {command: "bash -c 'echo >/dev/tcp/127.0.0.1/{port}' && echo >out"}}
  - {match: reach, say: done}
default: {say: ok}
"""


@pytest.mark.parametrize(
    ("program", "config", "login"),
    [
        pytest.param("claude", CLAUDE, {"ANTHROPIC_API_KEY": KEY}, id="claude"),
        pytest.param("codex", CODEX, {"SCRIPTED_KEY": KEY}, id="codex"),
    ],
)
def test_n1_a_cli_finishes_its_turn_and_its_commands_reach_nothing(
    yard, model, clis, program, config, login
):
    environ = {"AMIRAL_CLIS": clis(program), **login}
    with model("default: {say: ok}") as other:
        port = other.url.rpartition(":")[2]
        with model(REACH.replace("{port}", port)) as served:
            rig = yard.rig(config.replace("{url}", served.url), environ).start()
            assert rig.ask("say", "/c hello").json()["outcome"] == "done"
            said = rig.ask("say", "/d reach").json()
            assert said["outcome"] == "done"
            until(lambda: len(served.calls) >= 3, "the answer of the command")
            assert not (rig.project / "out").exists()
            assert other.calls == []


def test_a_killed_process_is_followed_by_one_with_the_same_way_out(yard, model, clis):
    environ = {"AMIRAL_CLIS": clis("claude"), "ANTHROPIC_API_KEY": KEY}
    with model("turns: [{match: slow, hang: 3, say: Late.}]\ndefault: {say: ok}") as served:
        rig = yard.rig(CLAUDE.replace("{url}", served.url), environ).start()
        message = rig.post("/c slow")
        until(lambda: any(call.is_main for call in served.calls), "the call of the model")
        rig.kill()
        rig.start()
        assert rig.answer(message)["outcome"] == "done"
        assert rig.ask("say", "/c next").json()["outcome"] == "done"
        assert len(rig.told("SessionOpened")) == 1
