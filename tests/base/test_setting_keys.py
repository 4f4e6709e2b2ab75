"""What each setting takes and what it refuses."""

import math

import pytest

from amiral.base.setting_keys import NAMED, NARROWING, PLAIN

GOOD = [
    *(("hub", "host", host) for host in ("127.0.0.1", "127.9.8.7", "::1", "localhost")),
    *(("hub", "port", port) for port in (0, 8787, 65535)),
    *(("web", "control", word) for word in ("owner", "off")),
    ("telegram", "api_base", "https://api.telegram.org"),
    ("telegram", "master_token", "vault:telegram/master"),
    ("telegram", "master_token", ""),
    ("telegram", "owners", []),
    *(
        ("sandbox", "network", value)
        for value in ("open", "none", [], ["a.io", "*.b.io", "c.io:8443", "[fd00::1]:443"])
    ),
    *(("limits", "stagger_s", value) for value in (0, 0.5, 60)),
    *(
        ("limits", "quiet_hours", value)
        for value in ("", "23:00-07:00", "23:00-07:00 Europe/Paris", "23:00-07:00 local")
    ),
    ("logs", "dir", "/var/log/amiral"),
    *(("ui", "zone", value) for value in ("local", "Europe/Paris", "UTC")),
    ("limits", "auto_resume", False),
]
BAD = [
    *(("hub", "host", host) for host in ("0.0.0.0", "192.168.1.2", "127.0.0.1.evil.io", 1)),
    *(("hub", "port", port) for port in (-1, 65536, True, "8787", 80.0)),
    ("web", "control", "everyone"),
    *(("telegram", "api_base", value) for value in ("ftp://a", "https://user@host", "https://a b")),
    *(
        ("telegram", "master_token", value)
        for value in ("123456:AA-a-token-in-the-open", "vault:", "vault:Telegram", 5)
    ),
    ("telegram", "owners", 5),
    *(
        ("sandbox", "network", value)
        for value in ("some", ["a b"], ["http://a"], ["a*.io"], [5], 5)
    ),
    *(("limits", "stagger_s", value) for value in (-1, True, math.inf, math.nan, "60")),
    *(("limits", "quiet_hours", value) for value in ("25:00-07:00", "23:00-07:00 Nowhere/X", 5)),
    *(("logs", "dir", value) for value in ("a\nb", 5)),
    *(("ui", "zone", value) for value in ("Nowhere/X", "../etc/passwd", "", 5)),
    ("limits", "auto_resume", 1),
]


@pytest.mark.parametrize(("section", "key", "value"), GOOD)
def test_a_setting_takes(section, key, value):
    assert PLAIN[section][key].is_good(value)


@pytest.mark.parametrize(("section", "key", "value"), BAD)
def test_a_setting_refuses(section, key, value):
    assert not PLAIN[section][key].is_good(value)


@pytest.mark.parametrize(
    ("section", "key", "good", "bad"),
    [
        ("drivers", "env", {"A_1": "x"}, {"1A": "x"}),
        ("drivers", "env", {}, {"A": 1}),
        ("drivers", "env", {"A": "vault:a/b", "B": "vault"}, {"A": "vault:No Such"}),
        ("drivers", "config", {"any": [1]}, [1]),
        ("projects", "members", {"telegram:12": "viewer"}, {"telegram:12": "owner"}),
        ("projects", "members", {}, {"12": "viewer"}),
        ("projects", "budget", {"day_usd": 2.5, "turn_tokens": 0}, {"week_usd": 1}),
        ("projects", "budget", {}, {"day_usd": -1}),
    ],
)
def test_a_setting_of_one_driver_or_project(section, key, good, bad):
    field = NAMED[section][key]
    assert field.is_good(good)
    assert not field.is_good(bad)


def test_an_owner_of_a_chat_is_a_number():
    item = PLAIN["telegram"]["owners"].item
    assert item is not None
    assert item.is_good(12345)
    assert not any(item.is_good(value) for value in (0, -1, True, "12345"))


def test_a_project_of_its_own_narrows_only():
    assert set(NARROWING) == {"ui", "sandbox", "budget"}
    assert set(NARROWING["sandbox"]) == {"mode", "network"}
    assert not NARROWING["budget"]["day_usd"].is_good("2")
