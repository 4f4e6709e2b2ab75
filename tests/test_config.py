"""Behaviour of the settings (docs/reference/configuration.md)."""

import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base.errors import Denied, Invalid
from amiral.base.setting_keys import NAMED, PLAIN
from amiral.base.settings import DriverSettings, Fleet, Hub, ProjectSettings, Settings
from amiral.config import find_home, load_settings, narrow, read_settings

REFERENCE = Path(__file__).parents[1] / "docs" / "reference" / "configuration.md"
FULL = """
[hub]
host = "127.0.0.2"
port = 9000
[web]
control = "off"
[telegram]
api_base = "http://127.0.0.1:8081"
master_token = "vault:bots/one"
owners = [1, 2]
[drivers.claude]
command = ["/opt/claude", "--x"]
env = {ANTHROPIC_BASE_URL = "http://127.0.0.1:1", KEY = "vault:k"}
login = "shared"
[drivers.codex]
config = {model_provider = "mine"}
[drivers.scripted]
scenario = "/x.yaml"
[sandbox]
enforcer = "landlock"
mode = "strict"
network = ["api.example.com", "*.example.org"]
[limits]
auto_resume = false
quiet_hours = "23:00-07:00 Europe/Paris"
stagger_s = 1.5
[safety]
stop_grace_s = 1
approval_ttl_s = 60
[logs]
dir = "/var/log/amiral"
max_mb = 10
[ui]
language = "fr"
zone = "Europe/Paris"
[projects."my shop"]
path = "~/code/shop"
test = "pytest -q"
deploy = "make deploy"
members = {"telegram:123" = "member"}
budget = {turn_tokens = 1000, day_usd = 2.5}
[fleet]
heartbeat_s = 5
max_concurrent_turns = 3
"""


def read(text, **environ):
    return read_settings(text, "amiral.toml", environ)


def mistakes(text, **environ):
    with pytest.raises(Invalid) as refused:
        read(text, **environ)
    return refused.value.message.split("\n")


def test_nothing_set_gives_the_defaults():
    assert read("") == Settings()
    assert read("").hub == Hub("127.0.0.1", 8787)
    assert read("").driver("claude") == DriverSettings(("claude",))
    assert read("").driver("mycli").command == ("mycli",)


def test_every_key_of_the_contract_is_accepted():
    settings = read(FULL)
    assert settings.telegram.owners == (1, 2)
    assert settings.driver("claude").command == ("/opt/claude", "--x")
    assert settings.driver("claude").env["KEY"] == "vault:k"
    assert settings.driver("codex") == DriverSettings(("codex",), config={"model_provider": "mine"})
    assert settings.sandbox.network == ("api.example.com", "*.example.org")
    assert settings.limits.quiet_hours == "23:00-07:00 Europe/Paris"
    assert settings.fleet == Fleet(5, 3)
    assert settings.projects["my shop"] == ProjectSettings(
        "~/code/shop",
        "pytest -q",
        "make deploy",
        {"telegram:123": "member"},
        {"turn_tokens": 1000, "day_usd": 2.5},
    )
    assert set(FULL.split()) >= {*(key for keys in PLAIN.values() for key in keys)}


