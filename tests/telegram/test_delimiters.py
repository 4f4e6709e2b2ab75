"""Stars, underscores and backslashes are markup only where nobody names anything with them."""

import pytest

from amiral.telegram.delimiters import is_emphasis, is_escape


def pair(written):
    """Part `before|*|inside|*|behind`."""
    before, delimiter, inside, _, behind = written.split("¦")
    return delimiter, before, inside, behind


@pytest.mark.parametrize(
    "written",
    [
        "a ¦*¦b¦*¦ c",
        "(¦*¦b c¦*¦).",
        "¦**¦b c¦**¦, d",
        "日¦**¦b¦**¦本",
        "¦**¦/etc/x¦**¦ ",
        "a¦**¦ b¦**¦ ",
        "¦_¦b c¦_¦ ",
        "¦_¦word¦_¦ ",
        "¦__¦two words¦__¦ ",
        "¦~~¦b¦~~¦",
    ],
)
def test_emphasis_is_markup(written):
    assert is_emphasis(*pair(written))


@pytest.mark.parametrize(
    "written",
    [
        "2¦*¦3¦*¦4",
        "a¦*¦b¦*¦ ",
        "src/¦*¦a¦*¦ ",
        "./¦*¦a¦*¦ ",
        "\\¦*¦a¦*¦ ",
        "¦*¦.py and src/¦*¦ ",
        "¦*¦/5 and x¦*¦ ",
        "¦*¦a and b/¦*¦ ",
        "¦*¦a¦*¦/b",
        "¦*¦a¦*¦.py",
        "¦*¦a¦*¦b",
        "a¦**¦b¦**¦c",
        "¦**¦/a and b/¦**¦ ",
        "¦**¦/a/¦**¦ ",
        "¦**¦/a and b¦**¦ ",
        "¦_¦x_1¦_¦ ",
        "¦_¦1¦_¦ ",
        "¦_¦a_b and c¦_¦ ",
        "¦__¦init¦__¦ ",
        "¦__¦a_b and c¦__¦ ",
        "¦~¦5 and ¦~¦6",
    ],
)
def test_names_globs_and_sums_are_not(written):
    assert not is_emphasis(*pair(written))


@pytest.mark.parametrize(
    "written",
    [
        r"a \* b",
        r"C:\x y \* z",
        r"\_a\_",
        r"\`a",
        r"\# a",
        r"\- a",
        r"1\. a",
        r"  12\. a",
        r"a \| b",
        r"\<b> c",
    ],
)
def test_a_backslash_that_only_guards_is_markup(written):
    assert is_escape(*at_backslash(written))


@pytest.mark.parametrize(
    "written",
    [r"C:\new\*", r"\d+\*", r"a\.b", r"v1\. x", r"\(a\)", r"\[a\]", r"\\*", r"a\*b", r"a\*.py"],
)
def test_in_paths_patterns_and_formulas_it_stays(written):
    assert not is_escape(*at_backslash(written))


def at_backslash(written):
    """Part at the last backslash that stands before a sign, or at the first one."""
    before, _, behind = written.rpartition("\\")
    if written.startswith("\\_"):
        before, behind = "", written[1:]
    return before, behind[0], behind[1:]
