"""The plan compiled of permissions and a tree: what is fenced, granted, told (S3.21-23, S3.79)."""

import pytest

from amiral.permissions.covering import MAX_COVERS
from amiral.permissions.folders import Kind
from amiral.permissions.rules import Posture
from amiral.permissions.sandbox import Access, Closed, Mode, compile_plan, mode_for

READ, LIST, WRITE, DELETE = Access.READ, Access.LIST, Access.WRITE, Access.DELETE
CHANGES = frozenset({WRITE, DELETE})


def plan_of(permissions, tree, *, mode=Mode.SNAPSHOT, asks_first=False, inert=frozenset()):
    plan = compile_plan(permissions, tree, mode=mode, asks_first=asks_first, inert=inert)
    assert plan is not None
    return plan


def granted(plan):
    """What is granted, by path below the root."""
    return {one.path.removeprefix("/project").lstrip("/"): set(one.access) for one in plan.grants}


def test_where_nothing_is_configured_there_is_no_plan(tree_of):
    assert compile_plan(None, tree_of("a"), mode=Mode.STRICT, asks_first=False) is None


def test_a_policy_that_allows_all_still_fences_changes_outside(tree_of, permissions):
    plan = plan_of(permissions("allow"), tree_of("a"))
    assert (plan.fenced, plan.posture) == (CHANGES, Posture.ALLOW)
    assert [(one.path, one.access) for one in plan.grants] == [("/project", CHANGES)]


def test_a_denying_default_grants_what_is_allowed_and_no_more(tree_of, permissions):
    policy = permissions("deny", "allow write src/**", "allow read **")
    plan = plan_of(policy, tree_of("a", "src/b"), mode=Mode.STRICT)
    assert plan.fenced == {READ, WRITE, DELETE}
    assert granted(plan) == {"": {LIST, READ}, "src": {WRITE, DELETE}}


@pytest.mark.parametrize(
    ("policy", "asks_first", "is_fenced"),
    [
        (("allow",), False, False),
        (("allow", "deny write **"), False, False),
        (("allow", "allow read src/**"), False, False),
        (("allow", "deny read **/.env"), False, True),
        (("deny",), False, True),
        (("deny", "allow read **"), False, True),
        (("ask",), True, False),
        (("ask",), False, True),
        (("allow", "ask read docs/**"), True, False),
        (("allow", "ask read docs/**"), False, True),
    ],
)
def test_s3_79_reading_is_fenced_only_where_something_may_not_be_read(
    tree_of, permissions, policy, asks_first, is_fenced
):
    plan = plan_of(permissions(*policy), tree_of("a"), asks_first=asks_first)
    assert (READ in plan.fenced) is is_fenced
    assert plan.fenced >= CHANGES


def test_outside_the_project_no_rule_allows_reading_what_the_default_denies(tree_of, permissions):
    plan = plan_of(permissions("deny", "allow read **"), tree_of("a"))
    assert READ in plan.fenced
    assert granted(plan) == {"": {LIST, READ}}


def test_names_may_be_listed_where_files_may_not_be_read(tree_of, permissions):
    policy = permissions("allow", "deny read secret/**", "deny write **")
    plan = plan_of(policy, tree_of("a", "secret/key", "src/b"))
    assert granted(plan) == {"": {LIST}, "a": {READ}, "src": {READ}}


def test_an_ask_is_an_allow_while_someone_answers_and_else_a_deny(tree_of, permissions):
    policy = permissions("allow", "ask write src/**")
    tree = tree_of("a", "src/b", "docs/c")
    assert granted(plan_of(policy, tree, asks_first=True)) == {"": {WRITE, DELETE}}
    refused = plan_of(policy, tree, asks_first=False)
    assert granted(refused) == {"a": {WRITE}, "docs": {WRITE, DELETE}}
    assert any("nobody can be asked" in told for told in refused.diagnostics)


def test_an_ask_of_a_folder_is_one_of_all_below(tree_of, permissions):
    policy = permissions("deny", "ask write src")
    assert granted(plan_of(policy, tree_of("a", "src/b"), asks_first=True)) == {
        "": {LIST},
        "src": {WRITE, DELETE},
    }


