"""How Codex is started: what it may do, what carries its login, when that is renewed."""

import base64
import json
import tomllib
from dataclasses import replace

import pytest

from amiral.agents.driver import Launch, Login, Seat
from amiral.agents.drivers.codex.driver import DRIVER
from amiral.agents.drivers.codex.launch import API, KEY, LOGIN_FILE, entry, login, plan, renewal
from amiral.agents.drivers.codex.projection import project
from amiral.base.errors import Denied
from amiral.permissions.projection import Enforcement
from amiral.permissions.rules import Permissions, Posture

MINE = {"model_provider": "mine", "model_providers": {"mine": {"env_key": "MY_KEY"}}}
NOW_MS = 1_796_052_475_000
SEAT = Seat(
    worker="backend",
    command=("/opt/codex", "--own"),
    cwd="/project",
    config_home="/w/home",
    tmp="/w/tmp",
    model="opus",
    tools="all",
    max_turns=3,
    identity="You are \ud83d.",
    login={"HOME": "/root", "CODEX_HOME": "/root/.codex"},
    fresh_key="11111111-2222-4333-8444-555555555555",
)


def planned(seat: Seat) -> Launch:
    return plan(seat, project(seat))


def configured(seat: Seat) -> dict:
    (text,) = [file.text for file in planned(seat).files if file.path == "config.toml"]
    return tomllib.loads(text)


def opening(seat: Seat) -> dict:
    opened = planned(seat).inputs[-1]
    told = json.loads(opened.data)
    assert opened.id == told["id"] == "open"
    return {"method": told["method"], **told["params"]}


def test_its_homes_are_the_worker_s_own_whatever_the_login_says():
    launch = planned(SEAT)
    assert launch.argv == ("/opt/codex", "--own", "app-server")
    assert launch.env == {"HOME": "/w/home", "CODEX_HOME": "/w/home", "TMPDIR": "/w/tmp"}
    files = {file.path: file.text for file in launch.files}
    assert files["AGENTS.md"] == "You are \ufffd."
    assert "name = backend\n" in files[".gitconfig"]


def test_the_lines_it_is_greeted_with_are_the_same_every_time():
    assert [line.id for line in planned(SEAT).inputs] == ["initialize", "initialized", "open"]
    assert planned(SEAT).inputs == planned(SEAT).inputs
    assert "id" not in json.loads(planned(SEAT).inputs[1].data), "a notice, not a request"


@pytest.mark.parametrize(
    ("tools", "sandbox", "asks"),
    [
        ("all", "workspace-write", "on-request"),
        (("Read", "Bash"), "workspace-write", "on-request"),
        (("Read", "Write"), "read-only", "on-request"),
        (("Edit",), "read-only", "on-request"),
        (("Read", "Glob", "Grep", "WebSearch", "WebFetch"), "read-only", "never"),
        (("Bash(git *)",), "read-only", "never"),
        ((), "read-only", "never"),
        ("Bash", "read-only", "never"),
    ],
)
def test_the_tools_decide_what_the_sandbox_allows_s0_28_s3_90(tools, sandbox, asks):
    told = opening(replace(SEAT, tools=tools))
    assert (told["sandbox"], told["approvalPolicy"]) == (sandbox, asks)


@pytest.mark.parametrize(
    ("tools", "shell", "web"),
    [
        ("all", True, "live"),
        (("Bash",), True, "disabled"),
        (("Grep", "WebFetch"), True, "live"),
        (("Write", "WebSearch"), False, "live"),
        ((), False, "disabled"),
    ],
)
def test_what_it_may_not_have_is_switched_off(tools, shell, web):
    told = configured(replace(SEAT, tools=tools))
    assert (told["features"]["shell_tool"], told["features"]["view_image"]) == (shell, shell)
    assert told["web_search"] == web
    assert told["features"]["apps"] is told["agents"]["enabled"] is False
    assert told["sandbox_workspace_write"] == {"exclude_slash_tmp": True}


def test_the_folder_is_not_named_else_codex_would_trust_it():
    assert "cwd" not in opening(SEAT) and planned(SEAT).cwd == "/project"
    assert "projects" not in configured(SEAT)


def test_a_conversation_is_begun_or_resumed():
    assert opening(SEAT)["method"] == "thread/start"
    told = opening(replace(SEAT, resume_key="t1", fresh_key=""))
    assert (told["method"], told["threadId"], told["excludeTurns"]) == ("thread/resume", "t1", True)


@pytest.mark.parametrize("model", ["", "opus", "sonnet[1m]", "haiku", "claude-sonnet-4-5"])
def test_names_of_another_vendor_s_models_mean_codex_own_choice(model):
    assert "model" not in opening(replace(SEAT, model=model))


@pytest.mark.parametrize("model", ["gpt-5.5", "o4-mini", "qwen3:8b", "sonnets"])
def test_any_other_model_is_asked_for_by_its_name(model):
    assert opening(replace(SEAT, model=model))["model"] == model