def test_every_value_knows_where_it_comes_from():
    settings = read("[hub]\nport = 1\n[ui]\nlanguage = 'fr'", AMIRAL_UI_LANGUAGE="en")
    assert settings.sources == {
        "hub.port": "amiral.toml:2",
        "ui.language": "AMIRAL_UI_LANGUAGE",
    }
    assert settings.ui.language == "en"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[hub]\nprot = 1", "amiral.toml:2: unknown key hub.prot (did you mean port?)"),
        ("[hbu]\nport = 1", "amiral.toml:1: unknown section [hbu] (did you mean hub?)"),
        ("[hbu]", "amiral.toml:1: unknown section [hbu] (did you mean hub?)"),
        ("port = 1", "amiral.toml:1: unknown section [port]"),
        ("hub = 1", "amiral.toml:1: [hub] must be a table of host, port"),
        ("[[hub]]\nport = 1", "amiral.toml:1: [hub] must be a table of host, port"),
        ("[drivers]\ncodex = 1", "amiral.toml:2: [drivers.codex] must be a table of command, env,"),
        ("[drivers.x]\ncomand = []", "amiral.toml:2: unknown key drivers.x.comand (did you mean"),
        ("[hub]\nport = '1'", 'hub.port must be a port from 0 to 65535 (got "1")'),
        ("[hub]\nport = true", "hub.port must be a port"),
        ("[hub]\nport = 70000", "hub.port must be a port"),
        ("[hub]\nhost = '0.0.0.0'", "must be a loopback address"),
        ("[hub]\nport = 1979-05-27", 'hub.port must be a port from 0 to 65535 (got "1979-05-27")'),
        ("[web]\ncontrol = 'all'", 'web.control must be "owner" or "off" (got "all")'),
        ("[telegram]\nowners = [1, 'x']", "telegram.owners must be a list, each a numeric id"),
        ("[telegram]\nowners = [0]", "telegram.owners must be"),
        ("[telegram]\napi_base = 'ftp://x'", "api_base must be an http(s) address"),
        ("[telegram]\napi_base = 'http://u:p@x'", "api_base must be"),
        ("[drivers.a]\ncommand = 'x'", "drivers.a.command must be a list, each a word"),
        ("[drivers.a]\nlogin = 'own'", 'drivers.a.login must be "shared"'),
        ("[drivers.a]\nenv = {'A B' = 'x'}", "drivers.a.env must be a table"),
        ("[drivers.a]\nconfig = 1", "drivers.a.config must be a table"),
        ("[sandbox]\nnetwork = 'all'", "sandbox.network must be"),
        ("[sandbox]\nnetwork = ['a b']", "sandbox.network must be"),
        ("[limits]\nquiet_hours = '25:00-07:00'", "limits.quiet_hours must be hours"),
        ("[limits]\nquiet_hours = '23:00-07:00 Mars/X'", "limits.quiet_hours must be"),
        ("[limits]\nstagger_s = -1", "limits.stagger_s must be seconds"),
        ("[limits]\nstagger_s = nan", "limits.stagger_s must be seconds"),
        ("[limits]\nauto_resume = 1", "limits.auto_resume must be true or false"),
        ("[logs]\ndir = 'a\\nb'", None),
        ('[logs]\ndir = "a\\nb"', "logs.dir must be a text on one line"),
        ("[ui]\nzone = 'Mars/X'", "ui.zone must be a zone"),
        ("[ui]\nzone = '../etc'", "ui.zone must be a zone"),
        ("[ui]\nzone = 5", "ui.zone must be a zone"),
        ("[projects.a]\nmembers = {x = 'owner'}", "projects.a.members must be"),
        ("[projects.a]\nmembers = {'telegram:1' = 'owner'}", "projects.a.members must be"),
        ("[projects.a]\nbudget = {hour_usd = 1}", "projects.a.budget must be a table of amounts"),
        ("[projects.a.b]\nc = 1", "unknown key projects.a.b"),
        ("hub = {port = 1", "amiral.toml:1: "),
    ],
)
def test_a_mistake_names_its_line_and_what_is_wanted(text, message):
    if message is None:
        assert read(text).logs.dir == "a\\nb"
        return
    (found,) = mistakes(text)
    assert message in found
    assert found.startswith("amiral.toml:")


def test_every_mistake_is_told_at_once_in_the_order_of_the_file():
    text = "[hub]\nport = 'x'\n[drivers.a]\nb = 1\n[web]\ncontrol = 5"
    found = mistakes(text, AMIRAL_HUB_PORT="y")
    assert [line.split(" ")[0] for line in found] == [
        "amiral.toml:2:",
        "amiral.toml:4:",
        "amiral.toml:6:",
        "AMIRAL_HUB_PORT:",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[telegram]\nmaster_token = '123456:AAcanary'",
        "[drivers.a]\nenv = {A = 1, B = 'AAcanary'}",
        "[drivers.a]\nconfig = 'AAcanary'",
    ],
)
def test_a_value_that_may_be_a_secret_is_never_repeated_r50(text):
    (found,) = mistakes(text)
    assert "canary" not in found
    assert "not shown" in found


