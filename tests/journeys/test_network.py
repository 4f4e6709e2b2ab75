"""A closed network: a worker's CLI reaches its own service by its proxy, and nothing else."""

import pytest

from amiral.testbench.rig import until

pytestmark = pytest.mark.isolated
CLOSED = '[sandbox]\nnetwork = "none"\n'
REACH = """
turns:
  - match: reach
    use: {tool: bash, args: {command: "bash -c 'echo >/dev/tcp/127.0.0.1/{port}' && echo >out"}}
  - {match: reach, say: done}
default: {say: ok}
"""


@pytest.mark.parametrize("driver", ["claude", "codex"])
def test_n1_a_cli_finishes_its_turn_and_its_commands_reach_nothing(real, model, driver):
    with model("default: {say: ok}") as other:
        port = other.url.rpartition(":")[2]
        rig, served = real.rig(driver, REACH.replace("{port}", port), CLOSED)
        rig.start()
        assert rig.ask("say", "/c hello").json()["outcome"] == "done"
        said = rig.ask("say", "/d reach").json()
        assert said["outcome"] == "done"
        until(lambda: len(served.calls) >= 3, "the answer of the command")
        assert not (rig.project / "out").exists()
        assert other.calls == []


def test_a_killed_process_is_followed_by_one_with_the_same_way_out(real):
    slow = "turns: [{match: slow, hang: 3, say: Late.}]\ndefault: {say: ok}"
    rig, served = real.rig("claude", slow, CLOSED)
    rig.start()
    message = rig.post("/c slow")
    until(lambda: any(call.is_main for call in served.calls), "the call of the model")
    rig.kill()
    rig.start()
    assert rig.answer(message)["outcome"] == "done"
    assert rig.ask("say", "/c next").json()["outcome"] == "done"
    assert len(rig.told("SessionOpened")) == 1