def test_what_the_owner_configures_lies_over_ours():
    options = {"features": {"apps": True}, "model": "gpt-5.5", "analytics": {"enabled": True}}
    told = configured(replace(SEAT, options=options))
    assert told["features"]["apps"] and told["features"]["shell_tool"]
    assert told["features"]["goals"] is False
    assert (told["model"], told["analytics"]) == ("gpt-5.5", {"enabled": True})


def test_a_key_makes_a_provider_of_its_own_and_is_kept_from_commands():
    told = configured(replace(SEAT, login={KEY: "k"}))
    provider = told["model_providers"][told["model_provider"]]
    assert (provider["env_key"], provider["base_url"]) == (KEY, API)
    assert told["shell_environment_policy"] == {"exclude": [KEY]}
    assert "model_provider" not in configured(SEAT)
    mine = configured(replace(SEAT, login={KEY: "k", "MY_KEY": "m"}, options=MINE))
    assert mine["model_provider"] == "mine"
    assert mine["shell_environment_policy"] == {"exclude": ["MY_KEY"]}


@pytest.mark.parametrize(
    ("options", "variables", "files", "is_needed"),
    [
        ({}, (KEY,), (LOGIN_FILE,), True),
        ({"openai_base_url": "http://127.0.0.1:1/v1"}, (KEY,), (LOGIN_FILE,), False),
        (MINE, ("MY_KEY",), (), True),
        ({"model_provider": "mine", "model_providers": {"mine": {}}}, (), (), False),
        ({"model_provider": "ollama"}, (), (), False),
        ({"model_provider": "mine", "model_providers": 3}, (), (), False),
    ],
)
def test_the_login_is_what_the_chosen_provider_asks_for(options, variables, files, is_needed):
    found = login(options)
    assert (found.variables, found.files, found.is_needed) == (variables, files, is_needed)
    assert (found.entry is not None) == (found.renewal is not None) == bool(files)


def test_a_provider_may_want_codex_own_login():
    own = {"mine": {"requires_openai_auth": True}}
    assert login({"model_provider": "mine", "model_providers": own}).files == (LOGIN_FILE,)
    assert login({"model_provider": "mine"}) == Login()


def test_logging_in_is_codex_own_at_a_terminal_and_a_key_from_stdin_elsewhere():
    launch = entry(("codex",), "/logins/codex", True)
    assert (launch.argv, launch.env["CODEX_HOME"]) == (("codex", "login"), "/logins/codex")
    (config,) = launch.files
    assert tomllib.loads(config.text)["cli_auth_credentials_store"] == "file"
    assert entry(("codex",), "/l", False).argv[-1] == "--with-api-key"


# ---- renewal


def tokens(claims: object) -> bytes:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return json.dumps({"tokens": {"access_token": f"e30.{body}.c2ln"}}).encode()


@pytest.mark.parametrize(
    ("left_s", "is_due", "is_told"),
    [(-60, True, False), (350, True, False), (370, True, True), (1900, False, False)],
)
def test_a_login_is_renewed_before_codex_would_do_it_itself(left_s, is_due, is_told):
    content = tokens({"exp": NOW_MS // 1000 + left_s})
    launch = renewal(("codex",), "/logins/codex", content, NOW_MS)
    assert (launch is not None) == is_due
    if launch is not None:
        assert launch.argv == ("codex", "app-server")
        asked = json.loads(launch.inputs[-1].data)
        assert (asked["method"], asked["params"]) == ("account/read", {"refreshToken": is_told})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"\xff",
        b'{"OPENAI_API_KEY": "k"}',
        b'{"tokens": {"access_token": "opaque"}}',
        b'{"tokens": {"access_token": "a.b.c"}}',
        b'{"tokens": {"access_token": "a.\xc3\xa9.c"}}',
        tokens([]),
        tokens({"exp": "soon"}),
        tokens({}),
    ],
)
def test_a_login_that_does_not_tell_its_end_is_left_alone(content):
    assert renewal(("codex",), "/l", content, NOW_MS) is None


def test_in_a_terminal_it_has_what_it_has_in_a_turn_and_asks_as_much():
    seat = replace(SEAT, model="gpt-5")
    there, turn = DRIVER.in_terminal(seat), planned(seat)
    how = ("--no-daemon", "--sandbox", "workspace-write", "--ask-for-approval", "on-request")
    assert there.argv == (*SEAT.command, *how, "--model", "gpt-5")
    assert (there.env, there.cwd, there.files, there.inputs) == (turn.env, turn.cwd, turn.files, ())
    assert DRIVER.in_terminal(SEAT).argv == (*SEAT.command, *how), "a model of another CLI"


def test_where_it_would_ask_less_in_a_terminal_it_gets_none():
    seat = replace(SEAT, permissions=Permissions(Posture.ASK, ()), enforcement=Enforcement.ENFORCED)
    with pytest.raises(Denied, match="cannot be made to in a terminal"):
        DRIVER.in_terminal(seat)
