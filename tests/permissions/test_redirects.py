"""Behaviour of the rules on paths where the shell opens files (C4)."""

import pytest

from amiral.permissions.redirects import judge_redirections
from amiral.permissions.rules import Capability, Permissions, Posture, Rule
from amiral.permissions.shell_line import read_line

ALLOW, ASK, DENY = Posture
WRITE, READ = Capability.WRITE, Capability.READ


def rule(capability, match, posture):
    return Rule(capability, match, posture, "permissions.json:3")


RULES = (rule(WRITE, "src/**", ALLOW), rule(WRITE, "**/.env", DENY), rule(READ, "**", ALLOW))


def judged(text, default=ASK, rules=RULES, root=""):
    return list(judge_redirections(Permissions(default, rules), read_line(text), root))


@pytest.mark.parametrize(
    ("text", "posture"),
    [
        ("a > src/b", ALLOW),
        ("a >> 'src/b c'", ALLOW),
        ("a > b", ASK),
        ("a > .env", DENY),
        ("a > src/../.env", DENY),
        ("a < b", ALLOW),
        ("a < ~/b", ASK),
        ("a > ../src/b", ASK),
        ("a > /etc/b", ASK),
        ("a > $b", ASK),
        ("a > src/b*", ASK),
        ("a > src/.git/hooks/b", ASK),
        ("a > src/.claude/settings.json", ASK),
        ("a < src/.git/config", ALLOW),
        ("cd b; a > src/b", ASK),
        ("cd b; a > .env", DENY),
        ("command cd b; a < b", ASK),
    ],
)
def test_a_file_is_judged_by_the_rules_on_paths_c4(text, posture):
    (decision,) = judged(text)
    assert decision.posture is posture
    assert decision.advisory


@pytest.mark.parametrize(
    "text", ["a", "a > /dev/null", "a 2>&1", "a < /dev/stdin", "a > /dev/fd/3"]
)
def test_streams_are_no_files(text):
    assert judged(text) == []


def test_a_network_connection_of_bash_is_no_stream():
    assert judged("a > /dev/tcp/host/80")[0].posture is ASK


def test_an_absolute_path_is_inside_or_outside_by_the_root():
    assert judged("cd b; a > /shop/src/b", root="/shop")[0].posture is ALLOW
    assert judged("a > /shop/src/b", root="/other")[0].posture is ASK


@pytest.mark.parametrize(
    ("text", "posture"),
    [
        ("a > b", ALLOW),
        ("a > /etc/b", ALLOW),
        ("a > ~/.bashrc", ASK),
        ("a > $b", ASK),
        ("a < $b", ALLOW),
        ("cd b; a > c", ASK),
        ("cd b; a < c", ALLOW),
    ],
)
def test_where_the_default_allows_an_unknown_file_is_asked_if_a_rule_could_mean_it(text, posture):
    assert judged(text, default=ALLOW)[0].posture is posture


def test_where_the_default_denies_an_unknown_file_is_denied():
    assert judged("a > $b", default=DENY)[0].posture is DENY


def test_the_reason_names_the_file_and_the_rule():
    assert judged("a > .env")[0].reason == (
        "the line writes to .env: permissions.json:3: deny write **/.env"
    )
    assert judged("a > src/$b")[0].reason == (
        "the line writes to src/…: which file that is is not known; the default is ask"
    )
    assert judged("a < b", rules=())[0].reason == (
        "the line reads b: no rule matches; the default is ask"
    )
