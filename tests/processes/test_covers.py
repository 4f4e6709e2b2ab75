"""What is under a cover is known by the mount it lies in; what is none is refused."""

import pytest

from amiral.processes.covers import KEPT, cover_of, shared_folders, uncovered


def test_shared_folders_are_those_that_are_there():
    assert "/tmp" in dict(shared_folders())


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_a_cover_travels_as_json(kind):
    assert cover_of(["/a/\udcff\n", kind]) == ("/a/\udcff\n", kind)


@pytest.mark.parametrize(
    "told",
    [None, [], ["/a"], ["a", 1], ["/a", 0], ["/a", 4], ["/a", "1"], [1, 1]],
    ids=str,
)
def test_what_is_no_cover_is_refused(told):
    with pytest.raises(ValueError, match="a cover is"):
        cover_of(told)


def test_what_is_not_covered_is_named_and_what_is_gone_needs_none(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("/proc/sys")
    gone = [(f"{tmp_path}/gone", KEPT), (f"{tmp_path}/file/below", KEPT)]
    assert uncovered(gone) == ""
    assert uncovered([*gone, (f"{tmp_path}/file", KEPT)]) == f"{tmp_path}/file"
    assert uncovered([(f"{tmp_path}/link", KEPT)]) == f"{tmp_path}/link"
    assert uncovered([]) == ""