@pytest.mark.parametrize(
    ("variable", "value", "key", "wanted"),
    [
        ("AMIRAL_HUB_PORT", "9000", "hub.port", 9000),
        ("AMIRAL_UI_LANGUAGE", "fr", "ui.language", "fr"),
        ("AMIRAL_UI_ZONE", "local", "ui.zone", "local"),
        ("AMIRAL_LIMITS_AUTO_RESUME", "false", "limits.auto_resume", False),
        ("AMIRAL_LIMITS_STAGGER_S", "0.5", "limits.stagger_s", 0.5),
        ("AMIRAL_TELEGRAM_OWNERS", "[1, 2]", "telegram.owners", (1, 2)),
        ("AMIRAL_TELEGRAM_OWNERS", "7", "telegram.owners", (7,)),
        ("AMIRAL_SANDBOX_NETWORK", "none", "sandbox.network", "none"),
        ("AMIRAL_SANDBOX_NETWORK", '["a.b"]', "sandbox.network", ("a.b",)),
        ("AMIRAL_LOGS_DIR", "/a b", "logs.dir", "/a b"),
        ("AMIRAL_LOGS_DIR", "5", "logs.dir", "5"),
    ],
)
def test_the_environment_wins_and_is_read_as_its_key_wants(variable, value, key, wanted):
    section, _, name = key.partition(".")
    settings = read("[hub]\nport = 1\n[ui]\nlanguage = 'en'", **{variable: value})
    assert getattr(getattr(settings, section), name) == wanted
    assert settings.sources[key] == variable


def test_the_environment_reaches_drivers_and_projects_by_name():
    settings = read(
        '[projects."my-shop"]\npath = "/x"',
        AMIRAL_DRIVERS_CLAUDE_COMMAND="/a b/claude",
        AMIRAL_DRIVERS_CLAUDE_ENV='{"A": "b"}',
        AMIRAL_DRIVERS_MY_CLI_SCENARIO="s",
        AMIRAL_PROJECTS_MY_SHOP_TEST="make test",
        AMIRAL_PROJECTS_OTHER_TEST="x",
    )
    assert settings.driver("claude").command == ("/a b/claude",)
    assert settings.driver("claude").env == {"A": "b"}
    assert settings.driver("my_cli").scenario == "s"
    assert settings.projects["my-shop"].test == "make test"
    assert settings.projects["other"].test == "x"


def test_an_unknown_variable_of_a_known_section_is_a_mistake_and_others_are_not_ours():
    assert mistakes("", AMIRAL_HUB_PRT="1") == [
        "AMIRAL_HUB_PRT: unknown key hub.prt (did you mean port?)"
    ]
    assert "AMIRAL_DRIVERS_X: [drivers.x] must be a table" in mistakes("", AMIRAL_DRIVERS_X="1")[0]
    assert read("", AMIRAL_HOME="/x", AMIRAL_CLIS="y", HUB_PORT="1", AMIRAL_TAG="z") == Settings()


@given(
    st.dictionaries(st.sampled_from(["AMIRAL_HUB_PORT", "AMIRAL_UI_ZONE"]), st.text()), st.text()
)
def test_settings_are_read_or_refused_whatever_stands_there_p12(environ, text):
    try:
        settings = read_settings(text, "amiral.toml", environ)
    except Invalid:
        return
    assert 0 <= settings.hub.port <= 65535


def test_a_home_without_a_file_has_the_defaults(tmp_path):
    assert load_settings(tmp_path, {}) == Settings()
    (tmp_path / "amiral.toml").write_text("[hub]\nport = 5\n")
    assert load_settings(tmp_path, {}).hub.port == 5


def narrowed(text, owner=""):
    return narrow(read(owner), "shop", text, "amiral.toml")


def test_a_project_without_a_file_has_the_owners_settings_and_budget():
    owner = "[projects.shop]\nbudget = {day_usd = 5}"
    assert narrowed("", owner).settings.budget == {"day_usd": 5}
    assert narrowed("", owner).notices == ()


