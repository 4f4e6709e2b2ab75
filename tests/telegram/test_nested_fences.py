"""A block of Markdown that holds blocks of code is one block, as its writer meant it."""

import pytest

from amiral.telegram.nested_fences import widened


def lines(text):
    return "\n".join(text.split())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("```md a ```py b ``` c ```", "````md a ```py b ``` c ````"),
        ("````markdown ````py b ```` ````", "`````markdown ````py b ```` `````"),
        (
            "```MDX ```py b ``` ``` ```md ```c d ``` ```",
            "````MDX ```py b ``` ```` ````md ```c d ``` ````",
        ),
        ("```md ```py ```` ``` ```", "`````md ```py ```` ``` `````"),
    ],
)
def test_the_outer_fence_becomes_the_longer_one(written, meant):
    assert widened(lines(written)) == lines(meant)


def test_in_a_list_the_fences_stay_as_far_in_as_they_were():
    written = "1. a\n   ```md\n   ```sh\n   b\n   ```\n   c\n   ```\n2. d"
    meant = "1. a\n   ````md\n   ```sh\n   b\n   ```\n   c\n   ````\n2. d"
    assert widened(written) == meant


@pytest.mark.parametrize(
    "written",
    [
        "",
        "a b",
        "```md a ```",  # nothing inside
        "```py a ``` b ```",  # no Markdown
        "````md ```py b ``` ````",  # already told apart
        "```md ```py b ```",  # does not come out even
        "```md a ``` ```py b ```",  # one behind the other
        "```md",
    ],
)
def test_what_is_not_nested_or_not_even_stays(written):
    assert widened(lines(written)) == lines(written)


def test_very_many_blocks_that_never_end_are_gone_through_once():
    written = "```md\n```py\n" * 20_000
    assert widened(written) == written
