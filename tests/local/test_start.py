"""Which project `amiral up` takes, and what it says of the CLIs it found."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from amiral.agents.clis import CliState
from amiral.local import start
from amiral.projects.store import Projects


class Place:
    def __init__(self, root: Path):
        self.root, self.home, self.user = root, root / "home", root / "user"
        self.home.mkdir(mode=0o700)
        self.user.mkdir()

    def folder(self, name: str) -> Path:
        folder = self.root / name
        folder.mkdir(parents=True)
        return folder

    def chosen(self, path="", *, is_sample=False) -> str:
        return start._project(self.home, str(path), is_sample=is_sample).path


@pytest.fixture
def place(monkeypatch):
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        root = Path(folder).resolve()
        place = Place(root)
        monkeypatch.setenv("AMIRAL_HOME", str(place.home))
        monkeypatch.setenv("HOME", str(place.user))
        monkeypatch.chdir(place.folder("elsewhere"))
        yield place


def run(capsys, *argv):
    code = start.run(["up", *argv])
    return code, *capsys.readouterr()


def test_a_named_folder_is_registered_once(place):
    shop = place.folder("shop")
    assert place.chosen(shop) == place.chosen(shop) == str(shop)
    assert [project.name for project in Projects(place.home, place.user).all()] == ["shop"]


def test_inside_a_known_project_it_is_that_one(place, monkeypatch):
    shop = place.folder("shop")
    place.chosen(shop)
    monkeypatch.chdir(place.folder("shop/src/deep"))
    assert place.chosen() == str(shop)


@pytest.mark.parametrize("mark", [".git", ".amiral"])
def test_a_folder_that_looks_like_a_project_is_taken(place, monkeypatch, mark):
    shop = place.folder("shop")
    (shop / mark).mkdir()
    monkeypatch.chdir(shop)
    assert place.chosen() == str(shop)


def test_anywhere_else_it_is_the_sample(place):
    sample = place.root / "home-sample" / "shop"
    assert place.chosen() == str(sample)
    assert place.chosen(is_sample=True) == str(sample)
    assert (sample / "cart.py").exists()


def test_several_folders_at_once_are_for_later(place, capsys):
    code, out, err = run(capsys, str(place.folder("a")), str(place.folder("b")))
    assert (code, out) == (2, "")
    assert "amiral up" in err


def test_a_folder_that_is_none_is_refused(place, capsys):
    code, out, _ = run(capsys, str(place.root / "nothing"), "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (2, "usage")


def test_what_the_disk_refuses_is_one_sentence_with_the_place(place, capsys, monkeypatch):
    (place.root / "file").write_text("")
    monkeypatch.setenv("AMIRAL_HOME", str(place.root / "file"))
    code, out, err = run(capsys, str(place.folder("shop")))
    assert (code, out, err.count("\n")) == (1, "", 2)
    assert str(place.root / "file") in err


def test_a_home_too_deep_for_a_socket_is_refused_before_anything_is_started(
    place, capsys, monkeypatch
):
    home = place.root / ("d" * 90) / "home"
    home.mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("AMIRAL_HOME", str(home))
    code, _, err = run(capsys, str(place.folder("shop")))
    assert (code, "choose a shorter AMIRAL_HOME" in err) == (2, True)
    assert not (home / "run").exists()


@pytest.mark.parametrize(
    ("cli", "shown"),
    [
        (CliState("claude", "2.1.332", is_logged_in=True), "claude 2.1.332 (logged in)"),
        (CliState("scripted", "1.0.0"), "scripted 1.0.0"),
        (
            CliState("claude", problem="driver claude: no program `claude` on this machine"),
            "claude (not installed)",
        ),
        (
            CliState("claude", problem="/bin/cli does not tell its version"),
            "claude (/bin/cli does not tell its version)",
        ),
    ],
)
def test_each_cli_is_described_in_a_few_words(cli, shown):
    assert start._described(cli) == shown


def test_a_cli_without_a_login_says_what_to_do():
    needy = CliState("claude", "2.1.332", fix="set CLAUDE_CODE_OAUTH_TOKEN")
    assert "login needed" in start._described(needy)
    assert "CLAUDE_CODE_OAUTH_TOKEN" in start._described(needy)


def test_the_command_is_named_as_it_was_typed(tmp_path):
    program = tmp_path / "bin" / "amiral"
    program.parent.mkdir()
    program.write_text("")
    tell = (
        "import sys; from amiral.local.start import _command\n"
        "sys.argv[0] = sys.argv[1]; print(_command())"
    )
    for path, shown in ((str(program.parent), "amiral"), ("/nowhere", "bin/amiral")):
        ran = subprocess.run(
            [sys.executable, "-c", tell, str(program)],
            env={"PATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout == f"{shown}\n"
