"""A project's table comes into amiral.toml and goes again; every other byte stays."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Invalid
from amiral.projects.project import why_not_name
from amiral.projects.settings_table import has_table, table_block, without_table

FILE = "amiral.toml"
NAMES = st.text(min_size=1, max_size=12).filter(lambda name: not why_not_name(name))
SHOP = "[projects.shop]\ntest = 'y'\n[projects.shop.members]"
VALUES = {"path": "/x/\"y'\\z", "members": {"telegram:1": "viewer"}}


@pytest.mark.parametrize("before", ["", "[hub]\nport = 1\n", "[hub]\nport = 1", "# é\r\n\n"])
def test_the_table_is_read_back_and_taken_away_again(before):
    block = table_block(before, "my shop", VALUES)
    assert tomllib.loads(before + block)["projects"] == {"my shop": VALUES}
    assert has_table(before + block, "my shop", FILE)
    cut = without_table(before + block, "my shop", FILE)
    assert cut.text.rstrip("\n") == before.rstrip("\n")
    assert cut.is_whole


@given(NAMES, NAMES)
def test_whatever_the_names_only_the_one_meant_goes(name, other):
    text = "# top\n" + table_block("x", other, {"test": "a"})
    text += table_block(text, name, VALUES) if name != other else ""
    cut = without_table(text, name, FILE)
    left = tomllib.loads(cut.text).get("projects", {})
    assert cut.is_whole
    assert left == ({other: {"test": "a"}} if name != other else {})
    assert cut.text.startswith("# top\n")


@pytest.mark.parametrize(
    ("text", "left", "taken"),
    [
        ("a = 1\n", "a = 1\n", ""),
        (
            "[projects.shop]\n# why\ntest = 'x'\n\n# of the hub\n[hub]\nport = 1\n",
            "\n# of the hub\n[hub]\nport = 1\n",
            "[projects.shop]\n# why\ntest = 'x'",
        ),
        (
            f"[projects.a]\ntest = 'x'\n{SHOP}\n[projects.b]\ntest = 'z'\n",
            "[projects.a]\ntest = 'x'\n[projects.b]\ntest = 'z'\n",
            SHOP,
        ),
        (
            "[projects]\nshop = {test = 'x'}\nb = {}\n",
            "[projects]\nb = {}\n",
            "shop = {test = 'x'}",
        ),
        (
            "projects.shop.test = '''\na\n'''\nx = 1\n",
            "x = 1\n",
            "projects.shop.test = '''\na\n'''",
        ),
    ],
)
def test_every_way_to_write_it_is_cut_out(text, left, taken):
    cut = without_table(text, "shop", FILE)
    assert (cut.text, cut.taken, cut.is_whole) == (left, taken, True)


def test_what_cannot_be_cut_stays_and_is_told():
    text = "projects = {shop = {test = 'x'}}\n"
    cut = without_table(text, "shop", FILE)
    # One statement holds the project alone, so it goes; of two projects it would be both.
    assert cut.is_whole
    for both in ("{b = {}, shop = {test = 'x'}}", "{shop = {test = 'x'}, b = {test = 'y'}}"):
        cut = without_table(f"projects = {both}\n", "shop", FILE)
        assert (cut.text, cut.taken, cut.is_whole) == (f"projects = {both}\n", "", False)


def test_a_file_that_is_no_toml_is_told():
    with pytest.raises(Invalid, match=r"amiral\.toml:1"):
        has_table("= 1", "shop", FILE)


def test_projects_may_be_anything_before_it_is_checked():
    assert not has_table("projects = 1\n", "shop", FILE)
    assert without_table("projects = 1\n", "shop", FILE).text == "projects = 1\n"