def test_a_default_of_ask_is_an_allow_while_someone_answers_and_else_a_deny(tree_of, permissions):
    tree = tree_of("a", "src/b")
    asked = plan_of(permissions("ask"), tree, asks_first=True)
    assert granted(asked) == {"": {WRITE, DELETE}}
    assert granted(plan_of(permissions("ask"), tree)) == {"": {LIST}}


def test_f5_a_deny_wins_over_any_allow(tree_of, permissions):
    policy = permissions("allow", "allow write **", "allow write .env", "deny write .env")
    for mode in Mode:
        plan = plan_of(policy, tree_of("a", ".env", "src/b"), mode=mode)
        assert granted(plan) == {"a": {WRITE}, "src": {WRITE, DELETE}}


def test_f7_a_rule_that_cannot_be_read_never_widens(tree_of, permissions):
    tree = tree_of("a", "src/b")
    for line in ("deny write [a]", "ask write a**"):
        plan = plan_of(permissions("allow", line), tree)
        assert WRITE not in {access for one in plan.grants for access in one.access}
        assert any("permissions.json:1" in told for told in plan.diagnostics)
    plan = plan_of(permissions("deny", "allow write ../**"), tree)
    assert granted(plan) == {"": {LIST}}
    assert any("permissions.json:1" in told for told in plan.diagnostics)


def test_deleting_follows_writing_until_it_has_rules_of_its_own(tree_of, permissions):
    tree = tree_of("a", "src/b", "docs/c")
    follows = plan_of(permissions("allow", "deny write src/**"), tree)
    assert granted(follows)["docs"] == {WRITE, DELETE}
    assert "src" not in granted(follows)
    own = plan_of(permissions("allow", "deny delete **"), tree)
    assert granted(own) == {"": {WRITE}}
    assert any("cannot be saved by replacing it" in told for told in own.diagnostics)


def test_deleting_is_never_granted_of_a_single_file(tree_of, permissions):
    plan = plan_of(permissions("deny", "allow delete a", "allow read **"), tree_of("a"))
    assert granted(plan) == {"": {LIST, READ}}


def test_what_an_allow_of_names_cannot_give_is_told(tree_of, permissions):
    tree = tree_of("src/a.py")
    policy = permissions("deny", "allow write src/*.py", "allow write docs/**", "deny write x")
    plan = plan_of(policy, tree)
    (told,) = [told for told in plan.diagnostics if "means no whole folder" in told]
    assert told.startswith("permissions.json:1: allow write src/*.py")
    floor = permissions("deny", "allow write src/*.py", "deny write **")
    assert not any("means no whole folder" in told for told in plan_of(floor, tree).diagnostics)


def test_a_worktree_is_granted_with_its_inert_copies(tree_of, permissions):
    tree = tree_of(".git", ".amiral/config/permissions.json", "src/b")
    plan = plan_of(permissions("allow"), tree, inert=frozenset({".git", ".amiral"}))
    assert granted(plan) == {"": {WRITE, DELETE}}
    plan = plan_of(permissions("allow"), tree)
    assert granted(plan) == {"src": {WRITE, DELETE}}


def test_folders_that_take_no_new_file_are_told_by_what_is_in_the_way(tree_of, permissions):
    policy = permissions("allow", "deny write **/.env", "deny read **/key")
    tree = tree_of("a/.env", "b/c/.env", "d/.mcp.json", "e/f")
    assert plan_of(policy, tree).closed == (
        Closed(((), ("a",), ("b",), ("b", "c")), "permissions.json:1: deny write **/.env", ()),
        Closed((("d",),), ".mcp.json is protected by name", ((".mcp.json",),)),
    )
    assert plan_of(permissions("allow"), tree_of("a")).closed == ()


def test_files_with_names_outside_are_told_where_they_are_granted(tree_of, permissions):
    tree = tree_of(kinds={"a": ("a", 2)})
    plan = plan_of(permissions("allow"), tree)
    assert any("names outside the project" in told for told in plan.diagnostics)
    assert granted(plan) == {"": {WRITE, DELETE}}
    assert granted(plan_of(permissions("allow"), tree, mode=Mode.STRICT)) == {}


