"""The real Codex, driven as amiral drives it, against a model that plays a scenario."""

import asyncio
import base64
import glob
import json
import os
import subprocess
import threading
import time
import uuid
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from amiral.agents.clis import Cli
from amiral.agents.driver import (
    Asked,
    Finished,
    Input,
    Limited,
    Nearing,
    Noise,
    Opened,
    Retrying,
    Said,
    Seat,
    Seen,
    Settlement,
    Used,
)
from amiral.agents.drivers.codex.driver import DRIVER, TESTED
from amiral.agents.drivers.codex.launch import KEY, LOG_IN, login
from amiral.agents.logins import lend_login
from amiral.agents.renewal import Renewals
from amiral.base.clock import SystemClock
from amiral.permissions.projection import Enforcement
from amiral.permissions.rules import Permissions, Posture
from amiral.processes.spawn import Spawner
from amiral.store.brake import Brake
from amiral.store.journal import Journal
from amiral.testbench.model_server import ModelServer
from amiral.testbench.scenario_yaml import parse_scenario

pytestmark = pytest.mark.real_cli
CONSULTANT = ("Read", "Glob", "Grep", "WebSearch", "WebFetch")
PLAIN_TOOLS, CODE_MODE = "gpt-5.5", ""
"""Models of the first kind are offered tools, the newest one an `exec` that runs JavaScript."""


def model(scenario: str) -> ModelServer:
    return ModelServer(parse_scenario(scenario, "scenario.yaml"))


def provider(server: ModelServer, **more) -> dict[str, object]:
    told = {"name": "Scripted", "base_url": f"{server.url}/v1", "wire_api": "responses", **more}
    return {"model_provider": "scripted", "model_providers": {"scripted": told}}


@pytest.fixture
def seat(codex, tmp_path):
    """Give a function that makes a seat whose model is `server`; a new conversation by default."""

    def make(server: ModelServer, **more) -> Seat:
        values = {"tools": "all", "model": PLAIN_TOOLS, "max_turns": 0, "identity": "", **more}
        if "resume_key" not in values:
            values.setdefault("fresh_key", str(uuid.uuid4()))
        values.setdefault("options", provider(server, env_key="SCRIPTED_KEY"))
        folder = values.pop("cwd", tmp_path / "project")
        return Seat(
            worker="backend",
            command=(codex,),
            cwd=str(folder),
            config_home=str(tmp_path / "home"),
            tmp=str(tmp_path / "tmp"),
            login=values.pop("login", {"SCRIPTED_KEY": "none"}),
            **values,
        )

    return make


def settled(seat: Seat, key: str, message: str, text: str = "go") -> Settlement:
    found = glob.glob(DRIVER.transcript(seat, key))
    lines = [line for path in found for line in Path(path).read_bytes().split(b"\n")]
    return DRIVER.settle(lines, message, text)


async def wait_for(condition, patience_s=30.0):
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)


async def opened(cli) -> str:
    """Wait until the thread is open, and give its id."""
    if not DRIVER.is_ready(cli.state):
        await cli.until(Opened)
    return str(cli.state.thread)


async def turn(cli, message: str, text: str) -> Finished:
    await opened(cli)
    finished = await cli.turn(message, text)
    assert isinstance(finished, Finished)
    return finished


def test_the_pinned_version_is_a_tested_one(codex, tmp_path):
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    command = DRIVER.version_command((codex,))
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert DRIVER.version_of(ran.stdout) in TESTED
    assert DRIVER.warning_for(DRIVER.version_of(ran.stdout)) == ""


