"""Behaviour of `amiral permissions …` and `amiral sandbox run`, with the policy of the docs."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from amiral.processes.spawn import Spawner
from amiral.projects.git import Git
from amiral.projects.store import Projects
from amiral.projects.worktrees import Worktrees
from amiral.store.brake import Brake

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


@pytest.fixture
def repository(root):
    """A served project in a repository, where the developer has a worktree already."""
    shop = root / "shop"
    (shop / "src" / "a").write_text("a")
    names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run(["git", *names, *words], cwd=shop, check=True)
    (shop / ".mcp.json").write_text("{}")
    home = root / "home"
    home.mkdir(mode=0o700)
    project = Projects(home, Path.home()).register(shop)
    folder = home / "projects" / project.id / "worktrees"
    worktrees = Worktrees(Git(Spawner(Brake(home / "brake"), "")), shop, folder)
    asyncio.run(worktrees.ensure("developer"))
    return folder / "developer"


def test_who_writes_in_a_repository_is_shown_the_plan_of_its_worktree(amiral, repository, root):
    found = told(amiral("permissions", "plan", "--worker", "developer", "--json"))
    assert (found["folder"], found["worktree"]) == (str(repository), True)
    assert any(
        grant["path"] == str(repository) and "write" in grant["access"] for grant in found["grants"]
    )
    assert [Path(one["path"]).name for one in found["own"]] == ["home", "tmp"]
    assert {one["path"] for one in found["git"]} >= {str(root / "shop" / ".git")}
    assert all(one["access"] == ["read"] for one in found["git"])
    assert {"path": "/", "access": ["list"]} in found["elsewhere"]
    shown = amiral("permissions", "plan", "--worker", "developer").stdout
    assert f"{repository} (a worktree)\n" in shown
    assert "git's folders\n" in shown


def test_who_has_no_worktree_yet_is_shown_the_folder_as_one_and_here_as_it_is(amiral, repository):
    found = told(amiral("permissions", "plan", "--json"))
    assert (Path(found["folder"]).name, found["worktree"], found["git"]) == ("shop", True, [])
    assert any("has no worktree yet" in notice for notice in found["diagnostics"])
    here = told(amiral("permissions", "plan", "--here", "--json"))
    assert here["worktree"] is False
    assert any(".mcp.json is protected by name" in notice for notice in here["diagnostics"])
    reading = told(amiral("permissions", "plan", "--worker", "consultant", "--json"))
    assert (Path(reading["folder"]).name, reading["worktree"]) == ("shop", False)


def test_what_is_protected_by_its_name_is_told_whatever_the_policy(amiral, root):
    (root / "policy.json").write_text(json.dumps({"version": 1, "default": "allow"}))
    for path in (".git/config", ".mcp.json", "src/.claude/settings.local.json"):
        found = told(amiral("permissions", "check", "write", path, "--json"))
        assert (found["posture"], "whatever the policy" in found["reason"]) == ("deny", True)
    assert told(amiral("permissions", "check", "read", ".mcp.json", "--json"))["posture"] == "allow"


def test_in_a_worktree_only_git_s_own_folder_is_protected(amiral, repository, root):
    (root / "policy.json").write_text(json.dumps({"version": 1, "default": "allow"}))
    found = amiral("permissions", "check", "write", ".mcp.json").stdout
    assert found.startswith("✓ allow")
    assert "in your own folder it is protected, whatever the policy (--here)" in found
    assert amiral("permissions", "check", "--here", "write", ".mcp.json").stdout[0] == "✗"
    assert amiral("permissions", "check", "write", ".git/config").stdout[0] == "✗"


def test_a_projects_own_settings_make_the_plan_stricter(amiral, repository, root):
    config = root / "shop" / ".amiral" / "config"
    config.mkdir(parents=True)
    (config / "amiral.toml").write_text('[sandbox]\nnetwork = "none"\n')
    assert told(amiral("permissions", "plan", "--json"))["network"] == "none"


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
    (root / "policy.json").write_text(json.dumps({**POLICY, "default": "allow"}))
    done = amiral("sandbox", "run", "--", "sh", "-c", "echo x >new && exit 7")
    assert (done.returncode, (root / "shop" / "new").read_text()) == (7, "x\n")
    other = root / "other"
    other.mkdir()
    done = amiral("sandbox", "run", "--project-root", str(other), "--", "touch", "made")
    assert (done.returncode, (other / "made").exists()) == (0, True)


needs_bwrap = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="there is no bwrap: make system-packages"
)


@needs_bwrap
def test_f5_in_a_box_a_root_with_what_is_denied_takes_a_new_file_too(amiral, root):
    (root / "policy.json").write_text(json.dumps({**POLICY, "default": "allow"}))
    (root / "shop" / ".env").write_text("kept\n")
    tries = "echo x >new; touch new2; mv new2 .env; rm -f .env; echo x >.env; exit 7"
    program = ("sandbox", "run", "--", "sh", "-c", tries)
    amiral(*program)
    assert not (root / "shop" / "new").exists()
    done = amiral(*program, AMIRAL_SANDBOX_ENFORCER="bwrap")
    assert (done.returncode, (root / "shop" / "new").read_text()) == (7, "x\n")
    assert (root / "shop" / ".env").read_text() == "kept\n"


@needs_bwrap
def test_a_plan_lists_what_is_covered_and_a_trial_names_the_enforcer(amiral, root):
    (root / "policy.json").write_text(json.dumps({**POLICY, "default": "allow"}))
    (root / "shop" / ".env").touch()
    box = {"AMIRAL_SANDBOX_ENFORCER": "bwrap"}
    covered = {"path": f"{root}/shop/.env", "is_folder": False, "is_hidden": False}
    assert told(amiral("permissions", "plan", "--json"))["covers"] == []
    assert told(amiral("permissions", "plan", "--json", **box))["covers"] == [covered]
    assert f"covered\n  {root}/shop/.env  kept\n" in amiral("permissions", "plan", **box).stdout
    found = told(amiral("permissions", "probe", "--json", policy=False, **box))
    assert (found["status"], found["enforcer"]) == ("enforced", "bwrap")
    assert "in a box of bwrap" in amiral("permissions", "probe", policy=False, **box).stdout


def test_s3_23_what_would_be_asked_is_denied_to_a_program_since_nobody_is_asked(amiral, root):
    done = amiral("sandbox", "run", "--", "sh", "-c", "echo x >src/in && echo x >out")
    assert done.returncode != 0
    assert (root / "shop" / "src" / "in").exists()
    assert not (root / "shop" / "out").exists()


def start_in(root, *words):
    env = {**os.environ, "AMIRAL_HOME": str(root / "home")}
    policy = ("--policy", str(root / "policy.json"))
    return subprocess.Popen(
        [sys.executable, "-m", "amiral", "sandbox", "run", *policy, "--", *words],
        cwd=root / "shop",
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_stop_kills_a_program_and_lets_none_begin(amiral, root):
    program = start_in(root, "sh", "-c", "echo begun; exec sleep 300")
    with program:
        assert program.stdout is not None
        assert program.stdout.readline() == "begun\n"
        stop = told(amiral("emergency-stop", "--json", policy=False))
        assert program.wait(timeout=20) == -signal.SIGKILL
    assert program.pid in stop["killed"]
    refused = amiral("sandbox", "run", "--", "touch", "src/ran")
    assert refused.returncode != 0
    assert "is in force" in refused.stderr
    assert not (root / "shop" / "src" / "ran").exists()


def test_what_a_program_prints_is_no_json_of_ours(amiral):
    done = amiral("sandbox", "run", "--json", "--", "true")
    assert (done.returncode, "has no --json" in done.stdout) == (2, True)
    assert amiral("sandbox", "run", "--", "echo", "--json").stdout == "--json\n"


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