@pytest.mark.parametrize(
    ("setting", "posture", "mode"),
    [
        ("auto", Posture.DENY, Mode.STRICT),
        ("auto", Posture.ASK, Mode.SNAPSHOT),
        ("auto", Posture.ALLOW, Mode.SNAPSHOT),
        ("strict", Posture.ALLOW, Mode.STRICT),
        ("snapshot", Posture.DENY, Mode.SNAPSHOT),
    ],
)
def test_the_mode_is_strict_where_all_is_denied_unless_it_is_set(setting, posture, mode):
    assert mode_for(setting, posture) is mode


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="loose"):
        mode_for("loose", Posture.DENY)


def covers_of(plan):
    """What is covered, by path below the root: kept or hidden, a folder or a file."""
    words = {False: "kept", True: "hidden"}
    return {
        one.path.removeprefix("/project/"): (words[one.is_hidden], one.is_folder)
        for one in plan.covers
    }


def boxed(permissions, tree, mode=Mode.SNAPSHOT):
    plan = compile_plan(permissions, tree, mode=mode, asks_first=False, has_covers=True)
    assert plan is not None
    return plan


def test_f5_with_covers_a_deny_costs_its_folder_nothing(tree_of, permissions):
    policy, tree = permissions("allow", "deny write **/.env"), tree_of("a", ".env", "src/b")
    assert plan_of(policy, tree).covers == ()
    plan = boxed(policy, tree)
    assert granted(plan) == {"": {WRITE, DELETE}}
    assert covers_of(plan) == {".env": ("kept", False)}
    assert list(map(str, plan.covers)) == ["  /project/.env  kept"]
    assert plan.closed == ()


def test_f5_what_must_not_be_read_is_hidden_with_all_in_it(tree_of, permissions):
    policy = permissions("allow", "deny read sec", "deny write **/x", "deny read .git/key")
    plan = boxed(policy, tree_of("a", "sec/x", "x", ".git/key", ".git/config"))
    assert granted(plan) == {"": {READ, LIST, WRITE, DELETE}}
    assert covers_of(plan) == {
        "sec": ("hidden", True),
        ".git/key": ("hidden", False),
        ".git": ("kept", True),
        "x": ("kept", False),
    }
    assert str(plan.covers[0]).split() == ["/project/.git/key", "hidden"]


def test_what_is_hidden_is_granted_for_nothing_else(tree_of, permissions):
    """The link splits the folder for changes, so its files are granted one by one."""
    policy = permissions("allow", "deny read a", "deny read sec")
    plan = boxed(policy, tree_of("a", "b", "sec/c", kinds={".vscode": Kind.LINK}))
    assert granted(plan) == {"": {READ, LIST}, "b": {WRITE}}


def test_a_deny_of_deleting_alone_is_held_without_covers(tree_of, permissions):
    policy = permissions("allow", "deny delete **/a")
    plan = boxed(policy, tree_of("a", "src/b", ".git/config"))
    assert (granted(plan), covers_of(plan)) == (
        {"src": {WRITE, DELETE}, "a": {WRITE}},
        {},
    )


def test_strict_a_deny_still_means_what_is_not_there(tree_of, permissions):
    policy = permissions("allow", "deny write **/.env")
    plan = boxed(policy, tree_of("a", "src/b"), mode=Mode.STRICT)
    assert (granted(plan), covers_of(plan)) == ({"a": {WRITE}, "src/b": {WRITE}}, {})


def test_what_is_more_than_can_be_covered_is_held_without_covers_and_told(tree_of, permissions):
    policy = permissions("allow", "deny write **/*.x")
    paths = [f"{number}.x" for number in range(MAX_COVERS + 1)]
    plan = boxed(policy, tree_of("a", "src/b", *paths))
    assert (granted(plan), plan.covers) == ({"a": {WRITE}, "src": {WRITE, DELETE}}, ())
    assert "nothing is covered" in plan.diagnostics[0]
    plan = boxed(policy, tree_of("a", "src/b", *paths[1:]))
    assert (granted(plan), len(plan.covers)) == ({"": {WRITE, DELETE}}, MAX_COVERS)
