"""Which paths a glob means: exactly for an allow, widely for a deny (F4)."""

import unicodedata
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.permissions.globs import (
    BadGlob,
    Glob,
    begin,
    covers,
    folded,
    is_open_below,
    matches,
    may_match_below,
    parse_glob,
    step,
)

COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
names = st.sampled_from(["a", "b", "A", "ab", ".env", ".ENV", "x.py", "ß", "SS", COMPOSED])
names |= st.just(DECOMPOSED) | st.text("aAé\n", min_size=1, max_size=3)
paths = st.lists(names, max_size=4).map(tuple)
segments = st.sampled_from(["a", "b", "ab", "*", "?", "??", "*.py", "a*", ".env", "**", "ss"])
globs = st.lists(segments | names, min_size=1, max_size=4).map("/".join).map(parse_glob)


def opens(glob, found):
    spots = begin(glob)
    for name in found:
        spots = step(glob, spots, name)
    return is_open_below(glob, spots)


def path(text):
    return tuple(text.split("/")) if text else ()


def means(wanted, found):
    """Read a glob the slow way."""
    if not wanted:
        return not found
    if wanted[0] == "**":
        return any(means(wanted[1:], found[skipped:]) for skipped in range(len(found) + 1))
    return bool(found) and fnmatchcase(found[0], wanted[0]) and means(wanted[1:], found[1:])


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("src", ("src",)),
        ("/src/", ("src",)),
        ("src/**", ("src", "**")),
        ("**/**/a/**/**", ("**", "a", "**")),
        ("a b/*.t?t", ("a b", "*.t?t")),
        ("...", ("...",)),
    ],
)
def test_a_glob_is_read_into_its_segments(text, segments):
    assert parse_glob(text) == Glob(segments)
    assert str(parse_glob(text)) == "/".join(segments)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "an empty segment"),
        ("/", "an empty segment"),
        ("//src", "an empty segment"),
        ("src//a", "an empty segment"),
        ("../a", "is no name below the project"),
        ("src/../../a", "is no name below the project"),
        ("./src", "is no name below the project"),
        ("a**", "stands alone"),
        ("src/**.py", "stands alone"),
        ("[ab]", "not supported"),
        ("{a,b}", "not supported"),
        ("!a", "not supported"),
        ("a\\b", "not supported"),
        ("a\0b", "not supported"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused_with_the_reason(text, reason):
    with pytest.raises(BadGlob, match=reason):
        parse_glob(text)


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("src", ["src"], ["", "Src", "src/a", "proj-src", "src-evil", "src."]),
        ("src/*", ["src/a", "src/.b"], ["src", "src/a/b"]),
        ("src/**", ["src", "src/a", "src/a/b"], ["", "srcs/a"]),
        ("**/.env", [".env", "a/.env", "a/b/.env"], [".ENV", "a/.env/b", "a.env"]),
        ("**", ["", "a", "a/b"], []),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a", "b", "a/bb"]),
        ("?.py", ["a.py"], ["ab.py", ".py", "a/.py"]),
        ("*.py", [".py", "a.py", "a\nb.py"], ["a.py\n", "a.pyc"]),
        (COMPOSED, [COMPOSED], [DECOMPOSED]),
    ],
)
def test_an_allow_means_exactly_what_it_says(glob, yes, no):
    read = parse_glob(glob)
    assert [one for one in yes if not matches(read, path(one))] == []
    assert [one for one in no if matches(read, path(one))] == []


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        (".env", [".env", ".ENV", ".Env/below"], ["a/.env", ".env.", ".envs", ""]),
        ("proj", ["proj", "PROJ/a/b"], ["proj-evil", "proj-evil/a"]),
        ("**/secret/*", ["secret/a", "a/Secret/b/c"], ["secret"]),
        ("secret/**", ["secret", "secret/a"], ["secrets"]),
        (COMPOSED, [COMPOSED, DECOMPOSED, DECOMPOSED.upper()], ["cafe"]),
        ("stra\u00dfe", ["STRASSE", "strasse/a"], ["strase"]),
        ("?", ["\u00df", "a"], ["ab"]),
        ("\u212a", ["k", "K"], ["q"]),
        ("a\nb", ["a\nb", "A\nB/c"], ["a", "ab"]),
    ],
)
def test_f4_a_deny_means_other_spellings_and_all_below_but_no_sibling(glob, yes, no):
    read = parse_glob(glob)
    assert [one for one in yes if not covers(read, path(one))] == []
    assert [one for one in no if covers(read, path(one))] == []


@pytest.mark.parametrize(
    ("glob", "at", "is_covered", "is_live"),
    [
        ("**", "", True, True),
        ("src/**", "", False, True),
        ("src/**", "src", True, True),
        ("src/**", "src/a/b", True, True),
        ("src/*", "src", False, True),
        ("**/*", "src", False, True),
        ("src/**/a", "src", False, True),
        ("src/**/a/**", "src/b/a/c", True, True),
        ("src/a", "docs", False, False),
        ("src/a", "SRC", False, True),
        ("src/a", "src/a/b", False, True),
        ("*/.env", "a/b", False, False),
    ],
)
def test_whole_folders_are_proved_for_an_allow_and_suspected_for_a_deny(
    glob, at, is_covered, is_live
):
    read = parse_glob(glob)
    assert opens(read, path(at)) is is_covered
    assert may_match_below(read, path(at)) is is_live


@given(globs, paths)
def test_a_glob_is_read_as_the_slow_way_reads_it(glob, found):
    assert matches(glob, found) is means(glob.segments, found)
    other = tuple(map(folded, glob.segments)), tuple(map(folded, found))
    ways = ((glob.segments, found), other)
    is_covered = any(means(wanted, at[:n]) for wanted, at in ways for n in range(len(at) + 1))
    assert covers(glob, found) is is_covered


@given(globs, paths, paths)
def test_what_is_proved_holds_for_every_path_below(glob, found, more):
    if matches(glob, found):
        assert covers(glob, found)
    if covers(glob, found):
        assert covers(glob, found + more)
        assert may_match_below(glob, found[:1])
    if more and opens(glob, found):
        assert matches(glob, found + more)
    if not may_match_below(glob, found):
        assert not covers(glob, found + more)


@given(names)
def test_folding_twice_is_folding_once(name):
    for form in ("NFC", "NFD"):
        assert folded(unicodedata.normalize(form, name)) == folded(folded(name))