async def test_a_plain_turn_is_seen_said_and_finished_under_our_own_ids(seat, talk):
    async with model("turns: [{say: Hello there., chunk: 3}, {say: Again.}]") as server:
        one = seat(server, identity="You are IDENTITY-MARK.")
        Path(one.cwd).mkdir()
        Path(one.cwd, "AGENTS.md").write_text("PROJECT-MARK")
        async with talk(DRIVER, one) as cli:
            first = await turn(cli, "m1", "hello")
            second = await turn(cli, "m2", "/clear")
    thread = cli.state.thread
    assert (first.how, first.text, first.resume_key) == ("done", "Hello there.", thread)
    assert first.usage.input_tokens > 0 and first.usage.output_tokens > 0
    assert (second.how, second.text, second.resume_key) == ("done", "Again.", thread)
    assert second.usage.input_tokens < 1.9 * first.usage.input_tokens, "the tokens of one turn"
    assert cli.all(Seen) == [Seen("m1"), Seen("m2")]
    assert cli.all(Said) == [Said("Hello there."), Said("Again.")]
    (told,) = cli.all(Opened)
    assert (told.session_id, told.version, told.model) == (thread, TESTED[-1], PLAIN_TOOLS)
    assert [call.text for call in server.main_calls] == ["hello", "/clear"]
    assert "IDENTITY-MARK" in server.main_calls[0].system
    assert "PROJECT-MARK" in server.main_calls[0].system
    assert cli.all(Noise) == []


@pytest.mark.parametrize("name", [PLAIN_TOOLS, CODE_MODE])
async def test_who_has_all_tools_works_in_the_folder_without_a_question(seat, talk, name):
    scenario = """
    turns:
      - use: {tool: write, args: {path: a.txt, text: "one\\ntwo\\n"}}
      - use: {tool: edit, args: {path: a.txt, old: two, new: three}}
      - use: {tool: bash, args: {command: cat a.txt > b.txt}}
      - use: {tool: bash, args: {command: touch $TMPDIR/t}}
      - use: {tool: read, args: {path: b.txt}}
      - say: done
    """
    async with model(scenario) as server:
        one = seat(server, model=name)
        async with talk(DRIVER, one) as cli:
            final = await turn(cli, "m1", "go")
    assert (final.how, final.text) == ("done", "done")
    assert Path(one.cwd, "b.txt").read_text() == "one\nthree\n"
    assert Path(one.tmp, "t").exists()
    assert cli.all(Used)[0] == Used("Write", f"{one.cwd}/a.txt")
    assert Used("Bash", "cat a.txt > b.txt") in cli.all(Used)
    assert cli.all(Asked) == []


@pytest.mark.parametrize("allow", [True, False])
async def test_a_write_outside_the_folder_is_asked_and_the_answer_is_obeyed(
    seat, talk, tmp_path, allow
):
    outside = tmp_path / "outside.txt"
    scenario = f"""
    turns:
      - use: {{tool: write, args: {{path: {outside}, text: x}}}}
      - use: {{tool: bash, args: {{command: echo x > {tmp_path}/shell.txt}}}}
      - say: so be it
    """
    async with model(scenario) as server, talk(DRIVER, seat(server), allow=allow) as cli:
        final = await turn(cli, "m1", "go")
    assert (final.how, final.text) == ("done", "so be it")
    (asked,) = cli.all(Asked)
    assert (asked.tool, asked.summary) == ("Write", str(outside))
    assert json.loads(asked.arguments) == {"changes": [{"path": str(outside), "content": "x\n"}]}
    assert outside.exists() is allow
    assert not (tmp_path / "shell.txt").exists(), "its own sandbox refuses what did not ask"


@pytest.mark.parametrize("allow", [True, False])
async def test_a_command_that_asks_to_leave_the_sandbox_waits_for_the_answer(seat, talk, allow):
    scenario = "turns: [{use: {tool: bash, args: {command: echo x > c.txt}}}, {say: so be it}]"
    async with model(scenario) as server:
        one = seat(server)
        strict = talk(DRIVER, one, allow=allow)
        asks = tuple(asking_always(line) for line in strict.launch.inputs)
        strict.launch = replace(strict.launch, inputs=asks)
        async with strict as cli:
            final = await turn(cli, "m1", "go")
    assert (final.how, final.text) == ("done", "so be it")
    (asked,) = cli.all(Asked)
    assert (asked.tool, asked.summary) == ("Bash", "echo x > c.txt")
    assert Path(one.cwd, "c.txt").exists() is allow


