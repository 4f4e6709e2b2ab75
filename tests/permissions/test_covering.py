"""What gets a cover in folders that are granted whole, and what none can lie over (F2, F3, F5)."""

import pytest

from amiral.permissions.covering import Covered, covered
from amiral.permissions.folders import Kind
from amiral.permissions.globs import parse_glob
from amiral.permissions.reach import reach_of
from amiral.permissions.scope import Denial, Scope


def scope(allow="**", deny="", *, strict=False, change=True, inert=(), covers=True):
    """Globs are parted by spaces."""
    return Scope(
        tuple(map(parse_glob, allow.split())),
        tuple(Denial(parse_glob(glob), f"rule {glob}") for glob in deny.split()),
        is_strict=strict,
        is_change=change,
        inert=frozenset(inert),
        has_covers=covers,
    )


def found(scope, tree):
    """Give what is granted and what is covered; folders end in a slash, the root is `/`."""
    reach = reach_of(scope, tree)
    granted = ["/".join((*path, "")) or "/" for path in reach.folders]
    granted += ["/".join(path) for path in reach.files]
    return sorted(granted), sorted(map(shown, covered(scope, tree, reach)))


def shown(one: Covered):
    return "/".join(one.path) + ("/" if one.is_folder else "")


def test_without_covers_folders_are_split_as_ever(tree_of):
    tree = tree_of("a", ".env", "src/b")
    assert found(scope(deny=".env", covers=False), tree) == (["a", "src/"], [])


def test_f5_a_deny_inside_an_allow_leaves_its_folder_whole(tree_of):
    tree = tree_of("a", ".env", "src/.env", "src/b", "docs/d")
    assert found(scope(deny="**/.env"), tree) == (["/"], [".env", "src/.env"])


def test_f5_a_folder_that_is_denied_is_covered_as_one(tree_of):
    tree = tree_of("a", "src/b", "src/deep/c")
    assert found(scope(deny="src/**"), tree) == (["/"], ["src/"])
    assert found(scope(deny="src"), tree) == (["/"], ["src/"])


def test_f6_protected_names_are_covered_but_for_what_is_inert(tree_of):
    tree = tree_of("a", ".git/config", "src/.envrc", "src/.vscode/x")
    assert found(scope(), tree) == (["/"], [".git/", "src/.envrc", "src/.vscode/"])
    assert found(scope(inert=[".git"]), tree) == (["/"], ["src/.envrc", "src/.vscode/"])
    assert found(scope(change=False), tree) == (["/"], [])


def test_only_what_is_granted_whole_needs_covers(tree_of):
    tree = tree_of("a", ".env", "src/.env", "src/b", "docs/.env")
    assert found(scope("src/**", "**/.env"), tree) == (["src/"], ["src/.env"])
    assert found(scope("src/*", "**/.env"), tree) == (["src/b"], [])


def test_f5_strict_keeps_out_what_does_not_exist_yet_as_without_covers(tree_of):
    tree = tree_of("a", ".env", "src/b", ".git/config")
    assert found(scope(deny=".env", strict=True), tree) == (["a", "src/"], [])
    assert found(scope(strict=True), tree) == (["/"], [".git/"])


@pytest.mark.parametrize("kind", [Kind.LINK, Kind.OTHER])
def test_f2_no_cover_lies_over_a_link_or_a_pipe_so_its_folder_is_split(tree_of, kind):
    tree = tree_of("a", "src/b", "docs/.env", kinds={".env": kind, ".envrc": kind})
    assert found(scope(deny="**/.env"), tree) == (["a", "docs/", "src/"], ["docs/.env"])
    assert found(scope(), tree) == (["a", "docs/", "src/"], [])


def test_f3_every_name_of_a_file_that_must_not_be_touched_is_covered(tree_of):
    tree = tree_of("a", kinds={"sec/x": ("one", 2), "src/y": ("one", 2), "src/z": ("two", 2)})
    assert found(scope(deny="sec"), tree) == (["/"], ["sec/", "src/y"])


def test_what_cannot_be_read_whole_is_granted_to_nobody(tree_of):
    tree = tree_of("a", "src/b", unread=["src/deep"])
    assert found(scope(deny="a"), tree) == (["src/b"], [])


def test_a_protected_folder_with_a_workspace_in_it_is_split_as_without_covers(tree_of):
    tree = tree_of("a", "x/.amiral/config/c", "x/.amiral/workspace/w", "x/.amiral/workspace/.env")
    told = found(scope(deny="**/.env"), tree)
    assert told == (["a", "x/.amiral/workspace/"], ["x/.amiral/workspace/.env"])
