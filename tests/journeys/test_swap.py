"""A worker moves from Claude Code to Codex and back: its policy goes with it (S3.8, S3.18-20)."""

import json
from functools import partial

import pytest

from amiral.testbench.rig import until

pytestmark = pytest.mark.isolated
POLICY = {
    "version": 1,
    "default": "allow",
    "rules": [
        {"capability": "write", "match": "locked/**", "posture": "deny"},
        {"capability": "read", "match": "**", "posture": "allow"},
    ],
}
TURN = """
  - {match: one more, use: {tool: bash, args: {command: "sh try.sh"}}}
  - {match: one more, say: I tried.}
"""


def is_seated(rig, driver):
    return driver in rig.run("workers", "show", "tester").out


def test_the_policy_is_carried_and_what_the_other_cli_was_told_is_gone(real, hire):
    rig, _ = real.rig("claude codex", f"turns:{TURN * 3}default: {{say: ok}}\n")
    (rig.project / "try.sh").write_text("echo x >>src/free.txt; echo x >locked/no\n")
    for name in ("locked", "src"):
        (rig.project / name).mkdir()
    (rig.project / ".amiral" / "config").mkdir(parents=True)
    policy = rig.project / ".amiral" / "config" / "permissions.json"
    policy.write_text(json.dumps(POLICY))
    hire(rig, {"tools": "all", "driver": "claude"})
    rig.start()
    assert rig.ask("trust", "permissions.json").code == 0
    home = rig.state / "workers" / "tester" / "home"
    for number, driver in enumerate(("claude", "codex", "claude"), 1):
        seated = partial(is_seated, rig, driver)
        hire(rig, {"tools": "all", "driver": driver})
        assert rig.ask("trust", "workers_registry.json").code == 0
        until(seated, "the swap")
        said = rig.ask("say", "/w:tester one more").json()
        assert (said["outcome"], said["replies"][0]["text"]) == ("done", "I tried.")
        assert (rig.project / "src" / "free.txt").read_text() == "x\n" * number
        assert list((rig.project / "locked").iterdir()) == []
        told = {path.name for path in home.iterdir()}
        assert ("AGENTS.md" in told, "identity.md" in told) == (
            *((driver == "codex"), (driver == "claude")),
        )
    opened = rig.told("SessionOpened")
    assert [one["driver"] for one in opened] == ["claude", "codex", "claude"]
    assert {one["conversation"] for one in opened} == {opened[0]["conversation"]}
    assert opened[2]["resume_key"] == opened[0]["fresh_key"] != "", "Claude remembers"
