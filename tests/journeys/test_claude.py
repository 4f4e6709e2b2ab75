"""Journeys with the real Claude Code, a scripted model behind it, and no network but loopback."""

import json
import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

from amiral.testbench.rig import is_running, until

pytestmark = pytest.mark.isolated
ROOT = Path(__file__).parents[2]
SUBSCRIPTION = {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy-0123456789"}
WRITE = 'use: {tool: write, args: {path: made.txt, text: "made\\n"}}'


@pytest.fixture
def with_claude(yard, real):
    """Give a function that starts a scripted model and a rig whose workers are Claude Code."""

    def start(scenario, login=None, *, is_sample=False, **environ):
        root = "" if is_sample else str(yard.folder / "shop")
        rig, served = real.rig("claude", scenario, login=login, root=root, environ=environ)
        if is_sample:
            rig.project = rig.home.with_name("home-sample") / "shop"
            rig.where = ("--sample",)
        return rig.start(), served

    return start


def called(model, text: str) -> list[str]:
    """The requests whose last word of the person is this text."""
    pairs = zip(model.calls, model.bodies, strict=False)
    return [body for call, body in pairs if call.is_main and call.text == text]


def environment(pid: int) -> dict[str, str]:
    entries = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


def test_on_the_sample_project_the_consultant_answers_and_only_the_developer_writes(
    yard, with_claude
):
    """S0.28, S0.29."""
    sample = yard.folder / "home-sample" / "shop"
    rig, model = with_claude(
        f"""
        turns:
          - {{match: what, say: It sells books.}}
          - {{match: try it, use: {{tool: write, args: {{path: {sample}/made.txt, text: made}}}}}}
          - {{match: try it, say: I may not.}}
          - {{match: make it, {WRITE}}}
        default: {{say: Made.}}
        """,
        is_sample=True,
    )
    answer = rig.run("say", "/c what does this project do?", "--json")
    said = answer.json()
    assert (answer.code, said["outcome"], said["worker"]) == (0, "done", "consultant")
    assert [reply["text"] for reply in said["replies"]] == ["It sells books."]
    assert said["accepted"] and said["message_id"] and said["turn_id"]

    told = rig.run("say", "/c try it")
    assert (told.code, told.out) == (0, "I may not.\n")
    assert not (rig.project / "made.txt").exists()
    assert not {"Write", "Edit", "Bash"} & set(model.main_calls[-1].tools)

    assert rig.run("say", "/d make it").out.startswith("Made.")
    place = Path(rig.told("SessionOpened")[-1]["cwd"])
    assert (place / "made.txt").read_text() == "made\n"
    assert (place / "cart.py").exists(), "its place is a copy of the project"


def test_the_developer_writes_and_runs_and_is_asked_for_nothing(with_claude):
    rig, _ = with_claude(
        f"turns: [{WRITE.join(['{', '}'])},"
        ' {use: {tool: bash, args: {command: "cat made.txt >ran.txt"}}}, {say: Made.}]'
    )
    answer = rig.ask("say", "/d make it").json()
    assert (answer["outcome"], answer["replies"][0]["text"]) == ("done", "Made.")
    assert (rig.project / "made.txt").read_text() == "made\n"
    assert (rig.project / "ran.txt").read_text() == "made\n"
    assert {one["tool"] for one in rig.told("PermissionAsked")} == {"Write", "Bash"}
    assert all(one["allowed"] for one in rig.told("PermissionAnswered"))


def test_a_killed_project_process_is_followed_by_one_that_brings_the_answer_once(with_claude):
    """P01: kill -9 while the model thinks."""
    rig, model = with_claude("turns: [{match: slow, hang: 2, say: Late.}]\ndefault: {say: ok}")
    message = rig.post("/c slow question")
    until(lambda: called(model, "slow question"), "the call of the model")
    rig.kill()
    rig.start()
    assert (rig.answer(message)["outcome"], rig.answer(message)["text"]) == ("done", "Late.")
    assert rig.ask("say", "/c next").json()["replies"][0]["text"] == "ok"
    assert len(rig.answers(message)) == len(called(model, "slow question")) == 1
    assert len(rig.told("SessionOpened")) == 1, "the CLI went on under its shim"


def test_a_killed_shim_is_settled_from_the_transcript_and_claude_remembers(with_claude):
    """R41: the turn that was cut is told; the conversation goes on under the same key."""
    rig, model = with_claude("turns: [{match: slow, hang: 5, say: Late.}]\ndefault: {say: ok}")
    assert rig.ask("say", "/c the number is 417").json()["outcome"] == "done"
    message = rig.post("/c slow question")
    transcript = rig.state / "workers" / "consultant" / "home" / "projects"
    until(lambda: is_in(transcript, f'"uuid":"{message}"'), "the message in the transcript")
    until(lambda: called(model, "slow question"), "the call of the model")
    (session,) = rig.running()
    os.kill(session.shim, signal.SIGKILL)
    cut = rig.answer(message)
    assert cut["outcome"] == "interrupted"
    assert "its shim was lost" in cut["reason"]

    assert rig.ask("say", "/c and which number?").json()["outcome"] == "done"
    (request,) = called(model, "and which number?")
    assert "the number is 417" in request
    first, second = rig.told("SessionOpened")
    assert second["resume_key"] == first["fresh_key"] != ""
    assert not is_running(session.cli), "the CLI of a lost shim is ended before its turn is told"


def test_a_shim_killed_as_the_question_goes_out_never_has_it_asked_twice(with_claude):
    """P01: Claude writes its transcript late, so absence from it proves nothing."""
    rig, model = with_claude("turns: [{match: slow, hang: 2, say: Late.}]\ndefault: {say: ok}")
    message = rig.post("/c slow question")
    until(lambda: called(model, "slow question"), "the call of the model")
    (session,) = rig.running()
    os.kill(session.shim, signal.SIGKILL)
    assert rig.answer(message)["outcome"] in ("interrupted", "unsure")
    assert rig.ask("say", "/c next").json()["outcome"] == "done"
    assert len(called(model, "slow question")) == 1


def test_a_reached_usage_limit_parks_the_turn_until_it_is_resumed(with_claude):
    rig, model = with_claude(
        "turns: [{limit: {window: five_hour, resets_in_s: 3600}}]\ndefault: {say: Here I am.}",
        SUBSCRIPTION,
    )
    limited = rig.run("say", "/c hello", "--json")
    assert (limited.code, limited.json()["outcome"]) == (0, "limited")
    (limit,) = rig.ask("limits").json()["limits"]
    assert (limit["worker"], limit["window"]) == ("consultant", "five_hour")
    assert limit["state"] == "waiting"
    parked = rig.told("TurnParked")[0]
    assert 3500_000 < parked["resets_at_ms"] - limit["since_ms"] <= 3601_000
    assert "resets 20" in rig.run("limits").out
    assert rig.run("limits", "resume", "consultant").code == 0
    assert rig.answer(limited.json()["message_id"])["text"] == "Here I am."
    assert rig.ask("limits").json() == {"limits": []}
    assert "hello" in model.bodies[-1], "the resumed request knows the question"


def test_an_interrupted_turn_ends_and_its_session_stays(with_claude):
    rig, model = with_claude("turns: [{match: slow, hang: 60, say: Late.}]\ndefault: {say: ok}")
    message = rig.post("/c slow question")
    until(lambda: called(model, "slow question"), "the call of the model")
    assert rig.run("interrupt", "consultant").code == 0
    assert rig.answer(message)["outcome"] == "interrupted"
    assert rig.ask("say", "/c next").json()["outcome"] == "done"
    assert len(rig.told("SessionOpened")) == 1


def test_an_emergency_stop_leaves_nothing_and_holds_until_released(with_claude):
    """P03, with the agent in the middle of a tool call that would outlive it."""
    rig, _ = with_claude(
        "turns: [{match: run, use: {tool: bash, args: "
        '{command: "setsid sleep 300 & echo $! >child; sleep 300"}}}]\ndefault: {say: ok}'
    )
    message = rig.post("/d run it")
    child = until(lambda: read(rig.project / "child"), "the tool's child")
    report = rig.run("emergency-stop", "--json")
    assert (report.code, report.json()["survivors"]) == (0, 0)
    assert report.json()["ms"] < 10_000
    assert not is_running(int(child))
    assert rig.running() == []
    assert rig.answer(message)["outcome"] == "stopped"

    stop = report.json()["stop_id"]
    refused = rig.run("say", "/c are you there?", "--json")
    assert refused.code == 6
    assert refused.json()["error"]["next"].endswith(f"amiral release {stop}")
    assert rig.run("release", stop).code == 0
    assert rig.ask("say", "/c are you there?").json()["outcome"] == "done"


def test_the_agent_holds_no_secret_of_ours_and_lives_in_its_own_home(real, with_claude):
    key = real.LOGINS["claude"]["ANTHROPIC_API_KEY"]
    canary = "canary-" + "7f3a" * 8
    names = ("TELEGRAM_BOT_TOKEN", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "OPENAI_API_KEY")
    rig, _ = with_claude("default: {say: ok}", **dict.fromkeys(names, canary))
    assert rig.ask("say", "/c hello").json()["outcome"] == "done"
    (session,) = rig.running()
    for pid in (session.cli, session.shim):
        assert canary not in Path(f"/proc/{pid}/environ").read_text()
        arguments = Path(f"/proc/{pid}/cmdline").read_text()
        assert canary not in arguments
        assert key not in arguments
    assert key not in Path(f"/proc/{session.shim}/environ").read_text()
    own = environment(session.cli)
    home = rig.state / "workers" / "consultant" / "home"
    assert own["HOME"] == own["CLAUDE_CONFIG_DIR"] == str(home)
    assert list(home.glob("projects/*/*.jsonl")), "the transcript is there"
    assert "AMIRAL_HOME" not in own
    assert not list((rig.home.parent / "user").iterdir()), "the person's home is untouched"


def test_an_agent_can_neither_talk_nor_release_nor_stop(with_claude):
    """P09: whoever runs below a shim is an agent, whatever its environment says."""
    amiral = f"{shlex.quote(sys.executable)} -m amiral"
    attempts = ["say '/d more' --json", "release 0a1b2c3d --json", "emergency-stop --json"]
    attempts += [f"{words} --json" for words in ("down", "events", "trust", "interrupt developer")]
    lines = [f"{amiral} {words}; echo" for words in attempts]
    hidden = f"env -i AMIRAL_HOME=$AMIRAL_HOME setsid -w {amiral}"
    lines += [f"{hidden} {words} --json; echo" for words in ("down", "emergency-stop")]
    command = f"export AMIRAL_HOME=$PWD/../home; ({'; '.join(lines)}) >told.txt 2>&1"
    scenario = {"turns": [{"use": {"tool": "bash", "args": {"command": command}}}]}
    rig, _ = with_claude(json.dumps(scenario))
    assert rig.ask("say", "/d try it").json()["outcome"] == "done"
    answers = [json.loads(line) for line in read(rig.project / "told.txt").split("\n") if line]
    assert [answer["error"]["kind"] for answer in answers] == ["denied"] * len(lines)
    assert rig.is_alive
    assert rig.ask("health").json()["ok"]


def is_in(folder: Path, text: str) -> bool:
    return any(text in path.read_text() for path in folder.glob("*/*.jsonl"))


def read(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""
