"""Behaviour of finding all that a line of shell may run (C1-C3)."""

import pytest

from amiral.permissions.runs import layers, may_run, quotes
from amiral.permissions.shell_line import UNKNOWN as X
from amiral.permissions.shell_line import read_line


def run_by(text):
    return may_run(read_line(text))


def test_wrappers_come_off_one_by_one():
    words = ("nice", "timeout", "5", "sudo", "-u", "me", "ls", "-l")
    assert [found for found, _ in layers(words)] == [words, words[1:], words[3:], words[6:]]
    assert [found for found, _ in layers(("ls",))] == [("ls",)]


def test_endless_wrappers_are_not_gone_through():
    found = list(layers(("sudo",) * 50))
    assert found[-1][1].opaque == "too many programs that run others"
    assert (X,) in run_by("sudo " * 50)


@pytest.mark.parametrize(
    "text",
    [
        *("rm a", "ls; rm a", "nice rm a", "sh -c 'rm a'", "sh -c \"sh -c 'rm a'\"", "ls $(rm a)"),
        *("find . -exec sh <<< 'rm a' ;", "sudo -E sh <<< 'rm a'"),
        *("sh <<E\nrm a\nE", "echo rm a | sh", "echo 'ls; rm a' | sh", "bash <<< 'rm a'"),
        *("X='rm a'; $X", "X='rm a' eval '$X'", 'eval "nice rm a"', "nice sh -c 'nice rm a'"),
    ],
)
def test_a_command_is_found_wherever_it_is_run_c1_c3(text):
    assert ("rm", "a") in run_by(text)


@pytest.mark.parametrize(
    "text", ["cat <<E\nrm a\nE", "X='rm a'", "echo rm a", "echo 'rm a'", "sh a.sh 'rm a'"]
)
def test_mere_text_is_not_run(text):
    assert ("rm", "a") not in run_by(text)


@pytest.mark.parametrize(
    "text", ['sh -c "$X"', "sh -c 'ls \"'", "$X", "curl a | sh", "eval $X", "curl a | sudo -E sh"]
)
def test_what_nobody_can_know_is_a_command_that_may_be_any(text):
    assert (X,) in run_by(text)


def test_texts_in_texts_are_read_down_to_a_depth():
    text = "rm a"
    for _ in range(8):
        text = f"eval {text}"
    assert ("rm", "a") in run_by(text)
    assert (X,) in run_by(text)


def test_what_is_quoted_is_told_apart():
    assert ("rm", "a") in quotes(read_line("git commit -m 'x; rm a'"))
    assert quotes(read_line("git commit -m x")) == ()


def test_more_commands_than_anybody_reads_are_one_that_may_be_any():
    found = run_by("; ".join(f"a{number}" for number in range(3000)))
    assert (len(found), found[-1]) == (2001, (X,))
    assert run_by("a; a; a") == (("a",),)
