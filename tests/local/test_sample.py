"""The sample project is made once, is complete and never written over."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from amiral.local.sample import sample_project


@pytest.fixture
def home():
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        yield home


def git(folder, *words):
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_it_lies_beside_the_home_in_a_private_folder_with_one_commit(home):
    folder = sample_project(home)
    assert folder == home.with_name("home-sample") / "shop"
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    names = {path.name for path in folder.iterdir()}
    assert names >= {".git", "README.md", "cart.py", "test_cart.py"}
    assert "__pycache__" not in names
    told = git(folder, "log", "--format=%s|%an|%ae")
    assert told == "A small shop|amiral|sample@amiral.invalid\n"
    assert git(folder, "status", "--porcelain") == ""


def test_its_tests_run(home):
    folder = sample_project(home)
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_cart.py"]
    ran = subprocess.run(tests, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_a_second_call_changes_nothing(home):
    folder = sample_project(home)
    (folder / "cart.py").write_text("mine\n")
    assert sample_project(home) == folder
    assert (folder / "cart.py").read_text() == "mine\n"


def test_it_is_a_plain_folder_where_there_is_no_git(home, monkeypatch):
    monkeypatch.setenv("PATH", str(home))
    folder = sample_project(home)
    assert (folder / "cart.py").exists()
    assert not (folder / ".git").exists()


def test_it_can_be_made_while_a_stop_is_on(home):
    """Git is no agent: the brake is not asked."""
    folder = sample_project(home)
    assert (folder / ".git").exists()
    assert not (home / "brake").exists()
