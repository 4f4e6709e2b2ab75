"""What a setup notes before it makes anything is read back, or told."""

import pytest

from amiral.base.errors import Broken
from amiral.projects.deed import Deed, Made, read_deed, write_deed

DEED = Deed("tea", "/code/tea", was_registered=False, files=(Made("a", "é"),), settings="[x]\n")


def test_a_deed_is_read_back_as_it_was_written(tmp_path):
    path = tmp_path / "in" / "deed.json"
    assert read_deed(path) is None
    write_deed(path, DEED)
    assert read_deed(path) == DEED


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1}'])
def test_one_that_cannot_be_used_is_told_and_stays(tmp_path, text):
    path = tmp_path / "deed.json"
    path.write_text(text)
    with pytest.raises(Broken, match=r"deed\.json cannot be used"):
        read_deed(path)
    assert path.read_text() == text


def test_a_folder_in_its_place_is_told(tmp_path):
    with pytest.raises(Broken, match="cannot read"):
        read_deed(tmp_path)


def test_only_a_registered_project_with_nothing_missing_has_nothing_to_make():
    assert Deed("tea", "/code/tea", was_registered=True).is_empty
    assert not Deed("tea", "/code/tea", was_registered=False).is_empty
    assert not DEED.is_empty


def test_what_two_setups_made_is_one_list():
    later = Deed("tea", "/code/tea", was_registered=True, files=(Made("b", ""),), trusted=("c",))
    both = DEED.added(later)
    assert both.files == (Made("a", "é"), Made("b", ""))
    assert (both.settings, both.trusted, both.was_registered) == ("[x]\n", ("c",), False)
