"""Commands of Codex that only read, and those that only look so."""

import os
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.drivers.codex.reading import READERS, Reading, reading

CWD = "/project"


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cat a.txt", ["/project/a.txt"]),
        ("cat /etc/hosts", ["/etc/hosts"]),
        ("cat ../up", ["/up"]),
        ("cat 'a b' \"c d\"", ["/project/a b", "/project/c d"]),
        ("sed -n '1,200p' src/a.py", ["/project/src/a.py"]),
        ("sed -n '5,$p' a | head -n5", ["/project/a"]),
        ("nl -ba a && tail -20 b", ["/project/a", "/project/b"]),
        ("head -n 5 a", ["/project/5", "/project/a"]),
        ("ls", ["/project"]),
        ("ls -la src", ["/project/src"]),
        ("pwd", ["/project"]),
        ("cat a | grep -n x", ["/project/a", "/project/x"]),
        ("cat - | wc -l", ["/project/-"]),
        ("grep -rfx y", None),
    ],
)
def test_what_only_reads_names_what_it_reads(command, paths):
    expected = None if paths is None else Reading(tuple(paths), is_deep=False)
    assert reading(command, CWD) == expected


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("rg foo", ["/project/foo", "/project"]),
        ("rg -n 'a|b' src", ["/project/a|b", "/project/src"]),
        ("rg --files", ["/project"]),
        ("grep -rn foo", ["/project/foo", "/project"]),
        ("grep --recursive foo src", ["/project/foo", "/project/src"]),
        ("cat a && rg x y", ["/project/a", "/project/x", "/project/y"]),
    ],
)
def test_a_search_reads_all_that_lies_below(command, paths):
    assert reading(command, CWD) == Reading(tuple(paths), is_deep=True)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "",
            " ",
            "touch a",
            "cat a > b",
            "cat a >> b",
            "cat <b",
            "cat a; rm b",
            "cat a & b",
        ),
        *("cat a || rm b", "cat a | tee b", "cat a && touch b", "cat $(touch b)", "cat `touch b`"),
        *("cat $HOME/x", "cat ~/x", "cat a*", "cat a?", "cat {a,b}", "cat [a]", "cat a\nrm b"),
        *(
            "cat 'a\nb'",
            'cat "$(rm b)"',
            'cat "`rm b`"',
            "cat a\\ b",
            "cat a#",
            "cat !x",
            "(cat a)",
        ),
        *("/tmp/cat a", "./cat a", "A=1 cat a", "cat 'a", "cat a |", "| cat a", "cat a | | cat b"),
        *(
            "cat a |cat b",
            "cat --help=x",
            "sed -n 'w b' a",
            "sed '1p' a",
            "sed -i -n 1p a",
            "sed -n",
        ),
        *(
            "sed -n 1p -i a",
            "sed -n 1e a",
            "rg --pre sh x",
            "rg --pre=sh x",
            "rg --hostname-bin=x a",
        ),
        *("rg -z x", "rg -nz x", "rg --search-zip x", "rg -fpatterns x", "grep -fpatterns x"),
        *(
            "find . -delete",
            "env cat a",
            "xargs cat",
            "sort -o b a",
            "uniq a b",
            "tee a",
            "cat -- a",
        ),
        "cat é",
    ],
)
def test_whatever_else_it_may_do_is_no_reading(command):
    assert reading(command, CWD) is None


def test_quoted_signs_join_nothing():
    assert reading("cat '|' ls", CWD) == Reading(("/project/|", "/project/ls"), is_deep=False)
    assert reading("cat '&&' touch b", CWD) == Reading(
        ("/project/&&", "/project/touch", "/project/b"), is_deep=False
    )


WORDS = st.sampled_from(
    [*sorted(READERS), "touch", "rm", "-n", "'a b'", "a", "|", "&&", ">", "$x", ";", "1p"]
)


@given(st.lists(WORDS, max_size=6).map(" ".join))
def test_what_is_read_is_made_of_readers_alone(command):
    found = reading(command, CWD)
    if found is not None:
        words = shlex.split(command)
        starts = [words[0], *(words[at + 1] for at, word in enumerate(words) if word in "|&&")]
        assert set(starts) <= READERS
        assert not {">", "$x", ";"} & set(words)
        assert all(os.path.isabs(path) for path in found.paths)
