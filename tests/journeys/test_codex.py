"""Journeys with the real Codex, a scripted model behind it, and no network but loopback."""

import json
import os
import signal
from pathlib import Path

import pytest

from amiral.testbench.rig import is_running, until

pytestmark = pytest.mark.isolated
ROOT = Path(__file__).parents[2]
WRITE = 'use: {tool: write, args: {path: made.txt, text: "made\\n"}}'


@pytest.fixture
def with_codex(real):
    """Give a function that starts a scripted model and a rig whose workers are Codex."""

    def start(scenario, settings=None, **environ):
        rig, served = real.rig("codex", scenario, settings=settings, environ=environ)
        return rig.start(), served

    return start


def called(model, text: str) -> list[str]:
    """The requests whose last word of the person is this text, with or without history before."""
    pairs = zip(model.calls, model.bodies, strict=False)
    return [body for call, body in pairs if call.is_main and call.text.endswith(text)]


def outcome(rig, text: str) -> str:
    return str(rig.ask("say", text).json()["outcome"])


def test_the_consultant_answers_and_cannot_write(real, with_codex):
    """S0.28, S0.29."""
    rig, model = with_codex(
        f"turns: [{{match: what, say: It sells books.}}, {{match: make, {WRITE}}},"
        ' {match: make, use: {tool: bash, args: {command: "echo x >made.txt"}}}]\n'
        "default: {say: I may not.}"
    )
    said = rig.run("say", "/c what does this project do?", "--json").json()
    assert (said["outcome"], said["worker"]) == ("done", "consultant")
    assert [reply["text"] for reply in said["replies"]] == ["It sells books."]
    told = rig.run("say", "/c make it")
    assert (told.code, told.out.split("\n")[0]) == (0, "I may not.")
    assert "✗ refused  " in told.out
    assert not (rig.project / "made.txt").exists()
    assert not any(answer["allowed"] for answer in rig.told("PermissionAnswered"))
    assert len(rig.told("SessionOpened")) == 1
    assert real.LOGINS["codex"]["SCRIPTED_KEY"] not in json.dumps(rig.events())
    assert "consultant" in model.main_calls[0].system.lower(), "the identity is told"


def test_the_developer_writes_runs_and_may_leave_the_folder_when_it_asks(with_codex):
    rig, _ = with_codex(
        f"turns: [{WRITE.join(['{', '}'])},"
        ' {use: {tool: bash, args: {command: "cat made.txt >ran.txt"}}},'
        ' {use: {tool: write, args: {path: ../outside.txt, text: "x"}}}, {say: Made.}]'
    )
    answer = rig.ask("say", "/d make it").json()
    assert (answer["outcome"], answer["replies"][0]["text"]) == ("done", "Made.")
    assert (rig.project / "made.txt").read_text() == "made\n"
    assert (rig.project / "ran.txt").read_text() == "made\n"
    assert (rig.project.parent / "outside.txt").exists()
    assert [one["tool"] for one in rig.told("PermissionAsked")] == ["Write"]
    assert all(one["allowed"] for one in rig.told("PermissionAnswered"))


def test_a_killed_project_process_is_followed_by_one_that_brings_the_answer_once(with_codex):
    """P01: kill -9 while the model thinks."""
    rig, model = with_codex("turns: [{match: slow, hang: 2, say: Late.}]\ndefault: {say: ok}")
    message = rig.post("/c slow question")
    until(lambda: called(model, "slow question"), "the call of the model")
    rig.kill()
    rig.start()
    assert (rig.answer(message)["outcome"], rig.answer(message)["text"]) == ("done", "Late.")
    assert outcome(rig, "/c next") == "done"
    assert len(rig.answers(message)) == len(called(model, "slow question")) == 1
    assert len(rig.told("SessionOpened")) == 1, "the CLI went on under its shim"


