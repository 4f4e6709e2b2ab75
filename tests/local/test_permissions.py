"""Behaviour of `amiral permissions …` and `amiral sandbox run`, with the policy of the docs."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

POLICY = {
    "version": 1,
    "default": "ask",
    "rules": [
        {"capability": "read", "match": "**", "posture": "allow"},
        {"capability": "write", "match": "src/**", "posture": "allow"},
        {"capability": "write", "match": "**/.env", "posture": "deny"},
        {"capability": "execute-bash", "match": "git push*", "posture": "deny"},
    ],
    "workers": {"consultant": {"default": "deny", "rules": []}},
}


@pytest.fixture
def root():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        root = Path(folder).resolve()
        (root / "shop" / "src").mkdir(parents=True)
        (root / "policy.json").write_text(json.dumps(POLICY))
        yield root


@pytest.fixture
def amiral(root):
    def run(*argv, policy=True, **environ):
        words = (*argv[:2], *(("--policy", str(root / "policy.json")) if policy else ()), *argv[2:])
        env = {**os.environ, "AMIRAL_HOME": str(root / "home"), "NO_COLOR": "1", **environ}
        return subprocess.run(
            [sys.executable, "-m", "amiral", *words],
            cwd=root / "shop",
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def told(done):
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def test_this_machine_holds_the_fence(amiral):
    found = told(amiral("permissions", "probe", "--json", policy=False))
    assert found["status"] == "enforced"
    assert found["abi"] >= 6
    assert found["reasons"] == []


@pytest.mark.parametrize(
    ("words", "posture", "rule", "advisory"),
    [
        (("write", "src/new.py"), "allow", "allow write src/**", False),
        (("write", ".ENV"), "deny", "deny write **/.env", False),
        (("write", "src/../.env"), "deny", "deny write **/.env", False),
        (("delete", "src/old.py"), "allow", "allow write src/**", False),
        (("read", "/etc/passwd"), "ask", None, False),
        (("write", "README.md"), "ask", None, False),
        (("command", "cd x && git  push origin"), "deny", "deny execute-bash git push*", True),
        (("command", "ls"), "ask", None, True),
    ],
)
def test_a_decision_names_its_rule(amiral, words, posture, rule, advisory):
    found = told(amiral("permissions", "check", *words, "--json"))
    assert (found["posture"], found["advisory"]) == (posture, advisory)
    assert found["reason"]
    assert found.get("rule", "").partition(": ")[2] == (rule or "")


def test_what_holds_for_one_worker_is_shown(amiral):
    found = told(amiral("permissions", "show", "--worker", "consultant", "--json"))
    assert (found["default"], found["configured"]) == ("deny", True)
    assert found["rules"][-1] == "tools of consultant: deny delete **"
    assert amiral("permissions", "show", "--worker", "nobody").returncode == 4
    none = amiral("permissions", "show", policy=False)
    assert none.stdout == "anyone: nothing is configured\n"


def test_the_plan_lists_what_is_granted_of_project_and_system(amiral, root):
    found = told(amiral("permissions", "plan", "--json"))
    assert (found["status"], found["posture"]) == ("enforced", "ask")
    assert any("write" in grant["access"] for grant in found["grants"])
    assert {"path": "/usr", "access": ["read", "execute"]} in found["system"]
    assert amiral("permissions", "plan", policy=False).returncode == 4


def test_a_driver_is_shown_what_its_cli_is_given(amiral):
    found = told(amiral("permissions", "project", "claude", "--json"))
    assert set(found) == {"files", "args", "env", "diagnostics"}
    assert any("git push" in argument for argument in found["args"])
    wrong = amiral("permissions", "project", "cladue")
    assert (wrong.returncode, "did you mean claude?" in wrong.stderr) == (4, True)


def test_a_program_cannot_write_what_is_denied(amiral, root):
    (root / "shop" / ".env").write_text("kept\n")
    refused = amiral("sandbox", "run", "--", "sh", "-c", "echo x >.env")
    assert refused.returncode != 0
    assert (root / "shop" / ".env").read_text() == "kept\n"
    assert amiral("sandbox", "run", "--", "sh", "-c", "echo x >src/new").returncode == 0
    assert (root / "shop" / "src" / "new").read_text() == "x\n"


def test_a_root_without_what_is_denied_takes_a_new_file(amiral, root):
    done = amiral("sandbox", "run", "--", "sh", "-c", "echo x >new && exit 7")
    assert (done.returncode, (root / "shop" / "new").read_text()) == (7, "x\n")
    other = root / "other"
    other.mkdir()
    done = amiral("sandbox", "run", "--project-root", str(other), "--", "touch", "made")
    assert (done.returncode, (other / "made").exists()) == (0, True)


def test_k4_a_program_cannot_read_amirals_own_home(amiral, root):
    (root / "home" / "vault").mkdir(parents=True, mode=0o700)
    (root / "home" / "vault" / "secret").write_text("secret")
    secret = str(root / "home" / "vault" / "secret")
    done = amiral("sandbox", "run", "--", "cat", secret)
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert Path(secret).read_text() == "secret"


def test_a_program_that_cannot_be_fenced_is_not_run(amiral, root):
    done = amiral("sandbox", "run", "--", "touch", "ran", AMIRAL_SANDBOX_ENFORCER="none")
    assert done.returncode == 126
    assert "the fence cannot be built" in done.stderr
    assert not (root / "shop" / "ran").exists()


def test_bad_words_get_one_clear_error(amiral, root):
    assert "there is no program nosuch" in amiral("sandbox", "run", "nosuch").stderr
    assert "nothing is configured" in amiral("sandbox", "run", "true", policy=False).stderr
    gone = amiral("permissions", "show", "--policy", str(root / "gone.json"), policy=False)
    assert (gone.returncode, f"there is no file {root}/gone.json" in gone.stderr) == (4, True)
    (root / "policy.json").write_text('{"version": 1,\n"rules": [{"capability": "fly"}]}')
    wrong = amiral("permissions", "check", "write", "x")
    assert wrong.returncode == 2
    assert wrong.stderr.count("policy.json:2: rule number 1") == 2, "every mistake is told"
    assert "Traceback" not in wrong.stderr


def test_what_is_switched_off_is_told_by_the_probe(amiral):
    off = amiral("permissions", "probe", policy=False, AMIRAL_SANDBOX_ENFORCER="none")
    assert (off.returncode, "no fence is put up" in off.stdout) == (1, True)


def test_n1_a_closed_network_is_closed_for_a_program_too(amiral):
    reach = "import socket; socket.create_connection(('127.0.0.1', 1))"
    words = ("sandbox", "run", "--", sys.executable, "-I", "-c", reach)
    assert "ConnectionRefused" in amiral(*words).stderr
    assert "PermissionError" in amiral(*words, AMIRAL_SANDBOX_NETWORK="none").stderr
    assert "network none" in amiral("permissions", "plan", AMIRAL_SANDBOX_NETWORK="none").stdout


def test_a_policy_that_lies_where_nothing_is_served_is_told(amiral, root):
    config = root / "shop" / ".amiral" / "config"
    config.mkdir(parents=True)
    (config / "permissions.json").write_text("{}")
    told = amiral("permissions", "check", "write", "x", policy=False)
    assert "is not in force: `amiral up`" in told.stdout


def test_a_pattern_that_cannot_be_read_is_told(amiral, root):
    rule = {"capability": "write", "match": "src/[a-z].py", "posture": "allow"}
    (root / "policy.json").write_text(json.dumps({"version": 1, "rules": [rule]}))
    found = told(amiral("permissions", "show", "--json"))
    assert found["rules"] == []
    assert "the rule is dropped" in found["notices"][0]