def asking_always(line: Input) -> Input:
    return replace(line, data=line.data.replace('"on-request"', '"untrusted"'))


@pytest.mark.parametrize("name", [PLAIN_TOOLS, CODE_MODE])
async def test_a_worker_without_tools_to_change_things_changes_nothing_s0_28_s0_29(
    seat, talk, name
):
    visitors: list[str] = []
    house = await asyncio.start_server(lambda *_: visitors.append("one"), "127.0.0.1", 0)
    port = house.sockets[0].getsockname()[1]
    scenario = f"""
    turns:
      - use: {{tool: write, args: {{path: w.txt, text: x}}}}
      - use: {{tool: bash, args: {{command: touch b.txt $TMPDIR/b.txt}}}}
      - use: {{tool: edit, args: {{path: AGENTS.md, old: a, new: b}}}}
      - use: {{tool: bash, args: {{command: "exec 3<>/dev/tcp/127.0.0.1/{port}"}}}}
      - use: {{tool: read, args: {{path: AGENTS.md}}}}
      - say: I cannot
    """
    async with house, model(scenario) as server:
        one = seat(server, tools=CONSULTANT, model=name)
        Path(one.cwd).mkdir()
        Path(one.cwd, "AGENTS.md").write_text("a")
        async with talk(DRIVER, one, allow=True) as cli:
            final = await turn(cli, "m1", "write")
    assert final.text == "I cannot"
    assert cli.all(Asked) == [], "there is nothing it could ask for"
    assert [path.name for path in Path(one.cwd).iterdir()] == ["AGENTS.md"]
    assert Path(one.cwd, "AGENTS.md").read_text() == "a"
    assert list(Path(one.tmp).glob("b.txt")) == []
    assert Used("Bash", "cat AGENTS.md") in cli.all(Used), "reading it may"
    assert visitors == []


OFFERED = [("all", True, True), (("Read",), True, False), (("WebSearch",), False, True)]


@pytest.mark.parametrize(("tools", "shell", "web"), [*OFFERED, ((), False, False)])
async def test_tools_it_may_not_have_are_not_offered(seat, talk, tools, shell, web):
    async with (
        model("{turns: [], default: {say: fine}}") as server,
        talk(DRIVER, seat(server, tools=tools)) as cli,
    ):
        await turn(cli, "m1", "hello")
    offered = server.main_calls[0].tools
    assert ("exec_command" in offered, "web_search" in offered) == (shell, web)
    assert not {"spawn_agent", "create_goal", "multi_agent_v1", "collaboration"} & set(offered)


async def test_who_may_edit_but_not_run_is_asked_at_each_change(seat, talk):
    scenario = """
    turns:
      - use: {tool: write, args: {path: w.txt, text: x}}
      - use: {tool: bash, args: {command: touch b.txt}}
      - say: done
    """
    async with model(scenario) as server:
        one = seat(server, tools=("Read", "Write", "Edit"))
        async with talk(DRIVER, one, allow=True) as cli:
            await turn(cli, "m1", "go")
    assert [asked.tool for asked in cli.all(Asked)] == ["Write"]
    assert [path.name for path in Path(one.cwd).iterdir()] == ["w.txt"]


@pytest.mark.parametrize("below", ["", "inner"])
async def test_what_the_project_configures_is_not_run(seat, talk, tmp_path, below):
    async with model("{turns: [], default: {say: fine}}") as server:
        root = tmp_path / "project"
        one = seat(server, cwd=root / below)
        for folder in {root, root / below}:
            (folder / ".codex").mkdir(parents=True)
            server_text = f'[mcp_servers.x]\ncommand = "touch"\nargs = ["{tmp_path}/mcp"]\n'
            (folder / ".codex" / "config.toml").write_text(server_text)
            hook = {"hooks": [{"type": "command", "command": f"touch {tmp_path}/hook"}]}
            hooks = {"hooks": {"SessionStart": [hook], "UserPromptSubmit": [hook]}}
            (folder / ".codex" / "hooks.json").write_text(json.dumps(hooks))
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        async with talk(DRIVER, one) as cli:
            assert (await turn(cli, "m1", "hello")).how == "done"
    assert not (tmp_path / "mcp").exists() and not (tmp_path / "hook").exists()


