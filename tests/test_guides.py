"""The guides do what they say: their examples are taken from the page, and run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from amiral.testbench.rig import Rig, scripted_config, until

GUIDES = Path(__file__).resolve().parent.parent / "docs" / "guides"
BLOCK = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(guide):
    """Give the named examples of a guide."""
    return dict(BLOCK.findall((GUIDES / guide).read_text("utf-8")))


@pytest.fixture
def parrot(tmp_path_factory):
    """Install the package and the CLI of the guide; give the environment that has both."""
    # Sockets lie below it, and their names must be short.
    tmp_path = tmp_path_factory.mktemp("g")
    files = examples("add-a-driver.md")
    package, installed = tmp_path / "package", tmp_path / "installed"
    package.mkdir()
    for name in ("amiral_parrot.py", "pyproject.toml"):
        (package / name).write_text(files[name])
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(installed)]
    subprocess.run([*pip, *options, str(package)], check=True, capture_output=True, timeout=100)
    cli = tmp_path / "parrot"
    cli.write_text(files["parrot"].replace("#!/usr/bin/env python3", f"#!{sys.executable}"))
    cli.chmod(0o755)
    config = f'{scripted_config()}[drivers.parrot]\ncommand = ["{cli}"]\n'
    rig = Rig(tmp_path, config, {"PYTHONPATH": str(installed)})
    registry = rig.project / ".amiral" / "config" / "workers_registry.json"
    registry.parent.mkdir(parents=True)
    registry.write_text(files["workers_registry.json"])
    yield rig
    rig.stop()


def test_the_driver_of_the_guide_is_found_and_its_worker_answers(parrot):
    parrot.start()
    assert parrot.ask("trust", "workers_registry.json").code == 0
    until(lambda: "parrot" in parrot.ask("workers").out, "the worker")
    for words in ("hello", "and again"):
        answer = parrot.ask("say", f"/w:parrot {words}").json()
        assert (answer["outcome"], [one["text"] for one in answer["replies"]]) == ("done", [words])
    doctor = parrot.run("doctor").out
    assert "✓ cli parrot" in doctor
    assert not [event for event in parrot.events() if event["name"] == "NoiseRead"]


def test_the_example_of_a_command_runs():
    code = examples("add-a-command.md")["example"]
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
