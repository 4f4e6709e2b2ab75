"""The real Claude Code, driven as amiral drives it, against a model that plays a scenario."""

import asyncio
import glob
import json
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from amiral.agents.driver import (
    Asked,
    Finished,
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
from amiral.agents.drivers.claude.driver import DRIVER, KNOWN, TESTED
from amiral.testbench.model_server import ModelServer
from amiral.testbench.scenario_yaml import parse_scenario

pytestmark = pytest.mark.real_cli
# Ends by itself: a SIGKILL of the CLI alone leaves the shell of a running tool alive.
SLOW = "touch started; for n in $(seq 600); do test -e ended && exit; sleep 0.1; done"
CONSULTANT = ("Read", "Glob", "Grep", "WebSearch", "WebFetch")


def model(scenario: str) -> ModelServer:
    return ModelServer(parse_scenario(scenario, "scenario.yaml"))


@pytest.fixture
def seat(claude, tmp_path):
    """Give a function that makes a seat whose model is `server`; a new conversation by default."""

    def make(server: ModelServer, **more) -> Seat:
        # No real token: everything happens on the loopback.
        login = {"CLAUDE_CODE_OAUTH_TOKEN": "none", "ANTHROPIC_BASE_URL": server.url}
        values = {"tools": "all", "model": "sonnet", "max_turns": 0, "identity": "", **more}
        if "resume_key" not in values:
            values.setdefault("fresh_key", str(uuid.uuid4()))
        return Seat(
            worker="backend",
            command=(claude,),
            cwd=str(tmp_path / "project"),
            config_home=str(tmp_path / "home"),
            tmp=str(tmp_path / "tmp"),
            login={**login, **values.pop("login", {})},
            **values,
        )

    return make


def settled(seat: Seat, message: str) -> Settlement:
    key = seat.resume_key or seat.fresh_key
    found = glob.glob(DRIVER.transcript(seat, key))
    lines = [line for path in found for line in Path(path).read_bytes().split(b"\n")]
    return DRIVER.settle(lines, message, "")


async def wait_for(condition, patience_s=60.0):
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)


def test_the_pinned_version_is_a_tested_one(claude):
    ran = subprocess.run(
        DRIVER.version_command((claude,)), capture_output=True, text=True, check=True
    )
    assert DRIVER.version_of(ran.stdout) in TESTED
    assert DRIVER.warning_for(DRIVER.version_of(ran.stdout)) == ""


async def test_a_plain_turn_is_seen_said_and_finished_under_our_own_ids(seat, talk):
    async with model("turns: [{say: Hello there.}, {say: Again.}]") as server:
        one = seat(server, identity="You are IDENTITY-MARK.")
        Path(one.cwd).mkdir()
        Path(one.cwd, "CLAUDE.md").write_text("PROJECT-MARK")
        async with talk(DRIVER, one) as cli:
            first = await cli.turn("m1", "hello")
            second = await cli.turn("m2", "/clear")
    assert (first.how, first.text, first.resume_key) == ("done", "Hello there.", one.fresh_key)
    assert first.usage.input_tokens > 0 and first.usage.output_tokens > 0
    assert first.usage.cost_usd > 0
    assert (second.how, second.text, second.resume_key) == ("done", "Again.", one.fresh_key)
    assert second.usage.cost_usd < 1.9 * first.usage.cost_usd, "the cost is of one turn"
    assert cli.all(Seen) == [Seen("m1"), Seen("m2")]
    assert cli.all(Said) == [Said("Hello there."), Said("Again.")]
    (opened,) = cli.all(Opened)
    assert (opened.session_id, opened.version) == (one.fresh_key, TESTED[-1])
    assert [call.text for call in server.main_calls] == ["hello", "\n/clear"]
    assert "IDENTITY-MARK" in server.main_calls[0].system
    assert cli.all(Noise) == []


async def test_a_write_happens_when_allowed_and_not_when_denied(seat, talk):
    scenario = """
    turns:
      - use: {tool: write, args: {path: yes.txt, text: "a\\nb"}}
      - say: done
      - use: {tool: write, args: {path: no.txt, text: x}}
      - say: understood
    """
    async with model(scenario) as server:
        one = seat(server)
        async with talk(DRIVER, one, allow=True) as cli:
            allowed = await cli.turn("m1", "write it")
            cli.allow = False
            denied = await cli.turn("m2", "write it again")
    assert (allowed.text, denied.text) == ("done", "understood")
    assert Path(one.cwd, "yes.txt").read_text() == "a\nb"
    assert not Path(one.cwd, "no.txt").exists()
    first, second = cli.all(Asked)
    assert (first.tool, first.summary) == ("Write", f"{one.cwd}/yes.txt")
    assert json.loads(first.arguments) == {"file_path": f"{one.cwd}/yes.txt", "content": "a\nb"}
    assert second.ask != first.ask
    assert cli.all(Used)[0] == Used("Write", f"{one.cwd}/yes.txt")