async def test_tools_and_identity_of_a_resumed_conversation_are_those_of_now(seat, talk):
    async with model("{turns: [], default: {say: fine}}") as server:
        one = seat(server, identity="FIRST-MARK")
        async with talk(DRIVER, one) as cli:
            await turn(cli, "m1", "hello")
            key = await opened(cli)
        two = seat(server, identity="SECOND-MARK", tools=(), resume_key=key)
        async with talk(DRIVER, two) as cli:
            final = await turn(cli, "m2", "hello again")
    assert (final.text, final.resume_key) == ("fine", key)
    first, second = server.main_calls
    assert "exec_command" in first.tools
    assert "exec_command" not in second.tools
    assert "SECOND-MARK" not in first.system
    assert second.system.rindex("SECOND-MARK") > second.system.rindex("FIRST-MARK")
    assert "replace all previously provided" in second.system


async def test_the_login_is_not_among_what_commands_see_and_git_knows_the_worker(seat, talk):
    command = "env > env.txt; git config user.name > name.txt"
    scenario = f"turns: [{{use: {{tool: bash, args: {{command: {command}}}}}}}, {{say: done}}]"
    async with model(scenario) as server:
        one = seat(server, login={"SCRIPTED_KEY": "none", "PLAIN": "seen"})
        async with talk(DRIVER, one) as cli:
            await turn(cli, "m1", "go")
    seen = Path(one.cwd, "env.txt").read_text()
    assert "PLAIN=seen" in seen and "SCRIPTED_KEY" not in seen
    assert Path(one.cwd, "name.txt").read_text() == "backend\n"


async def test_a_key_in_the_environment_is_used(seat, talk):
    async with model("turns: [{say: fine}]") as server:
        options = {"openai_base_url": f"{server.url}/v1"}
        one = seat(server, login={KEY: "dummy"}, options=options)
        async with talk(DRIVER, one) as cli:
            final = await turn(cli, "m1", "hello")
    assert final.text == "fine"


async def test_codex_own_provider_falls_back_from_websockets_at_once(seat, talk):
    async with model("turns: [{say: fine}]") as server:
        options = {"openai_base_url": f"{server.url}/v1"}
        began = time.monotonic()
        async with talk(DRIVER, seat(server, login={}, options=options)) as cli:
            final = await turn(cli, "m1", "hello")
    assert (final.text, cli.all(Retrying)) == ("fine", [])
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("place", ["model", "tool", "question"])
async def test_an_interrupt_ends_the_turn_and_the_session_goes_on(seat, talk, place, tmp_path):
    turns = {
        "model": "{hang: 60, say: late}",
        "tool": "{use: {tool: bash, args: {command: touch started; sleep 60}}}",
        "question": f"{{use: {{tool: write, args: {{path: {tmp_path}/w.txt, text: x}}}}}}",
    }
    async with model(f"turns: [{turns[place]}, {{say: back again}}]") as server:
        one = seat(server)
        async with talk(DRIVER, one) as cli:
            key = await opened(cli)
            await cli.say("m1", "go")
            match place:
                case "model":
                    await cli.until(Seen)
                    await wait_for(lambda: server.calls)
                case "tool":
                    await cli.until(Used)
                    await wait_for(Path(one.cwd, "started").exists)
                case _:
                    await cli.until(Asked)
            await cli.write(DRIVER.interrupt(cli.state, "t1"))
            ended = await cli.until(Finished)
            after = await cli.turn("m2", "and now")
    assert (ended.how, ended.text, ended.resume_key) == ("interrupted", "", key)
    assert (after.how, after.text) == ("done", "back again")
    assert not (tmp_path / "w.txt").exists()


