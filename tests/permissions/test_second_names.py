"""A file with several names is granted under none unless it may be under all (F3)."""

from amiral.permissions.globs import parse_glob
from amiral.permissions.scope import Denial, Scope
from amiral.permissions.second_names import links_of, names_outside


def scope(deny="", *, strict=False, change=True):
    denials = tuple(Denial(parse_glob(glob), glob) for glob in deny.split())
    return Scope((parse_glob("**"),), denials, strict, change, frozenset())


def told(scope, tree):
    """What is wrong with each name, as known at the root."""
    return {
        "/".join(path): obstacle and obstacle.why
        for path, obstacle in links_of(scope, tree).get((), ())
    }


def test_files_with_one_name_need_no_look(tree_of):
    assert links_of(scope("a"), tree_of("a", "b/c")) == {}


def test_a_denied_name_is_held_against_every_other(tree_of):
    tree = tree_of("x", kinds={"a/key": ("key", 2), "b/copy": ("key", 2)})
    assert told(scope(), tree) == {}
    why = "b/copy is the same file as a/key"
    assert told(scope("a"), tree) == {"a/key": why, "b/copy": why}
    assert set(links_of(scope("a"), tree)) == {(), ("a",), ("b",)}


def test_two_denied_names_in_one_folder_are_one_file_too(tree_of):
    tree = tree_of(kinds={"a/x": ("key", 2), "a/y": ("key", 2)})
    assert set(told(scope("a"), tree).values()) == {"a/x is the same file as a/x"}


def test_a_name_read_before_the_second_was_made_is_told_with_nothing_wrong(tree_of):
    tree = tree_of(kinds={"a/old": ("key", 1), "b/new": ("key", 2)})
    assert told(scope(), tree) == {"a/old": None}
    assert set(told(scope("b"), tree)) == {"a/old", "b/new"}


def test_a_protected_name_is_held_against_others_where_files_are_changed(tree_of):
    tree = tree_of(kinds={".git/config": ("c", 2), "copy": ("c", 2)})
    assert told(scope(), tree)["copy"] == "copy is the same file as .git/config"
    assert told(scope(change=False), tree) == {}


def test_names_outside_are_held_against_a_file_where_nothing_may_slip(tree_of):
    tree = tree_of(kinds={"a": ("key", 3), "b": ("key", 3), "c": ("other", 2), "d": ("other", 2)})
    assert names_outside(tree) == [("a",)]
    assert names_outside(tree_of("a")) == []
    why = "a has names outside the project"
    assert told(scope(strict=True), tree) == {"a": why, "b": why}
    assert told(scope(strict=True, change=False), tree) == {}
    assert told(scope(), tree) == {}


def test_many_scopes_of_one_tree_are_judged_alike(tree_of):
    tree = tree_of(kinds={"a/key": ("key", 2), "b/copy": ("key", 2)})
    scopes = [scope(f"x{number} a") for number in range(40)]
    assert all(len(told(one, tree)) == 2 for one in scopes + scopes)
