"""The demo: what a newcomer sees first, and that nothing is left of it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

STAGES = [
    *("consulted", "spec_created", "approved", "executing", "files_edited"),
    *("tests_passed", "done", "killed_and_recovered", "stopped", "demo"),
]


@pytest.fixture
def place():
    """Where the demo makes its folder, and a user with settings that would get in its way."""
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        user = Path(folder, "user")
        user.mkdir()
        (user / ".gitconfig").write_text(
            "[commit]\n\tgpgSign = true\n[core]\n\thooksPath = /nowhere\n[init]\n"
            f"\ttemplateDir = {user}\n[user]\n\tuseConfigOnly = true\n"
        )
        yield Path(folder)


def demo(place, *words, **environ):
    env = {**os.environ, "TMPDIR": str(place), "HOME": str(place / "user"), **environ}
    return subprocess.run(
        (sys.executable, "-m", "amiral", "demo", *words),
        env=env,
        capture_output=True,
        text=True,
        cwd=place,
        check=False,
    )


def left(place):
    return sorted(path.name for path in place.iterdir() if path.name != "user")


def test_the_demo_plays_every_stage_within_50_seconds_and_leaves_nothing(place):
    began = time.monotonic()
    played = demo(place, "--json", AMIRAL_HOME=str(place / "user"), ANTHROPIC_API_KEY="x")
    assert played.returncode == 0, played
    assert time.monotonic() - began < 50
    told = [json.loads(line) for line in played.stdout.rstrip("\n").split("\n")]
    assert [one["stage"] for one in told] == STAGES
    assert all(one["ok"] is True for one in told)
    for one in told[:-1]:
        assert set(one) == {"stage", "ok", "ms", "detail"}
        assert isinstance(one["ms"], int)
        assert one["detail"]
    details = {one["stage"]: one["detail"] for one in told[:-1]}
    assert "on branch amiral/" in details["executing"]
    assert details["files_edited"] == "cart.py, test_codes.py"
    assert details["tests_passed"] == "python3 -m unittest"
    assert "3 criteria met, commit " in details["done"]
    assert "0 processes left" in details["stopped"]
    assert told[-1] == {"stage": "demo", "ok": True}
    assert left(place) == []
    assert [path.name for path in (place / "user").iterdir()] == [".gitconfig"]


def test_a_kept_demo_can_be_looked_at_and_gone_on_with(place):
    played = demo(place, "--keep")
    assert played.returncode == 0, played
    lines = played.stdout.rstrip("\n").split("\n")
    assert [line.split()[:2] for line in lines[:-2]] == [["✓", stage] for stage in STAGES[:-1]]
    assert lines[-2] == "✓ the demo has played"
    kept, _, command = lines[-1].partition(": ")
    assert kept == f"kept in {place / left(place)[0]}"
    variable, _, up, project = command.split()
    home = variable.partition("=")[2]
    assert (up, project) == ("up", f"{place / left(place)[0]}/shop")
    env = {**os.environ, "AMIRAL_HOME": home, "AMIRAL_HUB_PORT": "0"}
    amiral = (sys.executable, "-m", "amiral")
    ran = subprocess.run((*amiral, "up", project, "--detach"), env=env, check=False)
    assert ran.returncode == 0
    said = subprocess.run(
        (*amiral, "say", "/c hello"),
        env=env,
        cwd=project,
        capture_output=True,
        check=False,
    )
    subprocess.run((*amiral, "emergency-stop"), env=env, capture_output=True, check=True)
    subprocess.run((*amiral, "down"), env=env, cwd=project, capture_output=True, check=False)
    assert said.returncode == 0, "no stop of the demo's is in force any more"


def test_a_demo_that_fails_says_where_and_leaves_nothing(place):
    """As on a machine without python3, where the sample's own tests cannot be run."""
    programs = place / "user" / "bin"
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(str(shutil.which(name)))
    played = demo(place, "--json", PATH=str(programs))
    told = [json.loads(line) for line in played.stdout.rstrip("\n").split("\n")]
    assert played.returncode == 1
    assert [one["stage"] for one in told] == ["consulted", *STAGES[1:5], "demo"]
    assert [one["ok"] for one in told] == [True] * 4 + [False] * 2
    assert told[-2]["detail"].startswith("the spec failed: tests failed (python3 -m unittest)")
    assert left(place) == []


def test_without_git_the_demo_says_what_to_install(place):
    played = demo(place, "--json", PATH="/nowhere")
    assert played.returncode == 4
    assert json.loads(played.stdout)["error"] == {
        "kind": "not_found",
        "message": "git is not installed",
        "next": "install git",
    }
    assert left(place) == []
