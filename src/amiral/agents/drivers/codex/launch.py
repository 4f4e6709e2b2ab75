"""Pure: how Codex is started: its configuration, what it may do, what carries its login."""

import re
import tomllib
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import replace

from amiral.agents import driver as d
from amiral.agents.drivers.codex.projection import (
    CONFIG_FILE,
    READING,
    RUNNING,
    Stance,
    has,
    stance,
)
from amiral.agents.fields import clean_text, json_line, read_fields
from amiral.agents.instants import read_instant
from amiral.base.errors import Denied
from amiral.base.toml_text import merge, toml_text
from amiral.permissions.projection import Projection
from amiral.permissions.tools import WEB_TOOLS

KEY = "CODEX_API_KEY"
KEY_PROVIDER = "openai-by-key"
API = "https://api.openai.com/v1"
LOG_IN = "amiral login codex"
LOGIN_FILE = "auth.json"
RENEWED_BEFORE_MS, BY_ITSELF_MS = 30 * 60_000, 6 * 60_000
ASKED_IN_TERMINAL = ("on-request", "never")
OPEN = "open"
"""Begins the id of the line that asks for a thread, and comes back; the stance's marks follow."""
FEATURES = (
    *("apps", "browser_use", "computer_use", "goals", "image_generation", "memories"),
    *("plugins", "remote_plugin", "skill_search", "tool_suggest"),
)
CONFIG: Mapping[str, object] = {
    "check_for_update_on_startup": False,
    "cli_auth_credentials_store": "file",
    "agents": {"enabled": False},
    "analytics": {"enabled": False},
    "history": {"persistence": "none"},
    "features": dict.fromkeys(FEATURES, False),
    "sandbox_workspace_write": {"exclude_slash_tmp": True},
}
UNHEARD = (
    *("item/agentMessage/delta", "item/plan/delta", "item/commandExecution/outputDelta"),
    *("item/fileChange/outputDelta", "item/fileChange/patchUpdated", "turn/diff/updated"),
    *("item/reasoning/summaryTextDelta", "item/reasoning/textDelta"),
)
CLIENT = {"name": "amiral", "title": "amiral", "version": "1"}
ANOTHER_S = re.compile(r"claude.*|(?:sonnet|opus|haiku)\b.*|opusplan|default|inherit")
_CONFIG = d.FileToWrite(CONFIG_FILE, toml_text(CONFIG))


def plan(seat: d.Seat, told: Projection) -> d.Launch:
    """Plan the process.

    The identity stands in AGENTS.md, which Codex reads again when it resumes a thread.
    """
    home = seat.config_home
    person = f"[user]\n\tname = {seat.worker}\n\temail = {seat.worker}@amiral.invalid\n"
    projected = "".join(file.text for file in told.files if file.path == CONFIG_FILE)
    config = merge(_config(seat), tomllib.loads(projected))
    files = (
        d.FileToWrite(".gitconfig", person),
        d.FileToWrite("AGENTS.md", clean_text(seat.identity)),
        d.FileToWrite(CONFIG_FILE, toml_text(config), is_merged=True),
    )
    env = {**told.env, **seat.login, **_folders(home), "TMPDIR": seat.tmp}
    opening = _thread(seat, stance(seat))
    return d.Launch(_argv(seat.command), env, seat.cwd, files, (*_greeting(), opening))


def plan_in_terminal(seat: d.Seat, told: Projection) -> d.Launch:
    """Plan it for a person at a terminal; Denied where it would ask less there than in a turn."""
    chosen, model = stance(seat), _model(seat)
    if chosen.approval not in ASKED_IN_TERMINAL:
        raise Denied(
            f"Codex asks for whatever {seat.worker} does, as permissions.json wants, and cannot be "
            "made to in a terminal",
            "amiral say, whose turns ask; or give the worker another driver",
        )
    how = ("--no-daemon", "--sandbox", chosen.sandbox, "--ask-for-approval", chosen.approval)
    named = ("--model", model) if model else ()
    return replace(plan(seat, told), argv=(*seat.command, *how, *named), inputs=())