async def test_a_worker_without_tools_to_change_things_changes_nothing_s0_28_s0_29(seat, talk):
    scenario = """
    turns:
      - use: {tool: write, args: {path: w.txt, text: x}}
      - use: {tool: bash, args: {command: touch b.txt}}
      - use: {tool: edit, args: {path: CLAUDE.md, old: a, new: b}}
      - say: I cannot
    """
    async with model(scenario) as server:
        one = seat(server, tools=CONSULTANT)
        Path(one.cwd).mkdir()
        Path(one.cwd, "CLAUDE.md").write_text("a")
        async with talk(DRIVER, one, allow=True) as cli:
            final = await cli.turn("m1", "write")
    assert final.text == "I cannot"
    assert cli.all(Asked) == [], "it is not there, so there is nothing to ask"
    assert [path.name for path in Path(one.cwd).iterdir()] == ["CLAUDE.md"]
    assert Path(one.cwd, "CLAUDE.md").read_text() == "a"
    assert set(cli.all(Opened)[0].tools) == set(CONSULTANT)
    offered = set(server.main_calls[0].tools)
    assert not offered & {"Write", "Edit", "Bash", "NotebookEdit", "Agent", "Task"}


async def test_allowed_tools_alone_removes_nothing(seat, talk):
    scenario = "turns: [{use: {tool: bash, args: {command: touch b.txt}}}, {say: done}]"
    async with model(scenario) as server:
        one = seat(server, tools=CONSULTANT)
        told = {"extra": ["--allowedTools=Read"], "without": ("--tools", "--disallowedTools")}
        async with talk(DRIVER, one, allow=True, **told) as cli:
            await cli.turn("m1", "touch")
    assert "Bash" in server.main_calls[0].tools
    assert Path(one.cwd, "b.txt").exists()


async def test_settings_and_hooks_of_the_project_are_not_followed(seat, talk):
    async with model("{turns: [], default: {say: fine}}") as server:
        one = seat(server)
        folder = Path(one.cwd, ".claude")
        folder.mkdir(parents=True)
        hook = {"hooks": [{"type": "command", "command": f"touch {one.cwd}/hooked"}]}
        settings = {"hooks": {"SessionStart": [hook], "Stop": [hook]}}
        (folder / "settings.json").write_text(json.dumps(settings))
        mcp = {"mcpServers": {"x": {"command": "touch", "args": [f"{one.cwd}/mcp"]}}}
        Path(one.cwd, ".mcp.json").write_text(json.dumps(mcp))
        async with talk(DRIVER, one) as cli:
            assert (await cli.turn("m1", "hello")).how == "done"
    assert sorted(path.name for path in Path(one.cwd).iterdir()) == [".claude", ".mcp.json"]


async def test_tools_and_identity_of_a_resumed_conversation_are_those_of_now(seat, talk):
    async with model("{turns: [], default: {say: fine}}") as server:
        one = seat(server, identity="FIRST-MARK")
        async with talk(DRIVER, one) as cli:
            await cli.turn("m1", "hello")
        two = seat(server, identity="SECOND-MARK", tools=("Read",), resume_key=one.fresh_key)
        async with talk(DRIVER, two) as cli:
            await cli.turn("m2", "hello")
    first, second = server.main_calls
    assert "Bash" in first.tools
    assert "Bash" not in second.tools
    assert "SECOND-MARK" in second.system and "FIRST-MARK" not in second.system


async def test_git_works_and_knows_the_worker(seat, talk):
    command = "git init -q . && git commit -q --allow-empty -m x && git log --format=%an/%ae"
    scenario = f"turns: [{{use: {{tool: bash, args: {{command: {command}}}}}}}, {{say: done}}]"
    async with model(scenario) as server:
        one = seat(server)
        async with talk(DRIVER, one, allow=True) as cli:
            await cli.turn("m1", "commit")
    told = subprocess.run(
        ["git", "log", "--format=%an/%ae"], cwd=one.cwd, capture_output=True, text=True, check=True
    )
    assert told.stdout == "backend/backend@amiral.invalid\n"


@pytest.mark.parametrize("place", ["model", "tool", "question"])
async def test_an_interrupt_ends_the_turn_and_the_session_goes_on(seat, talk, place):
    turns = {
        "model": "{hang: 60, say: late}",
        "tool": f"{{use: {{tool: bash, args: {{command: '{SLOW}'}}}}}}",
        "question": "{use: {tool: write, args: {path: w.txt, text: x}}}",
    }
    async with model(f"turns: [{turns[place]}, {{say: back again}}]") as server:
        one = seat(server)
        async with talk(DRIVER, one, allow=None if place == "question" else True) as cli:
            await cli.say("m1", "go")
            match place:
                case "model":
                    await cli.until(Seen)
                    await wait_for(lambda: server.calls)
                case "tool":
                    await cli.until(Asked)
                    await wait_for(Path(one.cwd, "started").exists)
                case _:
                    await cli.until(Asked)
            await cli.write(DRIVER.interrupt(cli.state, "t1"))
            ended = await cli.until(Finished)
            after = await cli.turn("m2", "and now")
    assert (ended.how, ended.text, ended.resume_key) == ("interrupted", "", one.fresh_key)
    assert (after.how, after.text) == ("done", "back again")


