"""The real CLIs under permissions: what they ask, what they refuse, what the fence refuses them."""

import json
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amiral.agents.driver import Asked, Driver, Finished, Opened, Refused, Seat
from amiral.agents.drivers.claude import driver as claude_driver
from amiral.agents.drivers.codex import driver as codex_driver
from amiral.agents.judging import judge
from amiral.agents.worker import Worker
from amiral.permissions.projection import Enforcement
from amiral.permissions.rules import Capability, Permissions, Posture, Rule, resolve
from amiral.testbench.model_server import ModelServer
from amiral.testbench.scenario_yaml import parse_scenario

pytestmark = pytest.mark.real_cli
DRIVERS: dict[str, Driver[Any]] = {"claude": claude_driver.DRIVER, "codex": codex_driver.DRIVER}
ALLOW, ASK, DENY = Posture
READ, WRITE, DELETE, EXECUTE = Capability
ENFORCED, NONE = Enforcement.ENFORCED, Enforcement.NONE
CONSULTANT = ("Read", "Glob", "Grep", "WebSearch", "WebFetch")
CODE_MODE = ""
both = pytest.mark.parametrize("name", DRIVERS)


def model(scenario: str) -> ModelServer:
    return ModelServer(parse_scenario(scenario, "scenario.yaml"))


def rule(capability: Capability, match: str, posture: Posture) -> Rule:
    return Rule(capability, match, posture, "permissions.json:1")


@pytest.fixture
def seat(request, tmp_path):
    """Give `seat(name, server, permissions, …)`: a new conversation with one of the CLIs."""

    def make(name: str, server: ModelServer, permissions, held=ENFORCED, **more) -> Seat:
        login, options, kind = {"SCRIPTED_KEY": "none"}, {}, "gpt-5.5"
        if name == "claude":
            login = {"CLAUDE_CODE_OAUTH_TOKEN": "none", "ANTHROPIC_BASE_URL": server.url}
            kind = "sonnet"
        else:
            told = {"name": "Scripted", "base_url": f"{server.url}/v1", "env_key": "SCRIPTED_KEY"}
            told["wire_api"] = "responses"
            options = {"model_provider": "scripted", "model_providers": {"scripted": told}}
        for folder in ("project/src", "home", "tmp"):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        values = {"tools": "all", "model": kind, "max_turns": 0, "identity": "", **more}
        if "resume_key" not in values:
            values["fresh_key"] = str(uuid.uuid4())
        return Seat(
            worker="backend",
            command=(request.getfixturevalue(name),),
            cwd=str(tmp_path / "project"),
            config_home=str(tmp_path / "home"),
            tmp=str(tmp_path / "tmp"),
            login=login,
            options=options,
            permissions=permissions,
            enforcement=held,
            **values,
        )

    return make


async def turn(cli, message: str) -> Finished:
    if not cli.driver.is_ready(cli.state):
        await cli.until(Opened)
    finished = await cli.turn(message, "go")
    assert isinstance(finished, Finished)
    return finished


def judged(seat: Seat, owner: bool = False):
    """Answer as amiral does: by the permissions; what they ask, `owner` decides."""
    worker = Worker("w", "W", "", "sdk", "", 0, seat.tools, "", "", "", (), "")

    def answer(asked: Asked) -> bool:
        posture = judge(seat.permissions, worker, asked, seat.cwd).posture
        return posture is ALLOW or (posture is ASK and owner)

    return answer


def told_to_the_model(cli) -> str:
    """What the results of tools say, as the CLI keeps them for its model."""
    pattern = cli.driver.transcript(cli.seat, "*").replace("[*]", "*")
    home = Path(cli.seat.config_home)
    return "".join(path.read_text() for path in home.glob(str(Path(pattern).relative_to(home))))


# ---- a whole turn behind the whole fence

WHOLE = """
turns:
  - use: {tool: write, args: {path: a.txt, text: "one\\n"}}
  - use: {tool: bash, args: {command: "%s"}}
  - use: {tool: edit, args: {path: a.txt, old: one, new: two}}
  - use: {tool: read, args: {path: b.txt}}
  - say: done
  - say: still there
"""
COMMANDS = (
    "cat a.txt > b.txt; echo x > $TMPDIR/t",
    "git init -q . && git commit -q --allow-empty -m x && git log --format=%an > who.txt",
    "grep -cE '^Cap[A-Z][a-z]+:.0000000000000000' /proc/self/status > caps.txt",
    "echo x > ../outside.txt || echo refused > outside.txt",
    "cat ../kept.txt > stolen.txt || echo refused > read.txt",
    "awk 'BEGIN {print 1}' > awk.txt; env true && echo 1 > env.txt",
)


