"""A permission is asked, seen and given on the page, in a real browser."""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from amiral.testbench.rig import Rig, scripted_config, until

HOSTILE = "git push \x1b]0;x\x07 \u202e; <b>echo</b>"
TURNS = {"turns": [{"use": {"tool": "bash", "args": {"command": HOSTILE}}}, {"say": "Asked."}]}
RULE = {"capability": "execute-bash", "match": "git push*", "posture": "ask"}
WORKER: dict[str, object] = {"id": "tester", "label": "Tester", "icon": "T", "type": "chat"}
WORKER |= {"model": "sonnet", "max_turns": 0, "tools": "all", "system_prompt_skill": ""}
WORKER |= {"prompt_style": "history", "output_format": "text", "log_category": "tester"}
WORKER |= {"focus_dirs": [], "permissions": {"default": "allow", "rules": [RULE]}}
CARD = "document.querySelector('#requests > li')"


@pytest.fixture(scope="module")
def rig():
    """A whole amiral with a worker that asks before it pushes."""
    folder = Path(tempfile.mkdtemp(prefix="amiral-"))
    scenario = folder / "scenario.yaml"
    scenario.write_text(json.dumps(TURNS), "utf-8")
    command = [sys.executable, "-m", "amiral.testbench.scripted_cli"]
    command += ["--scenario", str(scenario), "--ask-permissions"]
    scripted = f"[drivers.scripted]\ncommand = {json.dumps(command)}\n"
    rig = Rig(folder, scripted_config() + scripted)
    registry = rig.project / ".amiral" / "config" / "workers_registry.json"
    registry.parent.mkdir(parents=True)
    registry.write_text(json.dumps({"version": 1, "workers": [WORKER]}))
    try:
        rig.start()
        rig.ask("trust", "workers_registry.json")
        until(lambda: "tester" in rig.run("workers").out, "the worker", 5)
        yield rig
    finally:
        report = rig.stop()
        shutil.rmtree(folder, ignore_errors=True)
    assert report.json()["survivors"] == 0


def test_a_request_is_read_and_allowed_with_a_tap(page, rig):
    assert page.find("document.getElementById('requests-section').hidden") is True
    message = rig.post("/w:tester push it")
    page.says("1 request waits for you")
    shown = page.find(f"{CARD}.innerText")
    assert "tester wants to use Bash" in shown
    assert "git push <U+001B>]0;x<U+0007> <U+202E>; <b>echo</b>" in shown
    (request,) = rig.ask("approvals").json()["approvals"]
    page.click(f"Allow {request['id']} once")
    assert rig.answer(message)["text"] == "Asked."
    (answered,) = rig.told("ApprovalAnswered")
    assert (answered["approval"], answered["allowed"]) == (request["id"], True)
    page.until("document.getElementById('requests-section').hidden")
    assert page.complaints() == []
