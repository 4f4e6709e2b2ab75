"""A worker asks for a permission: seen, answered once, expired, taken back, killed anywhere."""

import json
import shlex
import sys

import pytest

from amiral.testbench.rig import scripted_config, until

ASKS = {
    "default": "allow",
    "rules": [
        {"capability": "execute-bash", "match": "git push*", "posture": "ask"},
        {"capability": "write", "match": "prices.txt", "posture": "ask"},
    ],
}
PUSH = "turns: [{use: {tool: bash, args: {command: git push origin main}}}, {say: Asked.}]\n"


@pytest.fixture
def shop(yard, hire):
    """Give a rig with a worker that asks before it changes things, held by the rules above."""

    def make(scenario=PUSH, more="", environ=None):
        path = yard.folder / "scenario.yaml"
        path.write_text(scenario, "utf-8")
        command = [sys.executable, "-m", "amiral.testbench.scripted_cli"]
        command += ["--scenario", str(path), "--ask-permissions"]
        scripted = f"[drivers.scripted]\ncommand = {json.dumps(command)}\n"
        rig = yard.rig(scripted_config() + scripted + more)
        hire(rig, {"tools": "all", "permissions": ASKS})
        rig.start()
        assert rig.ask("trust", "workers_registry.json").code == 0
        until(lambda: "tester" in rig.run("workers").out, "the worker", 5)
        if environ:
            rig.kill()
            rig.start(environ)
        return rig

    return make


def waiting(rig):
    return until(lambda: rig.ask("approvals").json()["approvals"], "a request")[0]


def effects(rig, worker="tester"):
    path = rig.state / "workers" / worker / "home" / "scripted" / "effects.jsonl"
    found = [json.loads(line) for line in path.read_text().split("\n") if line]
    return [one["tool"] for one in found if one["type"] == "effect"]


def test_a_request_is_shown_where_one_asked_and_allowed_once(shop):
    rig = shop()
    said = rig.run("say", "/w:tester push it")
    assert said.code == 0
    assert "wants to use Bash\n  │ git push origin main\n" in said.out
    assert "⏳ tester · pending: it waits for a permission of the owner" in said.out
    request = waiting(rig)
    assert (request["tool"], request["preview"]) == ("Bash", "git push origin main")
    assert "ask execute-bash git push*" in request["why"]
    assert f"amiral approve-request {request['id']} allow" in rig.run("approvals").out
    first = rig.run("status").out.split("\n")[0]
    assert first.startswith("? tester wants to use Bash: git push origin main · expires 20")

    allowed = rig.run("approve-request", request["id"], "allow")
    assert (allowed.code, allowed.err) == (0, "")
    assert allowed.out.startswith(f"✓ allowed {request['id']} · tester wants to use Bash")
    assert rig.answer(request["message_id"])["text"] == "Asked."
    assert effects(rig) == ["Bash"]
    late = rig.run("approve-request", request["id"], "deny", "--json")
    assert (late.code, late.json()["error"]["kind"]) == (6, "conflict")
    assert "was allowed by owner at 20" in late.json()["error"]["message"]
    assert rig.run("approvals").out == "✓ no request waits for you\n"


def test_what_is_denied_is_not_done_and_the_worker_hears_why(shop):
    rig = shop()
    message = rig.post("/w:tester push it")
    request = waiting(rig)
    denied = rig.run("say", f"/approve_request {request['id']} deny not on a friday")
    assert denied.out.startswith("✗ denied")
    assert rig.answer(message)["outcome"] == "done"
    (refused,) = rig.told("ToolRefused")
    assert refused["reason"] == "denied by the owner: not on a friday"
    assert effects(rig) == []


def test_a_change_of_a_file_is_shown_as_what_would_stand_there(shop, yard):
    write = 'turns: [{use: {tool: write, args: {path: prices.txt, text: "tea 2\\n"}}}, {say: ok}]'
    (yard.folder / "shop").mkdir()
    prices = yard.folder / "shop" / "prices.txt"
    prices.write_text("tea 1\n")
    rig = shop(write)
    message = rig.post("/w:tester new prices")
    request = waiting(rig)
    assert request["preview"].split("\n") == ["path: prices.txt", "+tea 2"]
    rig.ask("approve-request", request["id"], "allow", "--digest", request["digest"])
    assert rig.answer(message)["outcome"] == "done"
    assert effects(rig) == ["Write"]
    assert prices.read_text() == "tea 2\n"


def test_what_no_rule_asks_about_is_done_without_a_word(shop):
    rig = shop("turns: [{use: {tool: bash, args: {command: echo hi}}}, {say: ok}]")
    assert rig.ask("say", "/w:tester greet").json()["outcome"] == "done"
    assert rig.told("ApprovalAsked") == []
    assert [one["allowed"] for one in rig.told("PermissionAnswered")] == [True]


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".claude/settings.json"])
def test_what_runs_later_is_not_changed_though_every_change_is_allowed(shop, path):
    """The answer is that of `permissions check`."""
    rig = shop(f"turns: [{{use: {{tool: write, args: {{path: {path}, text: x}}}}}}, {{say: ok}}]")
    assert rig.ask("say", "/w:tester go on").json()["outcome"] == "done"
    (refused,) = rig.told("ToolRefused")
    check = rig.run("permissions", "check", "write", path, "--worker", "tester", "--json").json()
    assert refused["reason"] == check["reason"]
    assert check["reason"].startswith("protected by its name")
    assert effects(rig) == []


