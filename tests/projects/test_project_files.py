"""Behaviour of reading a stranger's files: no links, plain files of a bounded size only."""

import os
import socket

import pytest

from amiral.projects.project_files import Found, Unusable, list_files, read_file


@pytest.fixture
def root(tmp_path):
    (tmp_path / "shop" / ".amiral" / "config").mkdir(parents=True)
    return tmp_path / "shop"


def put(root, file, data=b"x"):
    path = root / ".amiral" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_plain_file_is_read_once_with_its_hash(root):
    put(root, "config/workers_registry.json", b"\xff{}")
    found = read_file(root, "config/workers_registry.json")
    assert isinstance(found, Found)
    assert (found.text, len(found.sha256)) == ("\ufffd{}", 64)


def test_nothing_there_is_none(root):
    assert read_file(root, "config/permissions.json") is None
    assert read_file(root, "agents/none/x.md") is None
    assert read_file(root / "gone", "x") is None


@pytest.mark.parametrize(
    "file", ["", "../x", "config/../../x", "./x", "/etc/passwd", "config//x", "."]
)
def test_a_path_that_leaves_the_folder_names_nothing(root, file):
    (root / "x").write_text("outside")
    put(root, "x")
    assert read_file(root, file) is None


def test_links_are_not_followed(root, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (root / ".amiral" / "config" / "permissions.json").symlink_to(secret)
    (root / ".amiral" / "agents").symlink_to(tmp_path)
    for file in ("config/permissions.json", "agents/secret"):
        found = read_file(root, file)
        assert isinstance(found, Unusable)
        assert "symbolic link" in found.reason
    (root / "real").mkdir()
    os.rename(root / ".amiral", root / "real" / "amiral")
    (root / ".amiral").symlink_to(root / "real" / "amiral")
    assert isinstance(read_file(root, "config/x"), Unusable)


def test_what_is_no_plain_file_is_not_opened_for_long(root, monkeypatch):
    monkeypatch.chdir(root)
    os.mkfifo(root / ".amiral" / "fifo")
    (root / ".amiral" / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as link:
        link.bind(".amiral/socket")
    for file in ("fifo", "folder", "socket"):
        assert read_file(root, file) == Unusable(file, "it is no plain file")
    put(root, "plain")
    assert isinstance(read_file(root, "plain/inner"), Unusable)
    assert isinstance(read_file(root, "a\0b"), Unusable)


def test_a_file_over_the_cap_is_not_used(root):
    put(root, "big", b"x" * (256 * 1024))
    assert isinstance(read_file(root, "big"), Found)
    put(root, "big", b"x" * (256 * 1024 + 1))
    assert read_file(root, "big") == Unusable("big", "it is larger than 256 KiB")


def test_the_files_that_need_trust_are_listed(root):
    for file in (
        "config/workers_registry.json",
        "config/amiral.toml",
        "skills/ui.md",
        "skills/build/steps/step-01-read.md",
        "agents/architect.md",
        "agents/notes.txt",
        "profiles/rust.md",
        "profiles/bad\nname.md",
        "library/x.md",
        "state/y.md",
    ):
        put(root, file)
    (root / ".amiral" / "config" / "permissions.json").symlink_to("/nowhere")
    assert list_files(root) == (
        "config/workers_registry.json",
        "config/permissions.json",
        "agents/architect.md",
        "profiles/rust.md",
        "skills/build/steps/step-01-read.md",
        "skills/ui.md",
    )
    assert list_files(root / "gone") == ()
