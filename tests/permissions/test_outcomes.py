"""What permissions can come to at all, against the decisions themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.permissions.outcomes import is_about_everything, outcomes, unmatched
from amiral.permissions.rules import Capability, Permissions, Posture, Rule, decide_file
from amiral.permissions.shell import decide_command

ALLOW, ASK, DENY = Posture
READ, WRITE, DELETE, EXECUTE = Capability
GLOBS = ("**", "**/", "src/**", "src", "*", "*.py", "**/.env", "a?c", "[", "/")
COMMANDS = ("*", "* *", "git push*", "ls", "?*")


def rule(capability: Capability, match: str, posture: Posture) -> Rule:
    return Rule(capability, match, posture, "permissions.json:1")


rules = st.one_of(
    st.builds(
        rule,
        st.sampled_from([READ, WRITE, DELETE]),
        st.sampled_from(GLOBS),
        st.sampled_from(Posture),
    ),
    st.builds(rule, st.just(EXECUTE), st.sampled_from(COMMANDS), st.sampled_from(Posture)),
)
permissions = st.builds(
    Permissions, st.sampled_from(Posture), st.lists(rules, max_size=4).map(tuple)
)
paths = st.lists(st.sampled_from(["src", "a.py", ".env", "abc", "x"]), min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("default", "given_rules", "expected"),
    [
        (ALLOW, [], {ALLOW}),
        (DENY, [], {DENY}),
        (ASK, [("src/**", ALLOW)], {ASK, ALLOW}),
        (ASK, [("**", ALLOW)], {ALLOW}),
        (ASK, [("**", ALLOW), ("**/.env", DENY)], {ALLOW, DENY}),
        (ALLOW, [("**", DENY), ("src/**", ALLOW)], {DENY}),
        (ALLOW, [("**", ASK), ("src/**", ALLOW), (".env", DENY)], {ASK, DENY}),
        (ALLOW, [("[", DENY)], {DENY}),
        (DENY, [("[", ALLOW)], {DENY, ALLOW}),
    ],
)
def test_what_matches_everything_leaves_nothing_milder(default, given_rules, expected):
    found = Permissions(default, tuple(rule(WRITE, match, how) for match, how in given_rules))
    assert outcomes(found, WRITE) == expected
    assert outcomes(found, DELETE) == expected, "delete follows write"
    assert outcomes(found, READ) == {default}


@pytest.mark.parametrize(
    ("capability", "match", "expected"),
    [
        (WRITE, "**", True),
        (WRITE, "/**/", True),
        (WRITE, "*", False),
        (EXECUTE, "*", True),
        (EXECUTE, " * ", True),
        (EXECUTE, "**", True),
        (EXECUTE, "ls*", False),
    ],
)
def test_a_rule_is_about_everything_or_not(capability, match, expected):
    assert is_about_everything(rule(capability, match, DENY)) is expected


def test_the_default_holds_only_where_no_rule_is_about_everything():
    some, every = rule(WRITE, "src/**", ALLOW), rule(WRITE, "**", ALLOW)
    assert unmatched(Permissions(ASK, (some,)), WRITE) is ASK
    assert unmatched(Permissions(ASK, (some, every)), WRITE) is None


@given(permissions, st.sampled_from([READ, WRITE, DELETE]), paths)
def test_no_path_in_the_project_comes_to_anything_else(found, capability, path):
    assert decide_file(found, capability, tuple(path)).posture in outcomes(found, capability)


@given(permissions, st.sampled_from(["ls", "git push origin", "git pushx", "cat a", "x y z"]))
def test_no_plain_command_comes_to_anything_else(found, command):
    assert decide_command(found, command).posture in outcomes(found, EXECUTE)