@pytest.mark.parametrize(
    ("name", "kind"), [("claude", "sonnet"), ("codex", "gpt-5.5"), ("codex", "")]
)
async def test_a_turn_that_writes_and_runs_finishes_behind_the_whole_fence_s3_80(
    seat, talk, fence, tmp_path, name, kind
):
    """Files, devices and programs are fenced, one port is open, root has no capabilities."""
    (tmp_path / "kept.txt").write_text("secret")
    async with model(WHOLE % "; ".join(COMMANDS)) as server:
        one = seat(name, server, Permissions(ALLOW, ()), model=kind)
        whole = fence(replace(one, permissions=None), int(server.url.rpartition(":")[2]))
        async with talk(DRIVERS[name], one, allow=True, fence=whole) as cli:
            final = await turn(cli, "m1")
        again = replace(one, resume_key=final.resume_key, fresh_key="")
        async with talk(DRIVERS[name], again, allow=True, fence=whole) as cli:
            after = await turn(cli, "m2")
    assert (final.how, final.text) == ("done", "done")
    assert (after.how, after.text) == ("done", "still there"), "and it is resumed"
    project = tmp_path / "project"
    written = {path.name: path.read_text().strip() for path in project.glob("*.txt")}
    assert written["a.txt"] == "two" and written["b.txt"] == "one"
    assert written["who.txt"] == "backend" and (tmp_path / "tmp" / "t").exists()
    assert written["caps.txt"] == "5", "of five sets each is empty"
    assert (written["outside.txt"], written["read.txt"]) == ("refused", "refused")
    assert (written["awk.txt"], written["env.txt"]) == ("1", "1")
    assert not (tmp_path / "outside.txt").exists()


# ---- told to do what is forbidden

FORBIDDEN = """
turns:
  - use: {tool: write, args: {path: .env, text: x}}
  - use: {tool: write, args: {path: src/new.txt, text: x}}
  - use: {tool: bash, args: {command: "cp src/new.txt .env; cp src/new.txt src/copy.txt"}}
  - use: {tool: bash, args: {command: "python3 -c 'open(\\".env\\", \\"w\\").write(\\"x\\")'"}}
  - say: so be it
"""
NO_SECRETS = Permissions(ALLOW, (rule(WRITE, "**/.env", DENY),))


@both
async def test_a_forbidden_write_is_refused_by_the_fence_and_the_rest_goes_on_s3_31(
    seat, talk, fence, tmp_path, name
):
    async with model(FORBIDDEN) as server:
        one = seat(name, server, NO_SECRETS)
        Path(one.cwd, ".env").write_text("kept")
        async with talk(DRIVERS[name], one, allow=judged(one), fence=fence(one)) as cli:
            final = await turn(cli, "m1")
    assert final.text == "so be it"
    assert Path(one.cwd, ".env").read_text() == "kept"
    assert Path(one.cwd, "src/new.txt").read_text().strip() == "x"
    if name == "codex":
        # Claude Code refuses the whole line, since it names .env.
        assert Path(one.cwd, "src/copy.txt").exists()


async def test_without_a_fence_claude_code_refuses_by_the_rules_it_was_told(seat, talk):
    async with model(FORBIDDEN) as server:
        one = seat("claude", server, NO_SECRETS, NONE)
        Path(one.cwd, ".env").write_text("kept")
        allow = judged(one)
        async with talk(
            DRIVERS["claude"],
            one,
            allow=lambda asked: "python3" not in asked.summary and allow(asked),
        ) as cli:
            final = await turn(cli, "m1")
            told = told_to_the_model(cli)
    assert final.text == "so be it"
    assert Path(one.cwd, ".env").read_text() == "kept"
    assert Path(one.cwd, "src/new.txt").read_text().strip() == "x"
    assert [asked.tool for asked in cli.all(Asked)] == ["Write", "Bash"], "not what is denied"
    assert [refused.tool for refused in cli.all(Refused)] == ["Bash"]
    assert "denied by your permission settings" in told


async def test_without_a_fence_codex_changes_files_by_patches_it_asks_for_alone(seat, talk):
    async with model(FORBIDDEN) as server:
        one = seat("codex", server, NO_SECRETS, NONE)
        Path(one.cwd, ".env").write_text("kept")
        async with talk(DRIVERS["codex"], one, allow=judged(one)) as cli:
            final = await turn(cli, "m1")
    assert final.text == "so be it"
    assert Path(one.cwd, ".env").read_text() == "kept"
    assert Path(one.cwd, "src/new.txt").read_text().strip() == "x"
    assert not Path(one.cwd, "src/copy.txt").exists(), "its commands change no file"
    assert [asked.tool for asked in cli.all(Asked)] == ["Write", "Write"]