async def test_a_kill_before_the_message_leaves_no_trace(seat, talk):
    async with model("turns: [{say: hello}]") as server:
        one = seat(server)
        async with talk(DRIVER, one) as cli:
            key = await opened(cli)
            await cli.kill()
        assert settled(one, key, "m1") == Settlement("absent")
        async with talk(DRIVER, one) as cli:
            assert (await turn(cli, "m1", "hello")).how == "done"


@pytest.mark.parametrize("place", ["model", "tool", "final"])
async def test_a_kill_is_settled_from_the_transcript_and_the_conversation_resumed(
    seat, talk, place
):
    turns = {
        "model": "{hang: 60, say: late}",
        "tool": "{say: I begin., use: {tool: bash, args: {command: touch started; sleep 60}}}",
        "final": "{say: the answer}",
    }
    async with model(f"turns: [{turns[place]}, {{say: resumed}}]") as server:
        one = seat(server)
        async with talk(DRIVER, one) as cli:
            key = await opened(cli)
            await cli.say("m1", "go")
            match place:
                case "model":
                    await wait_for(lambda: server.main_calls)
                case "tool":
                    await cli.until(Used)
                    await wait_for(Path(one.cwd, "started").exists)
                case _:
                    await cli.until(Finished)
            await cli.kill()
        proof = settled(one, key, "m1")
        async with talk(DRIVER, seat(server, resume_key=key)) as cli:
            after = await turn(cli, "m2", "go on")
    expected = ("answered", "the answer") if place == "final" else ("received", "")
    assert (proof.proof, proof.text) == expected
    assert (after.how, after.text, after.resume_key) == ("done", "resumed", key)
    assert settled(one, key, "m1") == proof, "what comes later does not change it"
    assert settled(one, key, "m2", "go on") == Settlement("answered", "resumed")
    assert settled(one, key, "m3") == Settlement("absent")


async def test_a_limit_tells_when_it_ends_and_the_session_goes_on_after_it(seat, talk):
    scenario = """
    turns:
      - limit: {window: five_hour, resets_in_s: 3600}
      - {say: nearly full, limit: {window: seven_day, resets_in_s: 7200, utilization: 0.93}}
      - limit: {window: seven_day}
    """
    async with model(scenario) as server:
        before_ms = time.time() * 1000
        async with talk(DRIVER, seat(server)) as cli:
            held = await turn(cli, "m1", "hello")
            after = await turn(cli, "m1.1", "go on")
            unknown = await turn(cli, "m2", "go on")
            key = await opened(cli)
    first, second = cli.all(Limited)
    assert first.window == "five_hour"
    assert 3590_000 < first.resets_at_ms - before_ms < 3660_000
    assert (held.how, held.text) == ("limited", "")
    assert held.reason.startswith("You’ve hit your usage limit")
    assert (after.how, after.text) == ("done", "nearly full")
    nearing = next(one for one in cli.all(Nearing) if one.window == "seven_day")
    assert nearing.utilization == 0.93
    assert 7190_000 < nearing.resets_at_ms - before_ms < 7260_000
    assert (unknown.how, second.window, second.resets_at_ms) == ("limited", "seven_day", None)
    assert settled(seat(server), key, "m1", "hello") == Settlement("received")


async def test_errors_of_the_service_are_tried_again_then_told(seat, talk):
    scenario = """
    turns:
      - error: {status: 529, times: 2}
      - say: fine now
      - error: {status: 403, times: 2}
      - error: {status: 401, times: 2}
      - say: unharmed
    """
    retries = {"request_max_retries": 1, "stream_max_retries": 1}
    async with model(scenario) as server:
        one = seat(server, options=provider(server, **retries))
        async with talk(DRIVER, one) as cli:
            fine = await turn(cli, "m1", "hello")
            failed = await turn(cli, "m2", "hello")
            stranger = await turn(cli, "m3", "hello")
            after = await turn(cli, "m4", "hello")
    assert (fine.how, fine.text) == ("done", "fine now")
    assert "529" in cli.all(Retrying)[0].error
    assert (failed.how, failed.text) == ("failed", "")
    assert "403" in failed.reason and LOG_IN not in failed.reason
    assert stranger.how == "failed" and stranger.reason.endswith(f"log Codex in: {LOG_IN}")
    assert after.text == "unharmed"


