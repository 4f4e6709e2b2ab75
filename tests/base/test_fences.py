"""Fenced blocks of Markdown, and what only looks like one (R55)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.fences import Fence, fenced, read_fences


def infos(text):
    return [fence.info for fence in read_fences(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("text\n```a\nx\n```\n", [Fence("a", "x", True)]),
        ("~~~ a b \nx\n~~~~\t \n", [Fence("a b", "x", True)]),
        ("```\n```", [Fence("", "", True)]),
        ("```a\r\nx\r\n```\r\n", [Fence("a", "x", True)]),
        ("\ufeff```a\n```", [Fence("a", "", True)]),
        ("```a\nx", [Fence("a", "x", False)]),
        ("```a\n````\n", [Fence("a", "", True)]),
        ("````a\n```b\nx\n```\n````\n", [Fence("a", "```b\nx\n```", True)]),
        ("```a\n~~~\n```\n", [Fence("a", "~~~", True)]),
        ("~~~a\n```b\n```\n~~~\n", [Fence("a", "```b\n```", True)]),
        ("```a\n``` b\n    ```\n```\n", [Fence("a", "``` b\n    ```", True)]),
        ("  ```a\n    x\n y\n  ```\n", [Fence("a", "  x\ny", True)]),
        ("```a\n## h\n---\n> q\n```", [Fence("a", "## h\n---\n> q", True)]),
        ("```a\n```\n```b\n```", [Fence("a", "", True), Fence("b", "", True)]),
    ],
)
def test_r55_fences_are_read_as_commonmark_does(text, found):
    assert list(read_fences(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        "``a\nx\n``",
        "```a`b\nx\n",
        "    ```a\n    x\n    ```\n",
        "\t```a\nx\n",
        "> ```a\n> x\n> ```\n",
        "`` ```a ``\n",
        "+```a\n+x\n+```\n",
        "-```a\n-x\n-```\n",
        "@@ -1,3 +1,4 @@ here\n one\n ```a\n x\n ```\n+y\n\n-z\n\\ No newline\n",
    ],
)
def test_r55_quotes_diffs_and_indented_code_hold_no_fence(text):
    assert infos(text) == []


def test_r55_a_diff_ends_where_no_line_of_a_diff_stands():
    assert infos("@@ -1 +1 @@\n-a\n+b\ntext\n ```spec\n ```\n") == ["spec"]
    assert infos("@@ -1 +1 @@\n-a\n+b\n```spec\n```\n") == ["spec"]


PIECES = st.sampled_from(
    ["```", "~~~", "````", "```spec", "> ", "    ", "+", "@@ -1 +1 @@", "x", "\n", "\r\n", " ", "`"]
)


@given(st.lists(PIECES, max_size=40).map("".join) | st.text())
def test_p12_any_text_is_read_and_no_line_is_lost_or_made(text):
    found = list(read_fences(text))
    assert all(fence.is_closed for fence in found[:-1])
    assert sum(len(fence.body) for fence in found) <= len(text)


@given(st.lists(PIECES, max_size=30).map("".join), st.lists(PIECES, max_size=30).map("".join))
def test_p12_what_follows_closed_fences_is_read_as_if_it_stood_alone(before, after):
    first = list(read_fences(before))
    if any(not fence.is_closed for fence in first):
        return
    border = "\ntext\n"
    assert list(read_fences(before + border + after)) == first + list(read_fences(after))


@given(st.lists(PIECES, max_size=40).map("".join))
def test_r55_a_block_written_reads_back_whatever_it_holds(body):
    body = body.replace("\r", "").strip("\n")
    assert list(read_fences(fenced("spec", body))) == [Fence("spec", body, True)]