@both
@pytest.mark.parametrize("held", [ENFORCED, NONE])
async def test_a_forbidden_command_is_not_run(seat, talk, fence, name, held):
    scenario = """
    turns:
      - use: {tool: bash, args: {command: "touch src/one"}}
      - use: {tool: bash, args: {command: "true && env touch src/two"}}
      - use: {tool: bash, args: {command: "ls src > src/three"}}
      - say: so be it
    """
    async with model(scenario) as server:
        one = seat(name, server, Permissions(ALLOW, (rule(EXECUTE, "touch*", DENY),)), held)
        around = fence(one) if held is ENFORCED else None
        async with talk(DRIVERS[name], one, allow=judged(one), fence=around) as cli:
            final = await turn(cli, "m1")
    assert final.text == "so be it"
    assert [path.name for path in Path(one.cwd, "src").iterdir()] == ["three"]


# ---- asked

ASKING = """
turns:
  - use: {tool: write, args: {path: one.txt, text: x}}
  - use: {tool: bash, args: {command: "cat one.txt && touch run.txt"}}
  - say: done
  - use: {tool: write, args: {path: one.txt, text: y}}
  - use: {tool: write, args: {path: two.txt, text: x}}
  - use: {tool: bash, args: {command: "cat one.txt && touch run2.txt"}}
  - say: understood
"""


@both
@pytest.mark.parametrize("held", [ENFORCED, NONE])
async def test_what_is_to_be_asked_is_asked_each_time_and_the_answer_obeyed(
    seat, talk, fence, name, held
):
    async with model(ASKING) as server:
        one = seat(name, server, Permissions(ASK, (rule(READ, "**", ALLOW),)), held)
        around = fence(one) if held is ENFORCED else None
        async with talk(DRIVERS[name], one, allow=True, fence=around) as cli:
            allowed = await turn(cli, "m1")
            first = [asked.tool for asked in cli.all(Asked)]
            cli.allow = False
            denied = await turn(cli, "m2")
            told = told_to_the_model(cli)
    assert (allowed.text, denied.text) == ("done", "understood")
    assert first == ["Write", "Bash"]
    asked = cli.all(Asked)[2:]
    assert len(asked) == 3 and asked[-1].tool == "Bash", "an answer is good for one question"
    found = {path.name: path.read_text().strip() for path in Path(one.cwd).glob("*.txt")}
    assert found == {"one.txt": "x", "run.txt": ""}
    assert ("the owner said no" if name == "claude" else "rejected by user") in told


@both
async def test_reading_is_asked_by_path_and_commands_that_only_read_are_reading(
    seat, talk, fence, name
):
    scenario = """
    turns:
      - use: {tool: read, args: {path: src/a.py}}
      - use: {tool: read, args: {path: secret/key}}
      - use: {tool: bash, args: {command: "cat secret/key"}}
      - say: done
    """
    async with model(scenario) as server:
        one = seat(name, server, Permissions(ASK, (rule(READ, "src/**", ALLOW),)))
        Path(one.cwd, "secret").mkdir()
        Path(one.cwd, "secret/key").write_text("THE-KEY")
        Path(one.cwd, "src/a.py").write_text("THE-CODE")
        async with talk(DRIVERS[name], one, allow=judged(one), fence=fence(one)) as cli:
            final = await turn(cli, "m1")
            told = told_to_the_model(cli)
    assert final.text == "done"
    assert "THE-CODE" in told and "THE-KEY" not in told
    assert {asked.tool for asked in cli.all(Asked)} <= {"Read", "Bash"}


# ---- floors, escapes, what an agent may leave behind


async def test_a_consultant_s_codex_reads_behind_a_fence_and_does_nothing_else_s0_28(
    seat, talk, fence
):
    scenario = """
    turns:
      - use: {tool: read, args: {path: src/a.py}}
      - use: {tool: bash, args: {command: "sed -n '1,5p' src/a.py | head -n 2"}}
      - use: {tool: bash, args: {command: "touch src/b.py; touch $TMPDIR/b"}}
      - use: {tool: write, args: {path: w.txt, text: x}}
      - say: I cannot
    """
    permissions = resolve(None, "consultant", CONSULTANT).permissions
    async with model(scenario) as server:
        one = seat("codex", server, permissions, tools=CONSULTANT)
        Path(one.cwd, "src/a.py").write_text("THE-CODE")
        async with talk(DRIVERS["codex"], one, allow=judged(one), fence=fence(one)) as cli:
            final = await turn(cli, "m1")
            told = told_to_the_model(cli)
    assert final.text == "I cannot" and told.count("THE-CODE") >= 2
    assert [asked.tool for asked in cli.all(Asked)] == ["Read", "Read", "Bash", "Write"]
    assert [path.name for path in Path(one.cwd).rglob("*")] == ["src", "a.py"]
    assert not Path(one.tmp, "b").exists()


