"""Who is foreign: names that are not ours, pages that we did not serve (R51)."""

import pytest

from amiral.web.origin import is_foreign, is_ours, our_hosts

HOSTS = our_hosts("127.0.0.1", 8787)


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8787", "localhost:8787", "LocalHost:8787", "[::1]:8787"]
)
def test_loopback_by_any_of_its_names_is_ours(host):
    assert is_ours(HOSTS, {"host": host})


@pytest.mark.parametrize(
    "host",
    ["", "127.0.0.1", "localhost", "127.0.0.1:8788", "evil.example:8787", "localhost.evil.example"]
    + [
        "127.0.0.1:8787.evil.example",
        "0.0.0.0:8787",
        "127.0.0.1:8787, localhost:8787",
        "[::]:8787",
    ],
)
def test_r51_any_other_name_is_not_though_it_leads_here(host):
    assert not is_ours(HOSTS, {"host": host})


def test_no_host_at_all_is_not_ours():
    assert not is_ours(HOSTS, {})


def test_the_address_listened_at_is_ours_too_and_the_port_of_http_needs_no_naming():
    assert is_ours(our_hosts("127.0.0.2", 1), {"host": "127.0.0.2:1"})
    assert is_ours(our_hosts("::1", 8787), {"host": "[::1]:8787"})
    assert is_ours(our_hosts("127.0.0.1", 80), {"host": "localhost"})
    assert not is_ours(HOSTS, {"host": "127.0.0.2:8787"})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://127.0.0.1:8787"},
        {"origin": "http://localhost:8787", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
def test_our_page_the_address_bar_and_programs_may_ask(headers):
    assert not is_foreign(HOSTS, headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://evil.example"},
        {"origin": "https://127.0.0.1:8787"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "http://127.0.0.1:8787.evil.example"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://evil.example", "sec-fetch-mode": "navigate"},
        {"origin": "http://127.0.0.1:8787", "sec-fetch-site": "cross-site"},
    ],
)
def test_r51_a_page_of_somebody_else_may_not_also_one_on_another_port(headers):
    assert is_foreign(HOSTS, headers)
