"""New files come into a project without replacing anything and without following a link."""

import pytest

from amiral.projects.planting import holds, is_free, plant, remove_empty, uproot


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root" / "in").mkdir(parents=True)
    return tmp_path / "root"


def test_a_new_file_is_whole_and_can_be_taken_back(root):
    assert is_free(root, "in/a.md")
    plant(root, "in/a.md", "é\n")
    assert holds(root, "in/a.md", "é\n")
    assert not is_free(root, "in/a.md")
    assert uproot(root, "in/a.md", "é\n")
    assert not (root / "in" / "a.md").exists()
    assert uproot(root, "in/a.md", "é\n"), "gone already is as good"


def test_what_is_there_stays(root):
    (root / "a.md").write_text("mine")
    with pytest.raises(FileExistsError):
        plant(root, "a.md", "ours")
    assert not uproot(root, "a.md", "ours")
    assert (root / "a.md").read_text() == "mine"


def test_what_a_killed_writer_has_begun_is_taken_back(root):
    (root / "a.md").write_text("our")
    assert uproot(root, "a.md", "ours and more")
    assert not (root / "a.md").exists()


def test_what_somebody_went_on_writing_stays(root):
    (root / "a.md").write_text("ours and mine")
    assert not uproot(root, "a.md", "ours")


@pytest.mark.parametrize("name", ["a.md", "in/deep/a.md"])
def test_no_link_is_followed(root, tmp_path, name):
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (root / "in").rmdir()
    (root / "in").symlink_to(outside)
    (root / "a.md").symlink_to(outside / "a.md")
    assert not is_free(root, name)
    with pytest.raises(OSError, match=r"exists|Not a directory|Too many levels"):
        plant(root, name, "x")
    assert not uproot(root, "a.md", "x")
    assert list(outside.rglob("*.md")) == []
    assert (root / "a.md").is_symlink()


def test_only_an_empty_folder_goes(root):
    remove_empty(root)
    assert root.exists()
    remove_empty(root / "in")
    assert not (root / "in").exists()
    remove_empty(root / "in")