class Escaping(ModelServer):
    """Its model asks for each command to be run outside the sandbox."""

    async def _paced(self, pieces):
        ask = rb"\"sandbox_permissions\":\"require_escalated\",\"justification\":\"x\","
        async for data in super()._paced(pieces):
            yield data.replace(rb"\"yield_time_ms\"", ask + rb"\"yield_time_ms\"")


async def test_no_command_leaves_codex_own_sandbox_where_nothing_else_holds_files_s5(seat, talk):
    scenario = "turns: [{use: {tool: bash, args: {command: cp src/a .env}}}, {say: so be it}]"
    async with Escaping(parse_scenario(scenario, "s.yaml")) as server:
        one = seat("codex", server, NO_SECRETS, NONE)
        Path(one.cwd, "src/a").touch()
        async with talk(DRIVERS["codex"], one, allow=True) as cli:
            final = await turn(cli, "m1")
    assert final.text == "so be it"
    assert cli.all(Asked) == [] and [refused.tool for refused in cli.all(Refused)] == ["Bash"]
    assert not Path(one.cwd, ".env").exists()


async def test_codex_own_sandbox_cannot_work_in_ours_so_it_is_off_s11(seat, talk, fence):
    scenario = "turns: [{use: {tool: bash, args: {command: touch a}}}, {say: done}]"
    async with model(scenario) as server:
        one = seat("codex", server, Permissions(ALLOW, ()))
        around, inside = fence(one), replace(one, enforcement=NONE)
        async with talk(DRIVERS["codex"], inside, allow=True, fence=around) as cli:
            await turn(cli, "m1")
    assert not Path(one.cwd, "a").exists(), "it refuses: it never runs without what it was told"


GIVE_ITSELF = {
    "claude": (
        "mkdir -p .claude; for f in $HOME/settings.json .claude/settings.json; do "
        """echo '{\\"permissions\\": {\\"allow\\": [\\"Edit\\", \\"Write\\"]}}' > $f; done"""
    ),
    "codex": (
        "mkdir -p $CODEX_HOME/rules; cd $CODEX_HOME/rules; "
        """echo 'prefix_rule(pattern=[\\"touch\\"], decision=\\"allow\\")' > default.rules"""
    ),
}


@both
async def test_an_agent_gives_itself_no_permission_for_its_next_session_f6(seat, talk, fence, name):
    scenario = f"""
    turns:
      - use: {{tool: bash, args: {{command: "{GIVE_ITSELF[name]}"}}}}
      - say: done
      - use: {{tool: bash, args: {{command: "touch a.txt"}}}}
      - use: {{tool: write, args: {{path: b.txt, text: x}}}}
      - say: so be it
    """
    async with model(scenario) as server:
        one = seat(name, server, Permissions(ASK, (rule(READ, "**", ALLOW),)))
        async with talk(DRIVERS[name], one, allow=True, fence=fence(one)) as cli:
            final = await turn(cli, "m1")
        again = replace(one, resume_key=final.resume_key, fresh_key="")
        async with talk(DRIVERS[name], again, allow=False, fence=fence(one)) as cli:
            after = await turn(cli, "m2")
    assert after.text == "so be it"
    assert [asked.tool for asked in cli.all(Asked)] == ["Bash", "Write"]
    assert list(Path(one.cwd).glob("*.txt")) == []


async def test_what_codex_wrote_in_its_configuration_survives_and_no_program_of_it_runs(
    seat, talk, fence
):
    async with model("{turns: [], default: {say: fine}}") as server:
        one = seat("codex", server, Permissions(ALLOW, ()))
        ran = Path(one.cwd, "ran")
        config = Path(one.config_home, "config.toml")
        config.write_text(
            f'personality = "pragmatic"\nnotify = ["touch", "{ran}"]\n'
            f'[mcp_servers.x]\ncommand = "touch"\nargs = ["{ran}"]\n[tui]\nanimations = false\n'
        )
        async with talk(DRIVERS["codex"], one, fence=fence(one)) as cli:
            assert (await turn(cli, "m1")).text == "fine"
    kept = config.read_text()
    assert "personality" in kept and "danger-full-access" in kept
    assert not ran.exists() and "touch" not in kept


def test_a_projection_is_one_argument_that_a_person_can_read(claude, tmp_path):
    permissions = Permissions(ALLOW, (rule(WRITE, "**/.env", DENY),))
    seat = Seat("w", (claude,), "/p", "/h", "/t", "", "all", 0, "", {}, permissions=permissions)
    (argument,) = DRIVERS["claude"].project(seat).args
    told = json.loads(argument.removeprefix("--settings="))
    assert told["permissions"]["deny"] == ["Edit(//p/**/.env)"]
