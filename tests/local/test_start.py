"""What `amiral up` refuses before anything is started."""

import json
import tempfile
from pathlib import Path

import pytest

from amiral.local import start


class Place:
    def __init__(self, root: Path):
        self.root, self.home = root, root / "home"
        self.home.mkdir(mode=0o700)

    def folder(self, name: str) -> Path:
        folder = self.root / name
        folder.mkdir(parents=True)
        return folder


@pytest.fixture
def place(monkeypatch):
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        root = Path(folder).resolve()
        place = Place(root)
        monkeypatch.setenv("AMIRAL_HOME", str(place.home))
        monkeypatch.chdir(place.folder("elsewhere"))
        yield place


def run(capsys, *argv):
    code = start.run(["up", *argv])
    return code, *capsys.readouterr()


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
