"""Behaviour of projects, their names and ids (R57)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.projects.project import free_name, project_at, why_not_name, why_not_root

LABELS = st.text(
    st.characters(exclude_characters="/\0"), min_size=1, max_size=255
) | st.sampled_from(
    ["a b", "a'b\"$(touch P)", "-rf", "a\nb", "..", "😀" * 63, "\u202egnp", "e\u0301", " ", "~"]
)


@given(LABELS, st.text())
def test_any_label_gives_a_safe_id_and_keeps_its_name_r57(label, path):
    project = project_at(path, label)
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", project.id)
    assert (project.name, project.path) == (label, path)


def test_the_id_is_of_the_path_and_the_label():
    assert project_at("/code/shop", "shop").id == project_at("/code/shop", "shop").id
    assert project_at("/code/shop", "shop").id != project_at("/old/shop", "shop").id
    assert project_at("/code/shop", "shop").id.startswith("shop-")


@given(LABELS, st.sets(st.text(), max_size=4))
def test_a_name_is_made_of_any_folder_name_and_is_free_r57(label, taken):
    name = free_name(label, taken)
    assert why_not_name(name) == ""
    assert name.casefold() not in {other.casefold() for other in taken}
    assert free_name(label, {*taken, name}) != name


@pytest.mark.parametrize(
    ("label", "taken", "name"),
    [
        ("shop", [], "shop"),
        ("Shop", ["shop"], "Shop 2"),
        ("shop", ["shop", "shop 2"], "shop 3"),
        ("-rf", [], "rf"),
        (".dotfiles", [], "dotfiles"),
        ("été 2026", [], "été 2026"),
        ("---", [], "project"),
        ("a\nb", [], "a b"),
    ],
)
def test_the_folders_own_name_is_kept_where_it_can_be(label, taken, name):
    assert free_name(label, taken) == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("shop", ""),
        ("my shop", ""),
        ("été", ""),
        ("", "1 to 60 characters"),
        ("x" * 61, "1 to 60 characters"),
        ("a\nb", "one line"),
        (" a", "one line"),
        ("a\u202eb", "one line"),
        ("-rf", "does not begin with a dash"),
        ("../x", "does not begin with a dash"),
        ("~root", "does not begin with a dash"),
        ("a/b", "no slash"),
    ],
)
def test_a_name_that_cannot_be_typed_or_shown_is_refused(name, why):
    assert why in why_not_name(name)
    assert bool(why_not_name(name)) == bool(why)


@pytest.mark.parametrize(
    ("root", "why"),
    [
        ("/home/me/code/shop", ""),
        ("/home/me2", ""),
        ("/srv", ""),
        ("/home/me", "home folder of the user"),
        ("/home", "home folder of the user"),
        ("/", "home folder of the user"),
        ("/data/amiral", "amiral's own home"),
        ("/data", "amiral's own home"),
        ("/data/amiral/projects/x", "amiral's own home"),
    ],
)
def test_a_home_can_never_be_or_lie_in_a_project(root, why):
    found = why_not_root(root, "/home/me", "/data/amiral")
    assert why in found
    assert bool(found) == bool(why)
