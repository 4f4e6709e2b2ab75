"""Which project a command line takes."""

import tempfile
from pathlib import Path

import pytest

from amiral.base.errors import Invalid, NotFound
from amiral.local.choice import chosen_project, named_project
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
        return chosen_project(self.home, str(path), is_sample=is_sample).path


@pytest.fixture
def place(monkeypatch):
    with tempfile.TemporaryDirectory(prefix="amiral-") as folder:
        root = Path(folder).resolve()
        place = Place(root)
        monkeypatch.setenv("AMIRAL_HOME", str(place.home))
        monkeypatch.setenv("HOME", str(place.user))
        monkeypatch.chdir(place.folder("elsewhere"))
        yield place


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


def test_a_name_or_an_id_means_a_registered_project_and_a_path_registers_one(place):
    shop = place.folder("shop")
    project = named_project(place.home, str(shop))
    assert named_project(place.home, "shop") == named_project(place.home, project.id) == project
    with pytest.raises(NotFound, match="shop"):
        named_project(place.home, "shup")
    with pytest.raises(Invalid, match="no folder"):
        named_project(place.home, str(place.root / "nothing"))
