"""Behaviour of programs that run another one: which one surely, which one perhaps (C2, C3)."""

import pytest

from amiral.permissions.shell_line import UNKNOWN as X
from amiral.permissions.wrappers import MOST_SUFFIXES, Wrapped, scripts, suffixes, unwrapped


def of(line):
    return unwrapped(tuple(line.split(" ")))


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("timeout 5 ls -l", "ls -l"),
        ("timeout -s KILL -k 3 5 ls", "ls"),
        ("timeout --signal=KILL -- 5 ls", "ls"),
        ("timeout -sKILL 5 ls", "ls"),
        ("nice ls", "ls"),
        ("nice -n 5 ls", "ls"),
        ("/usr/bin/nice ls", "ls"),
        ("NICE ls", "ls"),
        ("nohup ls", "ls"),
        ("env -u A ls", "ls"),
        ("env -- ls", "ls"),
        ("sudo -u me ls", "ls"),
        ("time ls", "ls"),
        ("stdbuf -oL ls", "ls"),
        ("busybox ls", "ls"),
        ("exec -a x ls", "ls"),
        ("exec", ""),
        ("timeout 5", ""),
        ("command -v ls", ""),
        ("ls nice", ""),
    ],
)
def test_a_plain_wrapper_surely_runs_what_follows_its_options_c2(line, inner):
    assert of(line).inner == tuple(inner.split())
    assert of(line).opaque == ""


@pytest.mark.parametrize(
    ("line", "opaque"),
    [
        ("env -i ls", "env -i"),
        ("sudo -E ls", "sudo -E"),
        ("nice -10 ls", "nice -10"),
        ("timeout --foreground 5 ls", "timeout --foreground"),
        ("env A=1 ls", "a variable that is set"),
        ("sudo A=1 ls", "a variable that is set"),
        ("eval ls", "eval"),
        ("xargs ls", "xargs"),
        ("ssh host ls", "ssh"),
        ("find . -exec ls ;", "find -exec"),
        ("find . -delete", "find -delete"),
        ("sh -c ls", "sh -c"),
        ("bash -lc ls", "bash -c"),
        ("bash", "bash with commands from elsewhere"),
        ("bash -s a", "bash with commands from elsewhere"),
        ("bash --rcfile a b", "bash with commands from elsewhere"),
        (f"{X} a", "a program whose name is not known"),
        ("find . -name a", ""),
        ("bash a.sh -v", ""),
        ("bash -ex a.sh", ""),
        ("source a", ""),
        ("docker run x ls", ""),
        ("command -v ls", ""),
    ],
)
def test_what_a_wrapper_makes_of_its_words_is_known_or_not_c2(line, opaque):
    assert of(line).opaque == opaque
    assert not opaque or of(line).inner == ()


@pytest.mark.parametrize(
    ("line", "candidate"),
    [
        ("timeout 5 rm a", "rm a"),
        ("sudo -E rm a", "rm a"),
        ("xargs -n 1 rm", f"rm {X}"),
        ("xargs -I{} rm {} b", f"rm {X} b {X}"),
        ("parallel rm ::: a", f"rm ::: a {X}"),
        ("find . -exec rm {} ;", f"rm {X} ;"),
        ("find . -exec ls {} ; -ok nice rm {} ;", f"rm {X} ;"),
        ("find . -exec {} ;", f"{X} ;"),
        ("ssh host rm a", "rm a"),
        ("eval rm a", "rm a"),
        (f"eval {X}", X),
        ("sh -c rm a", "rm a"),
        (f"sh -c {X}", X),
        ("sh", X),
        (f"sh {X}", X),
        ("sh rm a", "rm a"),
        ("source rm", "rm"),
        (f". {X}", X),
        ("alias l=rm", "rm"),
        ("npx rm a", "rm a"),
        ("docker run x rm a", "rm a"),
        (f"{X} rm a", "rm a"),
    ],
)
def test_what_could_be_run_is_a_candidate_c2_c3(line, candidate):
    assert tuple(candidate.split(" ")) in of(line).candidates


@pytest.mark.parametrize("line", ["git rm a", "docker rm a", "npm rm a", "ls rm", "bash a.sh rm"])
def test_a_word_is_no_candidate_where_it_is_an_argument(line):
    assert ("rm", "a") not in of(line).candidates
    assert ("rm",) not in of(line).candidates


def test_a_glob_is_not_taken_for_a_program():
    assert of("timeout 5 find . -name *.py").candidates[-1] == ("-name", "*.py")


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (("sh", "-c", "ls; rm a"), ("ls; rm a", "-c ls; rm a")),
        (("eval", "ls", ";", "rm"), (";", "ls ; rm")),
        (("ssh", "host", "a b"), ("a b", "host a b")),
        (("sudo", "-s", "a b"), ("a b",)),
        (("nice", "a b"), ()),
        (("find", ".", "-exec", "sh", "-c", "a b", ";"), ("a b", ";")),
        ((X, "a b"), ("a b",)),
        (("alias", "l=a b"), ("a b", "l a b")),
    ],
)
def test_texts_that_are_run_as_lines_are_named_c3(words, texts):
    assert unwrapped(words).scripts == texts


@pytest.mark.parametrize(
    ("line", "is_fed"),
    [
        ("sh", True),
        ("sh -c a", True),
        ("sh a", False),
        ("eval a", True),
        ("source a", True),
        (f"{X}", True),
        ("xargs a", False),
        ("cat", False),
    ],
)
def test_what_runs_text_of_elsewhere_is_told(line, is_fed):
    assert of(line).is_fed is is_fed


def test_any_other_program_runs_nothing():
    assert of("ls a b") == Wrapped()


def test_very_long_commands_are_not_gone_through():
    many = suffixes(("xargs", *["a"] * 100))
    assert (len(many), many[-1]) == (MOST_SUFFIXES, (X,))
    assert suffixes(("xargs", *["a"] * 5000)) == ((X,),)
    assert suffixes(("xargs",)) == ()


def test_an_argument_that_could_be_a_line_has_a_sign_no_word_has():
    assert scripts(("a", "b", "c d", "x=1", "a;b", "`b`", "-c", "{}", "%s/+")) == (
        "c d",
        "a;b",
        "`b`",
    )