def test_a_project_may_narrow():
    found = narrowed(
        "[ui]\nlanguage = 'fr'\nzone = 'Asia/Tokyo'\n"
        "[sandbox]\nmode = 'strict'\nnetwork = ['a.b']\n"
        "[budget]\nday_usd = 3\nturn_tokens = 10",
        "[projects.shop]\nbudget = {day_usd = 5}",
    )
    settings = found.settings
    assert found.notices == ()
    assert (settings.ui.language, settings.ui.zone) == ("fr", "Asia/Tokyo")
    assert (settings.sandbox.mode, settings.sandbox.network) == ("strict", ("a.b",))
    assert settings.budget == {"day_usd": 3, "turn_tokens": 10}
    assert settings.sources["ui.language"] == "amiral.toml:2"
    assert settings.sources["budget.day_usd"] == "amiral.toml:8"


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("[sandbox]\nmode = 'snapshot'", ""),
        ("[sandbox]\nmode = 'auto'", "[sandbox]\nmode = 'strict'"),
        ("[sandbox]\nnetwork = 'open'", "[sandbox]\nnetwork = 'none'"),
        ("[sandbox]\nnetwork = ['a.b']", "[sandbox]\nnetwork = 'none'"),
        ("[sandbox]\nnetwork = ['a.b', 'c.d']", "[sandbox]\nnetwork = ['a.b']"),
        ("[sandbox]\nnetwork = 'open'", "[sandbox]\nnetwork = ['a.b']"),
        ("[budget]\nday_usd = 6", "[projects.shop]\nbudget = {day_usd = 5}"),
    ],
)
def test_a_project_never_widens(text, owner):
    found = narrowed(text, owner)
    before = narrowed("", owner)
    assert found.settings == before.settings
    assert found.notices[0].startswith("amiral.toml:2: ")
    assert found.notices[0].endswith("would widen; left out")


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("[sandbox]\nnetwork = 'none'", "[sandbox]\nnetwork = ['a.b']"),
        ("[sandbox]\nnetwork = ['a.b']", "[sandbox]\nnetwork = ['a.b', 'c.d']"),
        ("[sandbox]\nnetwork = 'none'", "[sandbox]\nnetwork = 'none'"),
        ("[budget]\nday_usd = 5", "[projects.shop]\nbudget = {day_usd = 5}"),
    ],
)
def test_what_is_as_strict_or_stricter_is_taken(text, owner):
    assert narrowed(text, owner).notices == ()


@pytest.mark.parametrize(
    "text",
    [
        "[hub]\nport = 1",
        "[telegram]\nowners = [666]",
        "[drivers.claude]\nenv = {LD_PRELOAD = '/x'}",
        "[projects.shop]\ndeploy = 'curl evil'",
        "[sandbox]\nenforcer = 'none'",
        "[nonsense]\na = 1",
        "nonsense = 1",
    ],
)
def test_nothing_else_a_project_says_has_any_effect_spec_trust(text):
    found = narrowed(text)
    assert found.settings == Settings()
    assert all("can be set in the home only; left out" in notice for notice in found.notices)
    assert found.notices


@pytest.mark.parametrize(
    "text",
    [
        "[budget]\nday_usd = 'x'",
        "[budget]\nhour_usd = 1",
        "[budget.day_usd]\nx = 1",
        "budget = 5",
        "[sandbox]\nnetwrok = 'none'",
        "[ui]\nzone = 'Mars/X'",
        "[ui",
    ],
)
def test_a_narrowing_that_cannot_be_read_is_refused_not_dropped_r56(text):
    with pytest.raises(Invalid, match=r"^amiral\.toml:"):
        narrowed(text)


def test_the_home_is_that_of_the_user_unless_it_is_named(tmp_path):
    assert find_home({}) == Path.home().resolve() / ".amiral"
    assert find_home({"AMIRAL_HOME": ""}) == Path.home().resolve() / ".amiral"
    assert find_home({"AMIRAL_HOME": "~/x"}) == Path.home().resolve() / "x"
    assert find_home({"AMIRAL_HOME": "/srv/../srv/amiral"}) == Path("/srv/amiral")


def test_a_home_in_a_shared_folder_that_is_emptied_is_refused():
    for home in ("/tmp", "/tmp/amiral", "/var/tmp/a/b", "/dev/shm/amiral"):
        with pytest.raises(Denied, match="emptied at a restart"):
            find_home({"AMIRAL_HOME": home})
    assert find_home({"AMIRAL_HOME": "/tmpfoo/x"}) == Path("/tmpfoo/x")


def test_a_private_folder_of_ours_in_between_is_allowed():
    with tempfile.TemporaryDirectory(dir="/tmp") as private:
        assert find_home({"AMIRAL_HOME": private}) == Path(private)
        assert find_home({"AMIRAL_HOME": f"{private}/home"}) == Path(private, "home")
        os.chmod(private, 0o755)
        with pytest.raises(Denied):
            find_home({"AMIRAL_HOME": f"{private}/home"})


def test_every_key_is_documented():
    text = REFERENCE.read_text("utf-8")
    keys = [key for table in (PLAIN, NAMED) for keys in table.values() for key in keys]
    assert not [key for key in keys if not re.search(rf"(^|`){key}(`| = )", text, re.MULTILINE)]