async def test_a_kill_before_the_message_leaves_no_trace_and_the_key_is_free(seat, talk):
    async with model("turns: [{say: hello}]") as server:
        one = seat(server)
        async with talk(DRIVER, one) as cli:
            await cli.kill()
        assert settled(one, "m1") == Settlement("absent")
        async with talk(DRIVER, one) as cli:
            assert (await cli.turn("m1", "hello")).how == "done"


@pytest.mark.parametrize("place", ["model", "tool", "final"])
async def test_a_kill_is_settled_from_the_transcript_and_the_conversation_resumed(
    seat, talk, place
):
    turns = {
        "model": "{hang: 60, say: late}",
        "tool": f"{{say: I begin., use: {{tool: bash, args: {{command: '{SLOW}'}}}}}}",
        "final": "{say: the answer}",
    }
    async with model(f"turns: [{turns[place]}, {{say: resumed}}]") as server:
        one = seat(server)
        async with talk(DRIVER, one, allow=True) as cli:
            await cli.say("m1", "go")
            match place:
                case "model":
                    await wait_for(lambda: settled(one, "m1").proof != "absent")
                case "tool":
                    await cli.until(Asked)
                    await wait_for(Path(one.cwd, "started").exists)
                case _:
                    await cli.until(Finished)
                    await wait_for(lambda: settled(one, "m1").proof == "answered")
            await cli.kill()
        Path(one.cwd, "ended").touch()
        proof = settled(one, "m1")
        two = seat(server, resume_key=one.fresh_key)
        async with talk(DRIVER, two, allow=True) as cli:
            after = await cli.turn("m2", "go on")
    expected = ("answered", "the answer") if place == "final" else ("received", "")
    assert (proof.proof, proof.text) == expected
    assert (after.how, after.text, after.resume_key) == ("done", "resumed", one.fresh_key)
    assert settled(one, "m1") == proof, "what comes later does not change it"
    assert settled(one, "m2").proof == "answered"


async def test_a_message_the_cli_had_before_is_not_carried_out_twice(seat, talk):
    async with model("turns: [{say: first}, {say: second}]") as server:
        one = seat(server)
        async with talk(DRIVER, one) as cli:
            await cli.turn("m1", "do it")
        two = seat(server, resume_key=one.fresh_key)
        async with talk(DRIVER, two) as cli:
            again = await cli.turn("m1", "do it")
            after = await cli.turn("m2", "and this")
    assert again == KNOWN
    assert after.text == "second"
    assert len(server.main_calls) == 2


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
            held = await cli.turn("m1", "hello")
            after = await cli.turn("m1.1", "go on")
            unknown = await cli.turn("m2", "go on")
    first, second = cli.all(Limited)
    assert first.window == "five_hour"
    assert 3590_000 < first.resets_at_ms - before_ms < 3630_000
    assert (held.how, held.text) == ("limited", "")
    assert held.reason.startswith("You've hit your 5-hour limit")
    assert (after.how, after.text) == ("done", "nearly full")
    (nearing,) = cli.all(Nearing)
    assert (nearing.window, nearing.utilization) == ("seven_day", 0.93)
    assert 7190_000 < nearing.resets_at_ms - before_ms < 7230_000
    assert (unknown.how, second.resets_at_ms) == ("limited", None)


async def test_errors_of_the_service_are_tried_again_then_told(seat, talk):
    scenario = """
    turns:
      - error: {status: 529, times: 1}
      - say: fine now
      - error: {status: 403}
    """
    async with model(scenario) as server, talk(DRIVER, seat(server)) as cli:
        fine = await cli.turn("m1", "hello")
        failed = await cli.turn("m2", "hello")
    assert (fine.how, fine.text) == ("done", "fine now")
    assert [retry.error for retry in cli.all(Retrying)] == ["overloaded"]
    assert (failed.how, failed.text) == ("failed", "")
    assert "API Error: 403" in failed.reason
    assert cli.all(Said) == [Said("fine now")], "an error is not something the worker said"


async def test_the_most_model_calls_of_a_turn_are_kept(seat, talk):
    scenario = "default: {say: x}\nturns: " + str(
        [{"use": {"tool": "bash", "args": {"command": f"echo {n}"}}} for n in range(5)]
    )
    async with (
        model(scenario) as server,
        talk(DRIVER, seat(server, max_turns=2), allow=True) as cli,
    ):
        final = await cli.turn("m1", "go")
    assert (final.how, final.reason) == ("failed", "Reached maximum number of turns (2)")


async def test_resuming_a_conversation_it_does_not_know_is_told_as_such_r17(seat, talk):
    async with (
        model("{turns: [], default: {say: fine}}") as server,
        talk(DRIVER, seat(server, resume_key=str(uuid.uuid4()))) as cli,
    ):
        final = await cli.until(Finished)
    assert (final.how, final.text, final.resume_key) == ("context_lost", "", "")
    assert final.reason.startswith("No conversation found")