def login(options: Mapping[str, object]) -> d.Login:
    """Tell what carries the login: of Codex's own provider, or of the one the owner chose."""
    name, providers = options.get("model_provider", "openai"), options.get("model_providers")
    found = providers.get(name) if isinstance(providers, dict) else None
    own = found if isinstance(found, dict) else {}
    if name == "openai" or own.get("requires_openai_auth") is True:
        is_needed = "openai_base_url" not in options
        return d.Login((KEY,), (LOGIN_FILE,), is_needed, entry, renewal)
    key = own.get("env_key")
    return d.Login((key,), is_needed=True) if isinstance(key, str) else d.Login()


def entry(command: tuple[str, ...], folder: str, has_terminal: bool) -> d.Launch:  # noqa: FBT001
    """Plan the process that logs in: by a browser, or by an API key on stdin."""
    how = ("login",) if has_terminal else ("login", "--with-api-key")
    return d.Launch((*command, *how), _folders(folder), folder, (_CONFIG,))


def renewal(command: tuple[str, ...], folder: str, content: bytes, now_ms: int) -> d.Launch | None:
    """Plan the renewal of a login that ends soon, None for any other one.

    In the last five minutes Codex renews by itself, each process with the token it has: of several
    one wins. It must not be told to as well then, or it does so twice, and is ended in between.
    """
    tokens = read_fields(content)
    ends_ms = _end_of(tokens.inner("tokens").text("access_token")) if tokens else None
    if ends_ms is None or ends_ms - now_ms > RENEWED_BEFORE_MS:
        return None
    is_told = ends_ms - now_ms > BY_ITSELF_MS
    asked = request("renew", "account/read", {"refreshToken": is_told})
    return d.Launch(_argv(command), _folders(folder), folder, (_CONFIG,), (*_greeting(), asked))


def request(name: str, method: str, params: Mapping[str, object]) -> d.Input:
    """Give the line of a request, whose number is the line's own id."""
    return d.Input(name, json_line({"id": name, "method": method, "params": params}))


def _argv(command: tuple[str, ...]) -> tuple[str, ...]:
    return (*command, "app-server")


def _folders(home: str) -> dict[str, str]:
    return {"HOME": home, "CODEX_HOME": home}


def _greeting() -> tuple[d.Input, ...]:
    told = {"clientInfo": CLIENT, "capabilities": {"optOutNotificationMethods": UNHEARD}}
    started = d.Input("initialized", json_line({"method": "initialized"}))
    return request("initialize", "initialize", told), started


def _config(seat: d.Seat) -> Mapping[str, object]:
    variables, may_read = login(seat.options).variables, has(seat, RUNNING | READING)
    own: dict[str, object] = {
        "features": {"shell_tool": may_read, "view_image": may_read},
        "web_search": "live" if has(seat, WEB_TOOLS) else "disabled",
        "shell_environment_policy": {"exclude": list(variables)},
    }
    if KEY in seat.login and KEY in variables:
        address = seat.options.get("openai_base_url", API)
        provider = {"name": "OpenAI", "base_url": address, "env_key": KEY, "wire_api": "responses"}
        own |= {"model_provider": KEY_PROVIDER, "model_providers": {KEY_PROVIDER: provider}}
    return merge(merge(CONFIG, own), seat.options)


def _thread(seat: d.Seat, chosen: Stance) -> d.Input:
    """No folder is named, it is the process's own: Codex would trust it, and run its .codex."""
    told: dict[str, object] = {"approvalPolicy": chosen.approval, "sandbox": chosen.sandbox}
    if model := _model(seat):
        told["model"] = model
    name = " ".join((OPEN, *chosen.marks))
    if not seat.resume_key:
        return request(name, "thread/start", told)
    known = {"threadId": seat.resume_key, "excludeTurns": True}
    return request(name, "thread/resume", {**known, **told})


def _model(seat: d.Seat) -> str:
    """Give the model asked for, "" for one of another CLI."""
    return "" if ANOTHER_S.fullmatch(seat.model) else seat.model


def _end_of(token: str) -> int | None:
    """Read when a JSON web token ends, None when it does not tell."""
    claims = token.split(".")[1:2]
    try:
        told = urlsafe_b64decode(claims[0] + "==") if claims else b""
    except ValueError:
        return None
    found = read_fields(told)
    return read_instant(found.value("exp")) if found else None
