"""A gentle stop of real CLIs: the turn is interrupted, the session closed, nothing is forgotten."""

import json

import pytest

from amiral.testbench.rig import until

pytestmark = pytest.mark.isolated

SLOW = "turns: [{match: slow, hang: 60, say: Late.}]\ndefault: {say: ok}"


@pytest.mark.parametrize("is_alive", [True, False])
@pytest.mark.parametrize("driver", ["claude", "codex"])
def test_s02_a_gentle_stop_ends_a_turn_by_its_own_interrupt_and_it_is_resumed(
    real, driver, is_alive
):
    """Level 1 with the project's process; without it nobody sees the turn's end, so level 2."""
    rig, model = real.rig(driver, SLOW)
    rig.start()
    assert rig.ask("say", "/c my cat is called Mimi").json()["outcome"] == "done"
    message = rig.post("/c slow question")
    until(lambda: any("slow question" in body for body in model.bodies), "the call of the model")
    turn = rig.running()[0].folder / "turn.json"
    until(lambda: json.loads(turn.read_text())["interrupt"], "the lines that interrupt it")
    if not is_alive:
        rig.kill()
    report = rig.run("emergency-stop", "--level", "1", "--json").json()
    assert (report["survivors"], rig.agents()) == (0, {})
    assert [one["level"] for one in report["workers"]] == [1 if is_alive else 2], report
    if not is_alive:
        rig.start()
    assert rig.answer(message)["outcome"] in ("stopped", "interrupted")
    rig.run("release", report["stop_id"])
    assert rig.ask("say", "/c what is my cat called?").json()["outcome"] == "done"
    assert "Mimi" in model.bodies[-1], "the conversation goes on where it was"
