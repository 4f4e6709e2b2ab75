"""Behaviour of the rules on paths: what holds for a worker, and what it may do (S3.6, F4, F7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.permissions.rules import (
    Capability,
    Decision,
    Permissions,
    Policy,
    Posture,
    Resolved,
    Rule,
    WorkerPolicy,
    decide_file,
    may_ask,
    path_of,
    resolve,
    rules_for,
    severest,
    worse,
)

ALLOW, ASK, DENY = Posture
READ, WRITE, DELETE, EXECUTE = Capability


def rule(capability, match, posture, source="permissions.json:3"):
    return Rule(capability, match, posture, source)


# The example of the reference.
EXAMPLE = Policy(
    ASK,
    (
        rule(READ, "**", ALLOW, "permissions.json:2"),
        rule(WRITE, "src/**", ALLOW, "permissions.json:3"),
        rule(WRITE, "**/.env", DENY, "permissions.json:4"),
        rule(EXECUTE, "git push*", DENY, "permissions.json:5"),
    ),
    {"consultant": WorkerPolicy(DENY, ())},
)


def permissions_of(*rules, default=ASK):
    return Permissions(default, rules)


def resolved(*given):
    permissions = resolve(*given).permissions
    assert permissions is not None
    return permissions


def posture(permissions, capability, path):
    return decide_file(permissions, capability, path_of("/shop", path)).posture


@pytest.mark.parametrize(
    ("capability", "path", "expected"),
    [
        (READ, "anything/at/all", ALLOW),
        (WRITE, "src/app.py", ALLOW),
        (WRITE, "/shop/src/app.py", ALLOW),
        (WRITE, "README.md", ASK),
        (WRITE, ".env", DENY),
        (WRITE, "src/.env", DENY),
        (WRITE, "src/../.env", DENY),
        (WRITE, "src/.ENV", DENY),
        (WRITE, "src/.env/below", DENY),
        (WRITE, "src/.env.", ALLOW),
        (WRITE, "src/.env\n", ALLOW),
        (DELETE, "src/app.py", ALLOW),
        (DELETE, "src/.env", DENY),
        (WRITE, "../shop-evil/src/app.py", ASK),
        (WRITE, "/shop-evil/src/app.py", ASK),
        (READ, "/etc/passwd", ASK),
        (READ, "src/../../outside", ASK),
    ],
)
def test_the_example_of_the_reference_decides_f4_f5(capability, path, expected):
    permissions = resolved(EXAMPLE, "developer", "all")
    assert posture(permissions, capability, path) is expected


def test_the_strictest_rule_that_matches_wins_wherever_it_stands():
    allow, ask, deny = (rule(WRITE, "a/**", one, f"f:{one}") for one in Posture)
    for rules in [(allow, ask, deny), (deny, ask, allow), (ask, deny, allow)]:
        assert decide_file(permissions_of(*rules), WRITE, ("a", "b")).rule == deny
    assert decide_file(permissions_of(allow, ask), WRITE, ("a", "b")).rule == ask
    assert decide_file(permissions_of(allow, ask), WRITE, ("b",)) == Decision(
        ASK, None, "no rule matches; the default is ask", advisory=False
    )


def test_a_decision_names_the_rule_that_made_it():
    permissions = resolved(EXAMPLE, "developer", "all")
    decision = decide_file(permissions, WRITE, ("src", ".env"))
    assert decision.rule == EXAMPLE.rules[2]
    assert decision.reason == "permissions.json:4: deny write **/.env"
    assert not decision.advisory


def test_nothing_configured_is_left_to_the_cli_s3_11():
    assert resolve(None, "developer", "all") == Resolved(None, False, ())
    assert decide_file(None, WRITE, None).posture is ALLOW


def test_delete_without_a_rule_follows_write_and_read_does_not():
    permissions = permissions_of(rule(WRITE, "**", ALLOW), rule(WRITE, "old/**", DENY))
    assert posture(permissions, DELETE, "a") is ALLOW
    assert posture(permissions, DELETE, "old/a") is DENY
    assert posture(permissions, READ, "old/a") is ASK
    assert rules_for(permissions, READ) == rules_for(permissions, EXECUTE) == ()


def test_delete_with_a_rule_of_its_own_does_not_follow_write():
    write = (rule(WRITE, "**", ALLOW), rule(WRITE, "old/**", DENY))
    permissions = permissions_of(*write, rule(DELETE, "old/**", ALLOW))
    assert posture(permissions, DELETE, "old/a") is ALLOW
    assert posture(permissions, DELETE, "a") is ASK


def test_a_deny_of_deleting_takes_away_and_gives_nothing():
    write = (rule(WRITE, "**", ALLOW), rule(WRITE, "old/**", DENY))
    permissions = permissions_of(*write, rule(DELETE, "src/**", DENY))
    assert posture(permissions, DELETE, "src/a") is DENY
    assert posture(permissions, DELETE, "old/a") is DENY
    assert posture(permissions, DELETE, "a") is ASK


@pytest.mark.parametrize(
    ("default", "rules", "expected"),
    [
        (ALLOW, [rule(WRITE, "**", ALLOW)], ALLOW),
        (ASK, [rule(WRITE, "**", ALLOW)], ASK),
        (DENY, [rule(WRITE, "**", ASK)], DENY),
        (ALLOW, [rule(WRITE, "**", DENY)], DENY),
        (ASK, [rule(WRITE, "**", ASK)], ASK),
        (ALLOW, [rule(WRITE, "src/**", DENY)], ALLOW),
        (ALLOW, [rule(WRITE, "[", DENY)], DENY),
    ],
)
def test_outside_the_project_nothing_is_better_than_the_default(default, rules, expected):
    permissions = permissions_of(*rules, default=default)
    assert decide_file(permissions, WRITE, None).posture is expected


def test_rules_of_a_worker_are_added_and_its_default_replaces():
    policy = Policy(ASK, EXAMPLE.rules, {"ui": WorkerPolicy(DENY, (rule(WRITE, "ui/**", ALLOW),))})
    found = resolve(policy, "ui", "all")
    assert found.permissions == Permissions(DENY, (*EXAMPLE.rules, rule(WRITE, "ui/**", ALLOW)))
    assert found.is_configured
    assert resolved(policy, "developer", "all") == Permissions(ASK, EXAMPLE.rules)


@pytest.mark.parametrize("name", ["front-end", "front_end", "Front-End"])
def test_a_worker_is_found_however_its_id_is_spelt(name):
    policy = Policy(ALLOW, (), {name: WorkerPolicy(DENY, ())})
    assert resolved(policy, "front_end", "all") == Permissions(DENY, ())


def test_what_the_registry_says_of_a_worker_comes_on_top():
    policy = Policy(ASK, (), {"ui": WorkerPolicy(DENY, (rule(READ, "a", ALLOW),))})
    own = WorkerPolicy(ALLOW, (rule(READ, "b", DENY),))
    found = resolved(policy, "ui", "all", own)
    assert found == Permissions(ALLOW, (rule(READ, "a", ALLOW), rule(READ, "b", DENY)))
    assert resolved(policy, "ui", "all", WorkerPolicy(None, ())).default is DENY


def test_a_worker_may_be_configured_where_the_project_is_not():
    own = WorkerPolicy(None, (rule(READ, "b", DENY),))
    assert resolve(None, "ui", "all", own) == Resolved(Permissions(ASK, own.rules), True, ())


def test_what_a_worker_has_no_tool_for_is_denied_whatever_the_policy_says():
    policy = Policy(ALLOW, (rule(WRITE, "**", ALLOW), rule(EXECUTE, "*", ALLOW)))
    reader = resolved(policy, "consultant", ("Read", "Grep"))
    assert posture(reader, WRITE, "a") is posture(reader, DELETE, "a") is DENY
    assert posture(reader, READ, "a") is ALLOW
    assert [str(one) for one in reader.rules[2:]] == [
        "tools of consultant: deny execute-bash *",
        "tools of consultant: deny write **",
        "tools of consultant: deny delete **",
    ]


@pytest.mark.parametrize(
    ("tools", "denied"),
    [
        ("all", []),
        (("Bash",), []),
        (("Bash(git *)", "Read"), []),
        (("Edit",), [EXECUTE]),
        (("NotebookEdit",), [EXECUTE]),
        (("Read", "BashOutput"), [EXECUTE, WRITE, DELETE]),
        ((), [EXECUTE, WRITE, DELETE]),
    ],
)
def test_tools_are_a_floor_also_without_a_policy(tools, denied):
    found = resolve(None, "ui", tools)
    assert not found.is_configured
    if not denied:
        assert found.permissions is None
        return
    floor = tuple(Rule(one, "*" if one is EXECUTE else "**", DENY, "tools of ui") for one in denied)
    assert found.permissions == Permissions(ALLOW, floor)


def test_what_cannot_be_read_narrows_or_is_dropped_and_is_told_f7():
    rules = [
        rule(WRITE, "a**", DENY),
        rule(READ, "[ab]", ASK),
        rule(WRITE, "../x", ALLOW),
        rule(EXECUTE, " ", DENY),
        rule(EXECUTE, "ls\nrm", ALLOW),
        rule(WRITE, "ok", ALLOW),
    ]
    found = resolve(Policy(ASK, tuple(rules)), "ui", "all")
    kept = (
        rule(WRITE, "**", DENY),
        rule(READ, "**", ASK),
        rule(EXECUTE, "*", DENY),
        rule(WRITE, "ok", ALLOW),
    )
    assert found.permissions == Permissions(ASK, kept)
    assert found.diagnostics[0] == (
        "permissions.json:3: deny write a**: ** stands alone between slashes, not as in a**; "
        "it counts as **"
    )
    assert found.diagnostics[2].endswith("the rule is dropped")
    assert len(found.diagnostics) == 5


def test_rules_that_cannot_be_read_never_widen_when_they_are_decided_by_f7():
    assert posture(permissions_of(rule(WRITE, "a**", DENY), default=ALLOW), WRITE, "b") is DENY
    assert posture(permissions_of(rule(WRITE, "a**", ALLOW), default=DENY), WRITE, "ab") is DENY


@pytest.mark.parametrize(
    ("root", "typed", "path"),
    [
        ("/shop", "a/b", ("a", "b")),
        ("/shop/", "./a//b/.", ("a", "b")),
        ("/shop", "/shop/a", ("a",)),
        ("/shop", "/shop", ()),
        ("/shop", "", ()),
        ("/shop", "a/../b", ("b",)),
        ("/shop", "../shop/a", ("a",)),
        ("/shop", "..", None),
        ("/shop", "/shopping/a", None),
        ("/shop", "//shop/a", ("a",)),
        ("/", "a", ("a",)),
        ("/", "../a", ("a",)),
        ("", "a/b", ("a", "b")),
        ("", "a/../../b", None),
        ("", "/a", None),
        ("", "", ()),
        ("shop", "a", ("a",)),
        ("shop", "/shop/a", None),
        ("shop", "../../a", None),
    ],
)
def test_a_path_is_normalised_and_told_inside_from_outside_f4(root, typed, path):
    assert path_of(root, typed) == path


def test_postures_have_an_order():
    assert [one.severity for one in (ALLOW, ASK, DENY)] == [0, 1, 2]
    assert worse(ALLOW, DENY) is worse(DENY, ASK) is DENY
    assert severest([]) is None


GLOBS = st.sampled_from(["**", "a", "a/**", "*/b", "**/b", "A/b", "[", "a**"])
RULES = st.builds(
    Rule,
    st.sampled_from(Capability),
    GLOBS,
    st.sampled_from(Posture),
    st.just("permissions.json:1"),
)
POLICIES = st.builds(Permissions, st.sampled_from(Posture), st.lists(RULES, max_size=5).map(tuple))
PATHS = st.none() | st.lists(st.sampled_from(["a", "b", "A", ".env"]), max_size=3).map(tuple)


@given(POLICIES, st.sampled_from(Capability), GLOBS, PATHS)
def test_one_deny_more_never_makes_anything_milder(permissions, denied, match, path):
    more = Permissions(permissions.default, (*permissions.rules, rule(denied, match, DENY)))
    for capability in (READ, WRITE, DELETE):
        before = decide_file(permissions, capability, path).posture
        assert decide_file(more, capability, path).posture.severity >= before.severity


@given(POLICIES, st.sampled_from([READ, WRITE, DELETE]), PATHS)
def test_what_is_resolved_decides_like_what_was_written_f7(written, capability, path):
    policy = Policy(written.default, written.rules)
    before = decide_file(written, capability, path).posture
    assert decide_file(resolved(policy, "ui", "all"), capability, path).posture is before


def test_a_dropped_rule_of_deleting_does_not_hand_deleting_to_write_f7():
    policy = Policy(ASK, (rule(WRITE, "**", ALLOW), rule(DELETE, "tmp**", ALLOW)))
    permissions = resolved(policy, "ui", "all")
    assert posture(permissions, DELETE, "a") is ASK


@pytest.mark.parametrize(
    ("path", "inert", "posture"),
    [
        (".git/config", frozenset(), DENY),
        ("src/.claude/settings.local.json", frozenset(), DENY),
        ("src/.claude/settings.local.json", frozenset({".claude"}), DENY),
        (".mcp.json", frozenset(), DENY),
        (".mcp.json", frozenset({".mcp.json"}), ALLOW),
        (".mcp.json", None, ALLOW),
        ("src/app.py", frozenset(), ALLOW),
    ],
)
@pytest.mark.parametrize("capability", [WRITE, DELETE])
def test_what_is_protected_by_its_name_is_denied_whatever_the_policy(
    path, inert, posture, capability
):
    permissions = Permissions(ALLOW, (rule(capability, "**", ALLOW),))
    names = tuple(path.split("/"))
    decision = decide_file(permissions, capability, names, inert)
    assert decision.posture is posture
    assert ("whatever the policy" in decision.reason) is (posture is DENY)
    assert decide_file(permissions, READ, names, inert).posture is ALLOW
    assert decide_file(None, capability, names, inert).posture is ALLOW
    assert decide_file(permissions, capability, None, inert).posture is ALLOW
    assert decide_file(permissions, capability, (), inert).posture is ALLOW


def test_a_person_may_be_asked_by_default_or_by_a_rule_about_files():
    assert may_ask(Permissions(ASK, ()))
    assert may_ask(Permissions(DENY, (rule(WRITE, "a", ASK),)))
    assert not may_ask(Permissions(DENY, (rule(EXECUTE, "*", ASK), rule(WRITE, "a", ALLOW))))