def test_no_answer_is_a_no(shop):
    rig = shop(more="[safety]\napproval_ttl_s = 1\n")
    message = rig.post("/w:tester push it")
    assert rig.answer(message)["outcome"] == "done"
    (refused,) = rig.told("ToolRefused")
    assert refused["reason"] == "denied: nobody answered in time"
    (expired,) = rig.told("ApprovalExpired")
    late = rig.run("approve-request", expired["approval"], "allow")
    assert late.code == 6
    assert "nobody had answered" in late.err


def test_an_interrupt_takes_the_request_back(shop):
    rig = shop()
    message = rig.post("/w:tester push it")
    request = waiting(rig)
    assert rig.run("interrupt", "tester").code == 0
    assert rig.answer(message)["outcome"] == "interrupted"
    late = rig.run("approve-request", request["id"], "allow")
    assert (late.code, "ended without an answer" in late.err) == (6, True)
    assert effects(rig) == []


def test_h4_an_agent_answers_no_request_not_even_its_own(shop, yard):
    """Whoever runs below a shim is an agent (P09), even where no fence keeps it from asking."""
    amiral = f"{shlex.quote(sys.executable)} -m amiral"
    told, name, script = (yard.folder / name for name in ("told", "request", "try.sh"))
    tries = ["approvals", f"approve-request $(cat {name}) allow", f"approve-request $(cat {name})"]
    hidden = f"env -i AMIRAL_HOME=$AMIRAL_HOME setsid -w {amiral}"
    lines = [f"{how} {words} --json; echo" for how in (amiral, hidden) for words in tries]
    inside = f"cd {yard.folder}/shop; export AMIRAL_HOME={yard.folder}/home"
    wait = f"until [ -e {name} ]; do sleep 0.05; done"
    script.write_text(
        "\n".join([inside, wait, f"({'; '.join(lines)}) >{told} 2>&1", f"mv {told} {told}.txt"])
    )
    behind = f"setsid sh {script} >/dev/null 2>&1 </dev/null &"
    commands = (behind, "git push")
    turns = [{"use": {"tool": "bash", "args": {"command": command}}} for command in commands]
    rig = shop(json.dumps({"turns": turns}), '[sandbox]\nenforcer = "none"\n')
    rig.post("/w:tester push it")
    request = waiting(rig)
    (yard.folder / "new").write_text(request["id"])
    (yard.folder / "new").rename(name)
    result = yard.folder / "told.txt"
    until(result.exists, "the attempts")
    answers = [json.loads(line) for line in result.read_text().split("\n") if line]
    assert [answer["error"]["kind"] for answer in answers] == ["denied"] * len(lines)
    assert waiting(rig) == request
    assert rig.told("ApprovalAnswered") == []


# ------------------------------------------------------------------ killed anywhere


def proved_once(rig, message, allow=True):
    """One request, one answer, done once or not at all."""
    assert rig.answer(message)["outcome"] == "done"
    assert len(rig.told("ApprovalAsked")) == len(rig.told("ApprovalAnswered")) == 1
    assert len(rig.told("PermissionAsked")) == 1
    assert effects(rig) == (["Bash"] if allow else [])


def armed(point):
    return {"AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": point}


def test_p01_killed_while_it_waits_the_request_is_still_there(shop):
    rig = shop()
    message = rig.post("/w:tester push it")
    request = waiting(rig)
    for _ in range(3):
        rig.kill()
        rig.start()
        assert waiting(rig) == request
    assert rig.run("approve-request", request["id"], "allow").code == 0
    proved_once(rig, message)


@pytest.mark.parametrize("answer", ["allow", "deny"])
@pytest.mark.parametrize("point", ["approval.answered", "approval.written"])
def test_p01_killed_between_the_answer_and_the_worker_it_is_given_once(shop, point, answer):
    rig = shop(environ=armed(point))
    message = rig.post("/w:tester push it")
    request = waiting(rig)
    rig.run("approve-request", request["id"], answer)
    assert rig.wait_dead() == -9
    rig.start()
    proved_once(rig, message, allow=answer == "allow")
    late = rig.run("approve-request", request["id"], "allow")
    assert (late.code, "by owner at 20" in late.err) == (6, True)


def test_p01_killed_as_soon_as_it_was_asked_it_is_asked_once(shop):
    """The place is behind every commit of a turn: the second death comes after the question."""
    rig = shop(environ=armed("turn.folded:2"))
    message = rig.post("/w:tester push it")
    assert rig.wait_dead() == -9
    rig.launch(armed("turn.folded"))
    assert rig.wait_dead() == -9
    rig.start()
    request = waiting(rig)
    assert rig.run("approve-request", request["id"], "allow").code == 0
    proved_once(rig, message)
