"""A project is read without following links, and again only where it changed."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from amiral.base.clock import SystemClock
from amiral.base.errors import NotFound
from amiral.permissions.folders import Kind
from amiral.permissions.sandbox import Access, Mode, compile_plan
from amiral.permissions.tree import MAX_DEPTH, read_tree, refresh
from amiral.testbench.fake_clock import FakeClock

PATIENCE_S = 10.0
HOUR_MS = 3_600_000
NOBODY = 65534


def long_after():
    """To this clock every folder was changed long ago."""
    return FakeClock(SystemClock().now_ms() + HOUR_MS)


def long_before():
    """To this clock every folder may change again within the tick of its ctime."""
    return FakeClock(0)


@pytest.fixture
def root(tmp_path):
    root = tmp_path.resolve() / "project"
    for path in ("a.py", "src/b.py", "src/deep/c.py", "docs/d.md"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    return root


def change(folder, act):
    """Do it, and wait until the kernel's clock has ticked so that the folder shows it."""
    before, deadline = folder.stat().st_ctime_ns, time.monotonic() + PATIENCE_S
    act()
    while folder.stat().st_ctime_ns == before:
        assert time.monotonic() < deadline, f"{folder} does not show that it changed"
        (folder / "tick").touch()
        (folder / "tick").unlink()


def names(folder):
    return [entry.name for entry in folder.entries]


def below(tree, *path):
    folder = tree.top
    for name in path:
        (folder,) = [one for one in folder.folders if one.path[-1] == name]
    return folder


def paths(tree):
    return sorted(
        "/".join((*folder.path, name)) for folder in tree.top.walk() for name in names(folder)
    )


def test_every_name_is_read_with_its_kind_and_identity(root):
    (root / "link").symlink_to(root / "src")
    os.mkfifo(root / "pipe")
    (root / "src/same.py").hardlink_to(root / "a.py")
    tree = read_tree(root)
    assert tree.root == str(root)
    assert paths(tree) == [
        *("a.py", "docs/d.md", "link", "pipe", "src/b.py", "src/deep/c.py", "src/same.py")
    ]
    kinds = {entry.name: entry.kind for entry in tree.top.entries}
    assert kinds == {"a.py": Kind.FILE, "link": Kind.LINK, "pipe": Kind.OTHER}
    told = (root / "a.py").stat()
    for entry in (tree.top.entries[0], below(tree, "src").entries[1]):
        assert (entry.file_id, entry.names) == ((told.st_dev, told.st_ino), 2)


def test_names_are_read_whatever_bytes_they_have(root):
    odd = os.path.join(os.fsencode(root), b"\xff\n.py")
    os.close(os.open(odd, os.O_CREAT))
    assert os.fsdecode(b"\xff\n.py") in names(read_tree(root).top)


def test_a_project_reached_by_a_link_has_its_canonical_root(root, tmp_path):
    (tmp_path / "alias").symlink_to(root)
    assert read_tree(tmp_path / "alias").root == str(root)


def test_what_is_no_folder_cannot_be_read(root):
    for missing in (root / "nothing", root / "a.py"):
        with pytest.raises(NotFound):
            read_tree(missing)


def test_a_root_that_went_is_not_found(root):
    tree = read_tree(root)
    root.rename(root.with_name("elsewhere"))
    with pytest.raises(NotFound):
        refresh(tree)


def test_an_unchanged_tree_is_the_same_object(root):
    tree = read_tree(root, long_after())
    assert refresh(tree, long_after()) is tree


def test_only_a_changed_folder_and_those_around_it_are_new(root):
    tree = read_tree(root, long_after())
    change(root / "src", (root / "src/new.py").touch)
    again = refresh(tree, long_after())
    assert paths(again) == sorted([*paths(tree), "src/new.py"])
    assert below(again, "src") is not below(tree, "src")
    assert below(again, "docs") is below(tree, "docs")
    assert below(again, "src", "deep") is below(tree, "src", "deep")


def test_a_folder_that_changed_just_now_is_read_again_though_it_looks_the_same(root):
    tree = read_tree(root, long_before())
    assert not tree.top.is_settled
    again = refresh(tree, long_after())
    assert again is not tree
    assert again.top.is_settled
    assert paths(again) == paths(tree)


def test_setting_the_time_of_a_folder_back_hides_nothing(root):
    told = (root / "src").stat()
    tree = read_tree(root, long_after())
    change(root / "src", (root / "src/new.py").touch)
    os.utime(root / "src", ns=(told.st_atime_ns, told.st_mtime_ns))
    assert "src/new.py" in paths(refresh(tree, long_after()))


