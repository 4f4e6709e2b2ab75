"""A project's tree is looked at within bounds, and nothing in it leads elsewhere."""

import os

from amiral.projects.tree_reading import list_tree, read_telling


def make(root, name, text=""):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_plain_files_are_named_and_what_others_made_is_passed_by(tmp_path):
    for name in ("b.py", "src/a.py", ".github/workflows/ci.yml", ".env", ".git/config"):
        make(tmp_path, name)
    for name in ("node_modules/x/a.js", "target/a.rs", ".venv/a.py", "a/b/c/d.py", "a/b/c/d/e.py"):
        make(tmp_path, name)
    assert list_tree(tmp_path) == (
        *(".env", ".github/workflows/ci.yml", "a/b/c/d.py", "b.py", "src/a.py"),
    )


def test_links_pipes_and_hostile_names_are_left_out(tmp_path):
    root = tmp_path / "root"
    make(root, "a.py")
    make(tmp_path, "outside/secret.py")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "package.json").symlink_to(tmp_path / "outside" / "secret.py")
    os.mkfifo(root / "Makefile")
    make(root, "a\x1b[2Jb.py")
    (root / os.fsdecode(b"\xff.py")).write_text("")
    files = list_tree(root)
    assert files == ("a.py",)
    assert read_telling(root, (*files, "package.json", "Makefile")) == {}


def test_a_huge_tree_is_looked_at_in_part(tmp_path):
    for number in range(3100):
        make(tmp_path, f"{number}.py")
    assert len(list_tree(tmp_path)) == 3000


def test_what_tells_is_read_and_what_is_too_large_is_not(tmp_path):
    make(tmp_path, "package.json", "{}")
    make(tmp_path, "pyproject.toml", "x" * (257 * 1024))
    make(tmp_path, "tests/test_a.py", "def test_a(): ...")
    make(tmp_path, "src/secret.py", "no")
    assert read_telling(tmp_path, list_tree(tmp_path)) == {
        "package.json": "{}",
        "tests/test_a.py": "def test_a(): ...",
    }


def test_a_folder_that_is_gone_holds_nothing(tmp_path):
    assert list_tree(tmp_path / "none") == ()
