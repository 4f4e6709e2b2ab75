"""Any text can be read, whatever the parser makes of it."""

import pytest

from amiral.telegram.markdown import parse, read, read_strictly
from amiral.telegram.marks import Kind, Mark, Marked


class Panic(BaseException):
    """As a parser in another language fails."""


def failing(failure):
    def failing(markdown):
        yield from list(parse(markdown))[:1]
        raise failure

    return failing


def test_markup_is_read():
    bold = Marked("é a", (Mark(Kind.BOLD, 2, 3),))
    assert read("é **a**") == read_strictly("é **a**") == bold
    assert read("**a**") == Marked("a", (Mark(Kind.BOLD, 0, 1),))


def test_a_block_of_markdown_may_hold_blocks():
    assert read("```md\n```py\na\n```\n```").text == "```py\na\n```"


@pytest.mark.parametrize("failure", [ValueError("x"), Panic("x")])
def test_a_text_that_cannot_be_read_comes_as_it_is(failure):
    assert read("**a**", failing(failure)) == Marked("**a**")
    with pytest.raises(type(failure)):
        read_strictly("**a**", failing(failure))


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_who_ends_the_process_is_heard(ending):
    with pytest.raises(ending):
        read("**a**", failing(ending()))