async def test_resuming_a_conversation_it_does_not_know_is_told_as_such_r17(seat, talk):
    async with (
        model("{turns: [], default: {say: fine}}") as server,
        talk(DRIVER, seat(server, resume_key="01a22b47-6f88-78c2-9c45-b8e38918d5f1")) as cli,
    ):
        final = await cli.until(Finished)
    assert (final.how, final.text, final.resume_key) == ("context_lost", "", "")
    assert final.reason.startswith("no rollout found")
    assert not DRIVER.is_ready(cli.state)


async def test_a_configuration_it_cannot_use_ends_the_turn_with_its_words(seat, talk):
    async with (
        model("{turns: [], default: {say: fine}}") as server,
        talk(DRIVER, seat(server, options={"model_provider": "nowhere"})) as cli,
    ):
        final = await cli.until(Finished)
    assert final.how == "failed" and "nowhere" in final.reason
    assert not DRIVER.is_ready(cli.state)


# ---- one login for all workers; the service that renews it is made up, its answers are Codex's own


def test_an_api_key_on_stdin_is_a_login(codex, tmp_path):
    entry = login({}).entry
    assert entry is not None
    launch = entry((codex,), str(tmp_path), False)
    for file in launch.files:
        (tmp_path / file.path).write_text(file.text)
    env = {"PATH": os.environ["PATH"], **launch.env}
    subprocess.run(launch.argv, env=env, cwd=launch.cwd, input=b"sk-dummy", check=True)
    assert json.loads((tmp_path / "auth.json").read_text())["OPENAI_API_KEY"] == "sk-dummy"


def web_token(**claims) -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, claims)]
    head, body = (base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return f"{head}.{body}.c2ln"


def made_up_tokens(number: int, left_s: int) -> dict[str, str]:
    account = {"chatgpt_plan_type": "plus", "chatgpt_account_id": "acc", "chatgpt_user_id": "u"}
    claims = {"exp": int(time.time()) + left_s, "https://api.openai.com/auth": account}
    return {
        "id_token": web_token(email="a@example.com", **claims),
        "access_token": web_token(number=number, **claims),
        "refresh_token": f"refresh-{number}",
        "account_id": "acc",
    }


class TokenService:
    """Renews a login once for each refresh token, as the vendor's service does."""

    def __init__(self) -> None:
        self.used: list[str] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                service.used.append(body["refresh_token"])
                self._answer(200, made_up_tokens(len(service.used) + 1, 864_000))

            def do_GET(self):
                self._answer(404, {})

            def _answer(self, status, told):
                data = json.dumps(told).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_args):
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
async def renewing(tmp_path):
    """Give a function that renews one CLI's login as a project process does."""
    brake = Brake(tmp_path / "brake")
    brake.prepare()
    journal = await Journal.open(tmp_path / "journal.db", SystemClock(), ())
    yield lambda cli: Renewals(journal, SystemClock(), Spawner(brake, "h:p"), [cli])
    await journal.close()


