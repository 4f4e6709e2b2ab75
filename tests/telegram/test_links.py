"""A link can be tapped when it leads where it says, and Telegram can read it."""

import pytest

from amiral.telegram.links import is_link, is_web


@pytest.mark.parametrize(
    "target",
    [
        "https://example.org",
        "HTTP://Example.org:8080/a_b?c=d#e",
        "https://example.org?x",
        "https://en.wikipedia.org/wiki/A_(b)",
    ],
)
def test_addresses_of_sites_can_be_tapped(target):
    assert is_web(target)


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "tg://resolve?domain=x",
        "mailto:a@example.org",
        "README.md",
        "#usage",
        "",
        "http://localhost:3000/",
        "https://bank.example.org@example.net/",
        "https://еxample.org",  # noqa: RUF001 - the first letter is Cyrillic
        "https://example.org:99999/",
        "https://example.org/a b",
        "https://example.org\n.example.net",
    ],
)
def test_nothing_else_can(target):
    assert not is_web(target)


@pytest.mark.parametrize(
    "shown",
    ["the docs", "Example.org", "https://example.org/", "http://example.org", "v. 2", "it… there"],
)
def test_a_text_that_names_no_other_address_stands_for_its_target(shown):
    assert is_link(shown, "https://example.org/")


@pytest.mark.parametrize(
    "shown",
    [
        *("", "bank.example.org", "https://bank", "x@bank", "example.org/login"),
        *("bank。org", "bank｡org", "bank．org", "bank․org", "bank·org"),  # noqa: RUF001 - other dots
        *("bank\u200b.org", "bank.\u2060org", "bank.\ufe0forg", "bank\u00ad.org"),
    ],
)
def test_a_text_that_names_another_one_does_not(shown):
    assert not is_link(shown, "https://example.org/")


def test_a_text_for_what_cannot_be_tapped_is_no_link():
    assert not is_link("run", "javascript:alert(1)")
