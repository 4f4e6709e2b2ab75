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
    assert told == "A small shop|amiral|amiral@amiral.invalid\n"
    assert git(folder, "status", "--porcelain") == ""


def test_what_a_killed_start_has_left_half_made_is_made_anew(home):
    (home.with_name("home-sample") / "shop.new").mkdir(parents=True)
    (home.with_name("home-sample") / "shop.new" / "half").write_text("")
    folder = sample_project(home)
    assert not (folder / "half").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["shop"]


def test_settings_of_the_person_do_not_keep_it_from_being_made(home, monkeypatch):
    settings = "[commit]\n\tgpgSign = true\n[user]\n\tuseConfigOnly = true\n"
    (home / ".gitconfig").write_text(f"{settings}[core]\n\thooksPath = /nowhere\n")
    monkeypatch.setenv("HOME", str(home))
    assert git(sample_project(home), "rev-list", "--count", "HEAD") == "1\n"


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