@pytest.mark.parametrize("left_s", [120, 1000])
async def test_one_process_renews_the_login_that_all_workers_share(
    seat, talk, renewing, codex, tmp_path, left_s
):
    """Without the renewal each of the two would use up the same refresh token (see codex.md)."""
    place = tmp_path / "logins" / "codex"
    place.mkdir(parents=True)
    kept = {"auth_mode": "chatgpt", "tokens": made_up_tokens(1, left_s)}
    kept["last_refresh"] = "2026-11-30T00:00:00Z"
    (place / "auth.json").write_text(json.dumps(kept))
    async with model("{turns: [], default: {say: fine}}") as server:
        with TokenService() as service:
            env = {"CODEX_REFRESH_TOKEN_URL_OVERRIDE": f"{service.url}/refresh"}
            options = {
                "openai_base_url": f"{server.url}/v1",
                "chatgpt_base_url": service.url,
                "features": {"enable_request_compression": False},
            }
            cli = Cli("codex", (codex,), env, is_logged_in=True, login=login(options))
            ours = renewing(replace(cli, login_place=place))
            await asyncio.gather(ours.renew(), ours.renew())
            assert service.used == ["refresh-1"]
            for worker in ("one", "two"):
                home = tmp_path / worker / "home"
                home.mkdir(parents=True)
                lend_login("codex", place, login(options), {}, home)
                one = replace(
                    seat(server, login=env, options=options), worker=worker, config_home=str(home)
                )
                async with talk(DRIVER, one) as session:
                    assert (await turn(session, "m1", "hello")).text == "fine"
                assert (home / "auth.json").is_symlink()
            assert service.used == ["refresh-1"], "nobody else did"
    now = json.loads((place / "auth.json").read_text())
    assert now["tokens"]["refresh_token"] == "refresh-2"


async def test_behind_a_fence_codex_renews_no_login_and_takes_up_what_amiral_renewed_k4(
    seat, talk, tmp_path, fence
):
    """It may read the login alone: a renewal it could not keep would use the login up."""
    place, home = tmp_path / "logins" / "codex", tmp_path / "home"
    place.mkdir(parents=True)
    home.mkdir()
    kept = {"auth_mode": "chatgpt", "tokens": made_up_tokens(1, left_s=60)}
    kept["last_refresh"] = "2026-11-30T00:00:00Z"
    (place / "auth.json").write_text(json.dumps(kept))
    async with model("{turns: [], default: {say: fine}}") as server:
        options = {
            "openai_base_url": f"{server.url}/v1",
            "chatgpt_base_url": server.url,
            "features": {"enable_request_compression": False},
        }
        lend_login("codex", place, login(options), {}, home)
        permissions = Permissions(Posture.DENY, ())
        one = seat(
            server,
            login={},
            options=options,
            permissions=permissions,
            enforcement=Enforcement.ENFORCED,
        )
        for folder in (one.cwd, one.tmp):
            Path(folder).mkdir()
        around = fence(one, more=((str(place), DRIVER.needs.login),))
        async with talk(DRIVER, one, fence=around) as session:
            assert (await turn(session, "m1", "hello")).text == "fine"
            assert json.loads((place / "auth.json").read_text()) == kept, "it is not used up"
            kept["tokens"] = made_up_tokens(2, left_s=864_000)
            (place / "new").write_text(json.dumps(kept))
            (place / "new").rename(place / "auth.json")
            assert (await turn(session, "m2", "hello")).text == "fine"
    assert [path.name for path in place.iterdir()] == ["auth.json"]


async def test_codex_itself_writes_a_renewed_login_through_the_link(seat, talk, tmp_path):
    """What happens when amiral was not there in time."""
    place, home = tmp_path / "logins" / "codex", tmp_path / "home"
    place.mkdir(parents=True)
    home.mkdir()
    kept = {"auth_mode": "chatgpt", "tokens": made_up_tokens(1, left_s=60)}
    kept["last_refresh"] = "2026-11-30T00:00:00Z"
    (place / "auth.json").write_text(json.dumps(kept))
    async with model("{turns: [], default: {say: fine}}") as server:
        with TokenService() as service:
            env = {"CODEX_REFRESH_TOKEN_URL_OVERRIDE": f"{service.url}/refresh"}
            options = {
                "openai_base_url": f"{server.url}/v1",
                "chatgpt_base_url": service.url,
                "features": {"enable_request_compression": False},
            }
            lend_login("codex", place, login(options), {}, home)
            async with talk(DRIVER, seat(server, login=env, options=options)) as session:
                assert (await turn(session, "m1", "hello")).text == "fine"
    assert service.used == ["refresh-1"]
    assert (home / "auth.json").is_symlink()
    assert json.loads((place / "auth.json").read_text())["tokens"]["refresh_token"] == "refresh-2"