def test_what_went_is_gone_from_the_next_reading(root):
    tree = read_tree(root, long_after())
    (root / "src/deep/c.py").unlink()
    change(root / "src", (root / "src/deep").rmdir)
    assert paths(refresh(tree, long_after())) == ["a.py", "docs/d.md", "src/b.py"]


def test_a_folder_that_became_a_link_is_one(root):
    tree = read_tree(root, long_after())
    (root / "docs").rename(root / "src/docs")
    change(root, lambda: (root / "docs").symlink_to(root / "src"))
    again = refresh(tree, long_after())
    assert [entry.kind for entry in again.top.entries if entry.name == "docs"] == [Kind.LINK]
    assert paths(again) == paths(read_tree(root))


def test_another_folder_of_the_same_name_is_read_anew(root):
    tree = read_tree(root, long_after())
    (root / "docs").rename(root.with_name("old"))
    change(root, (root / "docs").mkdir)
    assert "docs/d.md" not in paths(refresh(tree, long_after()))


def test_a_folder_too_deep_to_be_read_is_not_whole(root):
    """An agent that nests folders without end gets less, and nobody else any trouble."""
    before = os.open(root, os.O_RDONLY)
    for _ in range(MAX_DEPTH + 50):
        os.mkdir("n", dir_fd=before)
        inner = os.open("n", os.O_RDONLY, dir_fd=before)
        os.close(before)
        before = inner
    os.close(before)
    deepest = max(read_tree(root).top.walk(), key=lambda folder: len(folder.path))
    assert (len(deepest.path), deepest.is_whole, deepest.folders) == (MAX_DEPTH, False, ())


def test_a_folder_whose_path_is_too_long_is_not_whole(root):
    before = os.open(root, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("n" * 255, dir_fd=before)
        inner = os.open("n" * 255, os.O_RDONLY, dir_fd=before)
        os.close(before)
        before = inner
    os.close(before)
    deepest = max(read_tree(root).top.walk(), key=lambda folder: len(folder.path))
    assert not deepest.is_whole


@pytest.mark.parametrize(
    ("mode", "is_ours", "is_whole"),
    [(0o000, True, False), (0o700, False, True), (0o711, False, False), (0o755, False, True)],
)
def test_a_folder_nobody_of_us_can_open_is_nothing_and_one_we_could_is_not_whole(
    mode, is_ours, is_whole
):
    if os.geteuid() != 0:
        pytest.skip("folders of somebody else need root: run as root")
    root = Path(tempfile.mkdtemp(prefix="amiral-tree-")).resolve()
    closed = root / "closed"
    closed.mkdir()
    os.chown(closed, NOBODY if is_ours else 0, -1)
    root.chmod(0o755)
    closed.chmod(mode)
    os.seteuid(NOBODY)
    try:
        found = below(read_tree(root), "closed")
    finally:
        os.seteuid(0)
        shutil.rmtree(root)
    assert (found.is_whole, found.entries) == (is_whole, ())


def grants(tree, permissions):
    plan = compile_plan(permissions, tree, mode=Mode.SNAPSHOT, asks_first=False)
    assert plan is not None
    written = [one.path for one in plan.grants if Access.WRITE in one.access]
    return [os.path.relpath(path, tree.root) for path in written]


def test_a_plan_compiled_after_a_change_is_that_of_a_fresh_reading(root, permissions):
    policy = permissions("allow", "deny write **/.env")
    tree = read_tree(root, long_after())
    assert grants(tree, policy) == ["."]
    change(root / "src", (root / "src/.env").touch)
    again = refresh(tree, long_after())
    assert grants(again, policy) == grants(read_tree(root), policy)
    assert grants(again, policy) == ["a.py", "docs", "src/b.py", "src/deep"]


def test_f3_a_second_name_made_in_another_folder_is_noticed(root, permissions):
    """The folder of the denied file did not change, and was read when the file had one name."""
    policy = permissions("allow", "deny write docs/**")
    tree = read_tree(root, long_after())
    change(root / "src", lambda: (root / "src/copy.md").hardlink_to(root / "docs/d.md"))
    again = refresh(tree, long_after())
    assert below(again, "docs") is below(tree, "docs")
    assert grants(again, policy) == ["a.py", "src/b.py", "src/deep"]
