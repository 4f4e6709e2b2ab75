"""What is sent is a regular file or bytes, under a name that breaks out of nothing."""

import os

import pytest

from amiral.telegram.failures import Refused
from amiral.telegram.upload import Upload


def test_bytes_and_files_are_opened_with_their_size(tmp_path):
    path = tmp_path / "a.md"
    path.write_bytes(b"abcd")
    for content in (b"abcd", path):
        file, size = Upload("document", "a.md", content).open("sendDocument")
        with file:
            assert (file.read(), size) == (b"abcd", 4)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("réponse 1.md", "réponse 1.md"),
        ('a"; filename="b', "a_; filename=_b"),
        ("a\r\nX: y", "a__X: y"),
        ("../../x.sh", ".._.._x.sh"),
        ("a\\b\x00", "a_b_"),
    ],
)
def test_a_name_breaks_out_of_no_header_and_no_folder(name, shown):
    assert Upload("document", name, b"").shown == shown


def test_links_pipes_folders_and_what_is_not_there_are_refused_at_once(tmp_path):
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder", "none"):
        with pytest.raises(Refused) as refused:
            Upload("document", name, tmp_path / name).open("sendDocument")
        assert refused.value.message.startswith(f"sendDocument: {name} ")