@pytest.mark.parametrize("is_first", [True, False])
def test_a_killed_shim_is_settled_from_the_rollout_and_codex_remembers(with_codex, is_first):
    """R41: the turn that was cut is told, also when Codex had not yet proved its own key."""
    rig, model = with_codex("turns: [{match: slow, hang: 60, say: Late.}]\ndefault: {say: ok}")
    if not is_first:
        assert outcome(rig, "/c the number is 417") == "done"
    message = rig.post("/c slow question")
    until(lambda: called(model, "slow question"), "the call of the model")
    (session,) = rig.running()
    os.kill(session.shim, signal.SIGKILL)
    assert rig.answer(message)["outcome"] == "interrupted"
    assert outcome(rig, "/c and which number?") == "done"
    (request,) = called(model, "and which number?")
    assert ("slow question" if is_first else "the number is 417") in request
    assert not is_running(session.cli), "the CLI of a lost shim is ended before its turn is told"
    assert len(called(model, "slow question")) == 1


def test_a_reached_usage_limit_parks_the_turn_until_it_is_resumed(with_codex):
    rig, model = with_codex(
        "turns: [{limit: {window: five_hour, resets_in_s: 3600}}]\ndefault: {say: Here I am.}"
    )
    limited = rig.run("say", "/c hello", "--json")
    assert (limited.code, limited.json()["outcome"]) == (0, "limited")
    (limit,) = rig.ask("limits").json()["limits"]
    assert (limit["worker"], limit["window"]) == ("consultant", "five_hour")
    parked = rig.told("TurnParked")[0]
    assert 3500_000 < parked["resets_at_ms"] - limit["since_ms"] <= 3601_000
    assert rig.run("limits", "resume", "consultant").code == 0
    assert rig.answer(limited.json()["message_id"])["text"] == "Here I am."
    assert "hello" in model.bodies[-1], "the resumed request knows the question"


def test_an_interrupted_turn_ends_and_its_session_stays(with_codex):
    rig, model = with_codex("turns: [{match: slow, hang: 60, say: Late.}]\ndefault: {say: ok}")
    message = rig.post("/c slow question")
    until(lambda: called(model, "slow question"), "the call of the model")
    assert rig.run("interrupt", "consultant").code == 0
    assert rig.answer(message)["outcome"] == "interrupted"
    assert outcome(rig, "/c next") == "done"
    assert len(rig.told("SessionOpened")) == 1


def test_an_emergency_stop_leaves_nothing(with_codex):
    """P03, with the agent in the middle of a tool call that would outlive it."""
    rig, _ = with_codex(
        "turns: [{match: run, use: {tool: bash, args: "
        '{command: "setsid sleep 300 & touch started; sleep 300"}}}]\ndefault: {say: ok}'
    )
    message = rig.post("/d run it")
    until((rig.project / "started").exists, "the tool")
    report = rig.run("emergency-stop", "--json")
    assert (report.code, report.json()["survivors"]) == (0, 0)
    assert rig.running() == [] and rig.agents() == {}
    assert rig.answer(message)["outcome"] == "stopped"


def test_without_a_login_nothing_is_started_and_a_person_is_told_what_to_do(with_codex):
    """S3.53: a preflight, and a visible login-needed state."""
    rig, model = with_codex("default: {say: ok}", "")
    until(lambda: "run `amiral login codex`" in rig.log(), "what `amiral up` tells")
    assert "run `amiral login codex`" in rig.run("doctor").out
    answer = rig.ask("say", "/c hello").json()
    assert answer["outcome"] == "failed"
    assert "login needed" in answer["reason"] and "amiral login codex" in answer["reason"]
    assert rig.told("SessionOpened") == [] and model.calls == []


def test_a_configuration_codex_cannot_use_fails_the_turn_and_not_the_queue(real, with_codex):
    config = real.SETTINGS["codex"].replace(
        'model_provider = "scripted"', 'model_provider = "nowhere"'
    )
    rig, _ = with_codex("default: {say: ok}", config)
    for text in ("/c hello", "/c again"):
        answer = rig.ask("say", text).json()
        assert (answer["outcome"], "nowhere" in answer["reason"]) == ("failed", True)
    until(lambda: rig.running() == [], "the end of what never got ready")
