"""The plan compiled of permissions and a tree: what is fenced, granted, told (S3.21-23, S3.79)."""

import pytest

from amiral.permissions.rules import Posture
from amiral.permissions.sandbox import Access, Mode, compile_plan, mode_for

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
