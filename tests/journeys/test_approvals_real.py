"""Requests of real agent CLIs, a scripted model behind them: allowed once, denied once, expired."""

import pytest

from amiral.testbench.rig import until

pytestmark = pytest.mark.isolated
ASKS = {
    "default": "allow",
    "rules": [{"capability": "execute-bash", "match": "cp*", "posture": "ask"}],
}
COPY = "turns: [{use: {tool: bash, args: {command: cp new.txt prices.txt}}}, {say: I tried.}]\n"
BOTH = pytest.mark.parametrize("driver", ["claude", "codex"])


@pytest.fixture
def asking(yard, real, hire):
    """Give a rig whose worker has to ask before it changes the prices."""

    def start(driver, ttl=60):
        root = str(yard.folder / "shop") if driver == "claude" else ""
        rig, _ = real.rig(driver, COPY, f"[safety]\napproval_ttl_s = {ttl}\n", root=root)
        (rig.project / "prices.txt").write_text("tea 1")
        (rig.project / "new.txt").write_text("tea 2")
        hire(rig, {"tools": "all", "driver": driver, "permissions": ASKS})
        rig.start()
        rig.ask("trust", "workers_registry.json")
        until(lambda: "tester" in rig.run("workers").out, "the worker", 5)
        return rig

    return start


def prices(rig):
    return (rig.project / "prices.txt").read_text()


@BOTH
@pytest.mark.parametrize("answer", ["allow", "deny"])
def test_a_request_is_answered_by_the_owner(asking, driver, answer):
    rig = asking(driver)
    message = rig.post("/w:tester change it")
    (request,) = until(lambda: rig.ask("approvals").json()["approvals"], "a request")
    assert request["tool"] == "Bash"
    assert request["preview"].startswith("cp new.txt prices.txt")
    assert prices(rig) == "tea 1"
    assert rig.run("approve-request", request["id"], answer).code == 0
    assert rig.answer(message)["text"] == "I tried."
    assert prices(rig) == ("tea 2" if answer == "allow" else "tea 1")


@BOTH
def test_a_request_that_nobody_answers_is_denied(asking, driver):
    rig = asking(driver, ttl=1)
    message = rig.post("/w:tester change it")
    assert rig.answer(message)["text"] == "I tried."
    assert len(rig.told("ApprovalExpired")) == 1
    assert prices(rig) == "tea 1"
