"""Behaviour of patterns of commands: what an allow means, what a deny does, what it could (R47)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.permissions.command_pattern import (
    could_name,
    is_allowed,
    is_meant,
    matches_text,
    may_be_meant,
)
from amiral.permissions.shell_line import UNKNOWN as X


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        ("git push*", "git push", True),
        ("git push*", "git push -f origin", True),
        ("git push*", "git pull", False),
        ("ls *", "ls", True),
        ("ls *", "ls a b", True),
        ("ls *", "lsof", False),
        ("ls", "ls a", False),
        ("*", "", True),
        ("", "", True),
        ("", "a", False),
        ("a*b?c**d", "axxbyczzd", True),
        ("a*b?c**d", "axxbyczz", False),
        ("a*b?c**d", "abcd", False),
        ("a  *", "a b", True),
        ("[ab]", "[ab]", True),
        ("[ab]", "a", False),
        ("a.b", "axb", False),
        ("* x", "a x", True),
        ("?", "", False),
    ],
)
def test_a_pattern_means_a_text(pattern, text, is_match):
    assert matches_text(pattern, text) is is_match


@given(st.text("ab*?", max_size=8), st.text("ab* ", max_size=10))
def test_a_pattern_means_what_a_regular_expression_does(pattern, text):
    signs = {"*": ".*", "?": "."}
    expression = "".join(signs.get(sign, sign) for sign in pattern)
    assert matches_text(pattern, text) is bool(re.fullmatch(expression, text))


@pytest.mark.parametrize(
    ("pattern", "line", "is_match"),
    [
        ("ls *", "ls -l", True),
        ("ls *", "/bin/ls -l", True),
        ("ls *", "/usr/bin/ls -l", True),
        ("ls *", "./ls -l", False),
        ("ls *", "/tmp/ls -l", False),
        ("ls *", "LS -l", False),
        ("./run.sh*", "./run.sh a", True),
        ("/opt/x/run*", "/opt/x/run a", True),
        ("rm -rf*", "rm -fr a", False),
        ("git log*", "git -C x log", False),
    ],
)
def test_an_allow_means_a_command_as_it_is_typed(pattern, line, is_match):
    assert is_allowed(pattern, tuple(line.split())) is is_match


@pytest.mark.parametrize(
    ("pattern", "line", "is_match"),
    [
        ("rm *", "rm", True),
        ("rm *", "/usr/bin/rm a", True),
        ("rm *", "../x/rm a", True),
        ("rm *", "RM a", True),
        ("RM *", "rm a", True),
        ("/bin/rm *", "rm a", True),
        ("rm *", "rmdir a", False),
        ("git branch -D*", "git branch -d a", False),
        ("git push*", "git -C x push", True),
        ("git push*", "git --no-pager -c a=b push", True),
        ("git push*", "git log push", False),
        ("rm -rf*", "rm -fr a", True),
        ("rm -rf*", "rm -r -f a", True),
        ("rm -rf*", "rm a -rvf", True),
        ("rm -rf*", "rm --recursive --force a", True),
        ("rm -rf*", "rm --rec -f a", True),
        ("rm -rf*", "rm -r a", False),
        ("rm -rf*", "rm -r -- -f", False),
        ("rm -rf*", "rm -- a", False),
        ("rm -rf /*", "rm -f -r /etc", True),
        ("rm -rf /*", "rm -f -r etc", False),
        ("rm -rf /*", "rm -rf -- /etc", True),
        ("rm -rf", "rm -fr", True),
        ("rm -rf", "rm -fr a", False),
        ("git push -f*", "git push -uf origin", True),
        ("git push -f*", "git push --force", True),
        ("git push -f*", "git push --force-with-lease", False),
        ("find * -delete*", "find . -delete", True),
        ("find * -delete*", "find . -type d", False),
        ("a *", "/ b", False),
        ("cafe\u0301 *", "caf\u00e9 x", True),
    ],
)
def test_a_deny_means_a_command_however_it_is_written_r47(pattern, line, is_match):
    assert is_meant(pattern, tuple(line.split())) is is_match


@pytest.mark.parametrize(
    ("pattern", "line", "is_meant_surely", "is_possible"),
    [
        ("rm *", f"rm {X}", True, True),
        ("cat .env*", f"cat {X}", False, True),
        ("cat .env*", f"cat .{X}", False, True),
        ("cat .env*", f"cat a{X}", False, False),
        ("cat .env*", "cat .en?", False, True),
        ("cat .env*", "cat .[de]nv", False, True),
        ("cat .env*", "cat *", False, False),
        ("cat a*", "cat *", False, True),
        ("cat a", "cat *b", False, False),
        ("cat ab", "cat *b", False, True),
        ("cat *b", "cat *", False, True),
        ("rm -rf*", "rm *", False, False),
        ("rm -rf*", f"rm {X}", False, True),
        ("rm -rf*", f"rm -r{X}", False, True),
        ("rm -rf*", f"ls {X}", False, False),
        ("git push*", f"{X} push", False, True),
        ("git push*", f"{X}", False, True),
        ("git push*", f"git {X} push", False, True),
        ("git push*", f"g{X}t push", False, True),
        ("git push*", f"git{X}", False, True),
        ("git push*", f"log {X}", False, False),
        ("shutdown", f"shutdown {X}", False, True),
        ("a?c", f"a{X}c", True, True),
        ("*", f"{X}", True, True),
    ],
)
def test_a_deny_could_mean_what_is_not_known_yet_r47(pattern, line, is_meant_surely, is_possible):
    words = tuple(line.split(" "))
    assert is_meant(pattern, words) is is_meant_surely
    assert may_be_meant(pattern, words) is is_possible


@pytest.mark.parametrize(
    ("pattern", "text", "is_named"),
    [
        ("rm *", "ls ' rm", True),
        ("rm *", "ls ' r''m", True),
        ("rm *", "ls ' r\\m", True),
        ("rm *", "ls ' /bin/RM;", True),
        ("rm *", "{rm,-rf}", True),
        ("rm *", "ls ' charm", False),
        ("rm -rf*", "rm -fr '", True),
        ("git push*", "git -C x push '", True),
        ("git push*", "git pull '", False),
        ("*", "(", True),
    ],
)
def test_what_cannot_be_read_names_what_a_deny_is_about(pattern, text, is_named):
    assert could_name(pattern, text) is is_named


WORDS = st.lists(st.sampled_from(["rm", "-rf", "-f", "a", "--", "b*", "--force"]), min_size=1)
PATTERNS = st.sampled_from(["rm *", "rm -rf*", "rm", "* -f", "rm -f a", "?m *", "*"])


@given(PATTERNS, WORDS.map(tuple), st.data())
def test_what_is_meant_could_be_meant_with_any_word_unknown(pattern, words, data):
    if not is_meant(pattern, words):
        return
    assert may_be_meant(pattern, words)
    hidden = list(words)
    hidden[data.draw(st.integers(0, len(words) - 1))] = X
    assert may_be_meant(pattern, tuple(hidden))


@given(PATTERNS, WORDS.map(tuple))
def test_what_an_allow_means_a_deny_means_too(pattern, words):
    assert is_meant(pattern, words) or not is_allowed(pattern, words)
