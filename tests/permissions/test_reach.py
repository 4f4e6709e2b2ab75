"""Which folders and files a capability reaches: as a whole, singly, or not at all (F2, F3, F5)."""

import pytest

from amiral.permissions.folders import Kind
from amiral.permissions.globs import parse_glob
from amiral.permissions.reach import reach_of
from amiral.permissions.scope import Denial, Scope, shown


def scope(allow="", deny="", *, strict=True, change=True, inert=()):
    """Globs are parted by spaces."""
    return Scope(
        tuple(map(parse_glob, allow.split())),
        tuple(Denial(parse_glob(glob), f"rule {glob}") for glob in deny.split()),
        is_strict=strict,
        is_change=change,
        inert=frozenset(inert),
    )


def reached(scope, tree):
    """Folders end in a slash, the root is `/`."""
    found = reach_of(scope, tree)
    folders = ["/".join((*path, "")) or "/" for path in found.folders]
    return sorted(folders + ["/".join(path) for path in found.files])


def reason(scope, tree):
    obstacle = reach_of(scope, tree).obstacle
    return obstacle.why if obstacle else ""


def test_what_is_allowed_whole_is_one_grant(tree_of):
    assert reached(scope("**"), tree_of("a", "src/b", "src/deep/c")) == ["/"]
    assert reached(scope("src/**"), tree_of("a", "src/b", "src/deep/c")) == ["src/"]


def test_what_no_rule_allows_is_not_reached(tree_of):
    assert reached(scope(), tree_of("a", "src/b")) == []
    assert reached(scope("docs/**"), tree_of("a", "src/b")) == []


def test_an_allow_of_names_reaches_the_files_that_are_there(tree_of):
    tree = tree_of("src/a.py", "src/b.txt", "src/deep/c.py", "a.py")
    assert reached(scope("src/*.py"), tree) == ["src/a.py"]
    assert reached(scope("**/*.py"), tree) == ["a.py", "src/a.py", "src/deep/c.py"]


@pytest.mark.parametrize("strict", [True, False])
def test_f5_a_deny_inside_an_allow_parts_the_folders_on_the_way(tree_of, strict):
    tree = tree_of("a", "src/.env", "src/b", "src/deep/c", "docs/d")
    found = reached(scope("**", "src/.env", strict=strict), tree)
    assert found == ["a", "docs/", "src/b", "src/deep/"]


def test_f5_strict_keeps_out_what_does_not_exist_and_snapshot_what_does(tree_of):
    tree = tree_of("a", "src/b", "docs/.env", "docs/d")
    strict = reached(scope("**", "**/.env"), tree)
    assert strict == ["a", "docs/d", "src/b"]
    snapshot = reached(scope("**", "**/.env", strict=False), tree)
    assert snapshot == ["a", "docs/d", "src/"]
    assert reached(scope("**", "**/.env", strict=False), tree_of("a", "src/b")) == ["/"]


def test_a_denied_folder_is_left_out_with_all_below(tree_of):
    tree = tree_of("secret/a", "secret/deep/b", "src/c")
    assert reached(scope("**", "SECRET", strict=False), tree) == ["src/"]
    assert reached(scope("**", "**", strict=False), tree) == []
    assert reason(scope("**", "secret"), tree) == "rule secret"


def test_f2_links_and_devices_are_never_granted_by_themselves(tree_of):
    tree = tree_of("src/a", kinds={"src/link": Kind.LINK, "src/pipe": Kind.OTHER})
    assert reached(scope("src/*"), tree) == ["src/a"]
    assert reached(scope("**", "src/link", strict=False), tree) == ["src/a"]


def test_f3_a_file_with_a_denied_name_is_reached_under_none(tree_of):
    names = {"secret/key": ("key", 2), "open/copy": ("key", 2)}
    tree = tree_of("free/b", "open/a", kinds=names)
    denied = scope("**", "secret", strict=False)
    assert reached(denied, tree) == ["free/", "open/a"]
    assert ("open",) in dict(reach_of(denied, tree).split)


def test_f3_reading_minds_denied_names_only(tree_of):
    tree = tree_of("b/z", kinds={"a/x": ("x", 2), "b/y": ("x", 2)})
    assert reached(scope("a/* b/*", change=False), tree) == ["a/x", "b/y", "b/z"]
    assert reached(scope("a/* b/*", change=True), tree) == ["b/z"]
    assert reached(scope("a/*", change=False), tree) == []


def test_f3_names_outside_count_where_nothing_may_slip(tree_of):
    tree = tree_of("a/x", "b/z", kinds={"a/y": ("y", 3), "b/y": ("y", 3)})
    assert reached(scope("**"), tree) == ["a/x", "b/z"]
    assert reason(scope("**"), tree) == "a/y has names outside the project"
    assert reached(scope("**", strict=False), tree) == ["/"]
    assert reached(scope("**", change=False), tree) == ["/"]


def test_f3_a_name_read_before_the_file_was_linked_elsewhere_counts(tree_of):
    tree = tree_of("b/z", kinds={"secret/key": ("key", 1), "b/copy": ("key", 2)})
    assert reached(scope("**", "secret", strict=False), tree) == ["b/z"]


def test_what_cannot_be_read_whole_is_not_granted_whole(tree_of):
    tree = tree_of("a", "src/b", unread=["src/closed"])
    assert reached(scope("**"), tree) == ["a", "src/b"]
    assert reason(scope("**"), tree) == "src/closed cannot be read whole"


def test_f6_protected_names_are_left_out_and_part_their_folder(tree_of):
    tree = tree_of("a", "src/b", ".git/config", ".claude/settings.json", ".claude/notes.md")
    assert reached(scope("**"), tree) == ["a", "src/"]
    assert reached(scope(".git/** .claude/settings.json"), tree) == []
    assert reached(scope("**", change=False), tree) == ["/"]
    assert reason(scope(".claude/**"), tree).endswith("is protected by name")


def test_f6_of_the_configuration_the_workspace_is_reached(tree_of):
    tree = tree_of(".amiral/config/permissions.json", ".amiral/workspace/plan.md", "src/b")
    assert reached(scope("**"), tree) == [".amiral/workspace/", "src/"]
    assert reached(scope("**", ".amiral/workspace", strict=False), tree) == ["src/"]
    assert reached(scope("src/**"), tree) == ["src/"]


def test_in_a_worktree_what_is_inert_may_lie_in_a_granted_folder(tree_of):
    tree = tree_of(".git", ".amiral/config/permissions.json", "src/b")
    assert reached(scope("**"), tree) == ["src/"]
    assert reached(scope("**", inert=[".git", ".amiral"]), tree) == ["/"]
    assert reached(scope("**", inert=[".git"]), tree) == [".git", "src/"]


def test_f6_a_second_name_of_what_is_protected_is_left_out(tree_of):
    tree = tree_of("a/x", kinds={".git/config": ("c", 2), "a/copy": ("c", 2)})
    assert reached(scope("**", strict=False), tree) == ["a/x"]


def test_folders_that_would_be_granted_but_for_an_obstacle_are_told(tree_of):
    found = reach_of(scope("src/**", "src/.env"), tree_of("src/a", "docs/b"))
    assert [(shown(path), obstacle.why) for path, obstacle in found.split] == [
        ("src", "rule src/.env")
    ]


def test_many_plans_of_one_tree_are_compiled_alike(tree_of):
    tree = tree_of("a", "src/b")
    globs = [f"src/{number}" for number in range(40)]
    found = [reached(scope("**", glob), tree) for glob in globs + globs]
    assert all(one == ["a", "src/b"] for one in found)
