"""An agent's words offer nothing to a finger but addresses that say where they lead."""

import pytest

from amiral.telegram.marks import Kind, Mark, Marked
from amiral.telegram.taps import untouchable


def code(text, *marks):
    marked = untouchable(Marked(text, marks))
    assert marked.marks[: len(marks)] == marks
    return [text[mark.start : mark.end] for mark in marked.marks[len(marks) :]]


@pytest.mark.parametrize(
    ("text", "touched"),
    [
        ("use /stop all", ["/stop"]),
        ("/emergency_stop@some_bot.", ["/emergency_stop@some_bot"]),
        ("in /etc/app.toml:", ["/etc/app.toml"]),
        ("every */5, in ~/x.toml", ["*/5", "~/x.toml"]),
        ("ask @some_user, or @scope/package", ["@some_user", "@scope/package"]),
        ("mail a_b@c.d now", ["a_b@c.d"]),
        ("see setup.py and fs.open.", ["setup.py", "fs.open"]),
        ("rm *.py **/*.ts", ["*.py", "**/*.ts"]),
        ("on 10.0.0.1:8080/x", ["10.0.0.1:8080/x"]),
        ("http://localhost:3000/ and tg://x", ["http://localhost:3000/", "tg://x"]),
        ("🎉.com", ["🎉.com"]),
        ("https://example.org/x…/stop", ["/stop"]),
        ("https://example.org/tg://resolve", ["tg://resolve"]),
        ("https://example.org:99999/stop", []),  # nor is it one for Telegram
        ("@bob*setup.py", ["@bob*setup.py"]),
        ("see.https://example.org/x==/stop", ["see.https://example.org/x", "/stop"]),
        ("x.1,https://example.org/", ["https://example.org/"]),
    ],
)
def test_commands_people_files_and_hosts_become_code(text, touched):
    assert code(text) == touched


@pytest.mark.parametrize(
    "text",
    [
        "",
        "and/or, 1/2, a / b",
        "v1.2.3 at 10:30",
        "v1.2 b\nhttps://example.org/ c",
        "v1.2\nb https://example.org/ c",
        "https://example.org/a_(b)?c=/d#e, on",
        "(https://example.org:8080/a.py)",
        "看https://example.org/",
    ],
)
def test_all_else_stays_text(text):
    assert code(text) == []


def test_what_is_code_or_a_link_already_is_not_marked_again():
    text = "/a /b /c"
    solid = Mark(Kind.CODE, 0, 2), Mark(Kind.LINK, 3, 5, "https://example.org")
    assert code(text, *solid) == ["/c"]
    assert code(text, Mark(Kind.BOLD, 0, 8)) == ["/a", "/b", "/c"]


def test_an_address_glued_to_a_link_becomes_code():
    text = "example.org" + "https://example.org/x"
    link = Mark(Kind.LINK, 0, 11, "https://example.org")
    assert code(text, link) == ["https://example.org/x"]


@pytest.mark.parametrize(
    "piece", ["a", "a.", "@", "/", "~/", "a@", "1.", "http://", "https://a.bb/("]
)
def test_a_text_of_one_endless_word_is_gone_through_quickly(piece):
    untouchable(Marked(piece * (60_000 // len(piece))))
