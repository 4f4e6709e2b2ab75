"""Real agent CLIs in boxes of bwrap, a scripted model behind them: turns finish, a deny holds."""

import pytest

from amiral.testbench.rig import until

pytestmark = pytest.mark.isolated
BOX = '[sandbox]\nenforcer = "bwrap"\n'
RULES = {
    "default": "allow",
    "rules": [
        {"capability": "write", "match": "**/.env", "posture": "deny"},
        {"capability": "read", "match": "secret.txt", "posture": "deny"},
    ],
}
# In a file, since lines that name what is denied are not run at all.
WORK = """
{
  echo x > config/.env; rm -f config/.env; mv prices.txt config/.env; mv config away
  cat secret.txt > told.txt; ls /tmp
} 2> errors.txt
echo tea 2 > fresh && mv fresh prices.txt && echo new > config/new
"""
TURNS = "turns: [{use: {tool: bash, args: {command: sh work.sh}}}, {say: I tried.}]\n"


@pytest.fixture
def boxed(real, hire):
    """Give a rig whose worker's CLI runs in a box."""

    def start(driver):
        rig, _ = real.rig(driver, TURNS, BOX)
        (rig.project / "config").mkdir()
        for name in ("prices.txt", "secret.txt", "config/.env"):
            (rig.project / name).write_text("as it was")
        (rig.project / "work.sh").write_text(WORK)
        hire(rig, {"tools": "all", "driver": driver, "permissions": RULES})
        rig.start()
        rig.ask("trust", "workers_registry.json")
        until(lambda: "tester" in rig.run("workers").out, "the worker", 5)
        return rig

    return start


@pytest.mark.parametrize("driver", ["claude", "codex"])
def test_f5_a_turn_finishes_in_a_box_and_what_is_denied_stays(boxed, driver):
    rig = boxed(driver)
    message = rig.post("/w:tester change it")
    assert rig.answer(message)["text"] == "I tried."
    shop = rig.project
    assert (shop / "config/.env").read_text() == "as it was"
    assert (shop / "secret.txt").read_text() == "as it was"
    assert (shop / "prices.txt").read_text() == "tea 2\n", (shop / "errors.txt").read_text()
    assert (shop / "config/new").read_text() == "new\n"
    assert (shop / "told.txt").read_text() == ""
    assert (shop / "errors.txt").read_text().count("Permission denied") >= 2
    assert rig.run("permissions", "probe", "--json").json()["enforcer"] == "bwrap"
