"""The seven invariants of a fenced worker (S3.31), with a real CLI process behind a real fence."""

import json
import subprocess

import pytest

from amiral.agents.declared import read_rules
from amiral.base import events as ev
from amiral.base.settings import Sandbox
from amiral.processes import tree

WRITE_BOTH = "echo x >src/in; echo x >out; echo x >{outside}/out; echo end"


def rules(*own, default="deny", **workers):
    rows = [{"capability": c, "match": m, "posture": p} for c, m, p in own]
    told = {"version": 1, "default": default, "rules": rows, "workers": workers}
    return read_rules(json.dumps(told), "permissions.json")


def playing(command: str) -> str:
    turn = {"use": {"tool": "bash", "args": {"command": command}}}
    return json.dumps({"turns": [turn, {"say": "done"}], "default": {"say": "ok"}})


@pytest.fixture
def fenced(works, tmp_path):
    """A project whose worker may write below src alone; `command` is what it runs."""

    def prepare(command=WRITE_BOTH):
        (works.project / "src").mkdir()
        works.scenario(playing(command.replace("{outside}", str(tmp_path))))
        works.plan.rules = rules(("read", "**", "allow"), ("write", "src/**", "allow"))
        return works

    return prepare


async def test_s3_31_1_what_is_granted_is_done_and_what_is_not_is_refused_f1(fenced, tmp_path):
    works = fenced()
    await works.open()
    assert (await works.answer()).outcome == "done"
    assert (works.project / "src" / "in").read_text() == "x\n"
    assert not (works.project / "out").exists()
    assert not (tmp_path / "out").exists()


async def test_s3_31_2_and_4_without_permissions_everything_is_as_before(fenced, tmp_path):
    works = fenced()
    works.plan.rules = type(works.plan.rules)()
    await works.open()
    assert (await works.answer()).outcome == "done"
    assert (works.project / "out").read_text() == (tmp_path / "out").read_text() == "x\n"


async def test_s3_31_3_what_is_denied_by_default_starts_nothing_where_nothing_holds_it(fenced):
    works = fenced()
    works.plan.sandbox = Sandbox(enforcer="none")
    await works.open()
    end = await works.answer()
    assert (end.outcome, "nothing can hold" in end.reason) == ("failed", True)
    assert "amiral permissions probe" in end.reason
    assert works.events(ev.SessionLaunched) == []
    assert not (works.project / "src" / "in").exists()


async def test_s3_31_5_two_workers_have_disjoint_grants_and_nothing_leaks_to_us_f11_s6(
    fenced, works
):
    command = "echo $HOME >src/$0.in; echo $HOME >lib/$0.in"
    fenced(command)
    (works.project / "lib").mkdir()
    works.plan.rules = rules(
        ("read", "**", "allow"),
        dev={"default": "deny", "rules": [row("write", "src/**")]},
        ops={"default": "deny", "rules": [row("write", "lib/**")]},
    )
    works.plan.workers["ops"] = works.make_worker(id="ops")
    for worker, text in (("dev", "bash"), ("ops", "bash")):
        works.scenario(
            playing(f"echo x >src/{worker}; echo x >lib/{worker}; echo x >{home(works)}")
        )
        if not works.is_open:
            await works.open()
        assert (await works.answer(text, worker)).outcome == "done"
    assert sorted(path.name for path in (works.project / "src").iterdir()) == ["dev"]
    assert sorted(path.name for path in (works.project / "lib").iterdir()) == ["ops"]
    (works.project / "ours").write_text("we are not behind any fence")


def row(capability, match):
    return {"capability": capability, "match": match, "posture": "allow"}


def home(works):
    return works.workers_folder / "dev" / "home" / "of-another"


async def test_s3_31_6_a_turn_that_runs_too_long_leaves_nothing_s8(fenced):
    works = fenced("setsid sleep 300 & sleep 300")
    works.plan.longest_s, works.plan.grace_s = 1.0, 0.5
    await works.open()
    assert (await works.answer()).outcome == "timed_out"
    session = works.session()
    await works.close()
    assert tree.tagged(f"{works.tag}:{session}") == []


async def test_s3_31_7_a_fenced_conversation_is_resumed_by_its_own_key_s3_32(fenced):
    works = fenced("echo x >src/in")
    await works.open()
    assert (await works.answer()).outcome == "done"
    await works.close()
    await works.open()
    assert (await works.answer("again")).outcome == "done"
    first, second = works.events(ev.SessionOpened)
    assert second.resume_key == first.fresh_key != ""


async def test_r48_a_changed_policy_opens_a_new_session_behind_a_new_fence(fenced):
    works = fenced()
    await works.open()
    await works.answer()
    works.plan.rules = rules(("read", "**", "allow"), ("write", "**", "allow"))
    assert (await works.answer("again")).outcome == "done"
    assert len(works.events(ev.SessionOpened)) == 2
    first, second = (works.meta(works.session(number)) for number in (0, 1))
    assert first.cli != second.cli


async def test_g2_git_s_settings_hooks_and_the_users_branches_are_out_of_reach(fenced, works):
    def git(*words):
        env = {"HOME": str(works.home), "PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
        names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
        run = subprocess.run(
            ["git", *names, *words], cwd=works.project, env=env, capture_output=True, check=True
        )
        return run.stdout.decode().strip()

    fenced(
        "git log --oneline >src/log; git status --short >src/status; echo x >src/in;"
        " git config core.fsmonitor evil; git commit --allow-empty -qm w;"
        " d=$(git rev-parse --git-common-dir); echo x >$d/hooks/pre-commit; echo x >>$d/config;"
        " echo ref: refs/heads/main >$d/refs/heads/amiral/dev; rm -rf $d/objects/??;"
        " for o in $d/objects/??/*; do chmod 644 $o; echo x >$o; done"
    )
    (works.project / "src" / "kept").write_text("")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    before = git("rev-parse", "main")
    config = (works.project / ".git" / "config").read_bytes()
    await works.open()
    assert (await works.answer()).outcome == "done"
    tree = works.home / "worktrees" / "dev"
    assert "first" in (tree / "src" / "log").read_text(), "it can look"
    assert (tree / "src" / "in").read_text() == "x\n"
    assert git("rev-parse", "main") == git("rev-parse", "amiral/dev") == before
    assert git("fsck", "--full") == ""
    assert (works.project / ".git" / "config").read_bytes() == config
    assert not (works.project / ".git" / "hooks" / "pre-commit").exists()
