"""The journey of a spec: asked for, judged, carried out in its worktree, taken or thrown away."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import threading
import time

import pytest

from amiral.testbench.rig import until

SPEC = """
  - match: How should
    say: With a table.
    spec:
      title: {title}
      problem: The till cannot do it.
      approach: A table in cart.py.
      acceptance: [A code works, It is tested]
      files: [cart.py]
"""
WORK = """
  - match: Carry out spec
    use: {tool: write, args: {path: codes.py, text: "CODES = 1\\n"}}
  - match: Carry out spec
    use: {tool: write, args: {path: test_codes.py, text: "%s"}}
  - match: Carry out spec
    pause_ms: %d
    chunk: 4
    say: |
      Done, and the tests pass now, all of them.
      ```done
      1: by CODES
      2: test_codes.py
      ```
"""
CASE = "import unittest\\nclass T(unittest.TestCase):\\n    def test_x(self): %s\\n"
LATER = "default: {say: ok}\n"


def scenario(*turns):
    return "turns:\n" + "".join(turns) + LATER


def spec_of(title="Add codes"):
    return SPEC.replace("{title}", title)


def work(case="pass", pause_ms=0):
    return WORK % (CASE % case, pause_ms)


def git(root, *words):
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@shop.invalid")
    env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    ran = subprocess.run(
        ("git", *who, *words), cwd=root, env=env, capture_output=True, text=True, check=True
    )
    return ran.stdout.rstrip("\n")


@pytest.fixture
def shop(yard):
    """A rig whose project is a repository with a bit of everything; it is not started."""

    def make(text, more=""):
        rig = yard.scripted(text, more)
        git(rig.project, "init", "--quiet", "--initial-branch=main")
        (rig.project / ".gitignore").write_text("*.log\n__pycache__/\n")
        (rig.project / "cart.py").write_text("total = 0\n")
        (rig.project / "run.sh").write_text("#!/bin/sh\n")
        (rig.project / "run.sh").chmod(0o755)
        git(rig.project, "add", "--all")
        git(rig.project, "commit", "--quiet", "-m", "A shop")
        (rig.project / "staged.py").write_text("s = 1\n")
        git(rig.project, "add", "staged.py")
        (rig.project / "cart.py").write_text("total = 9\n")
        (rig.project / "notes.txt").write_text("mine\n")
        (rig.project / "debug.log").write_text("ignored\n")
        return rig

    return make


def checkout(rig):
    """Everything of the user's but `.amiral/`: files with modes, HEAD, index, refs, settings."""
    told = {"refs": git(rig.project, "for-each-ref"), "list": git(rig.project, "worktree", "list")}
    told["status"] = git(rig.project, "status", "--porcelain", "--", ".", ":(exclude).amiral")
    kept = [rig.project / ".git" / name for name in ("HEAD", "index", "config")]
    for path in (*kept, *sorted(rig.project.rglob("*"))):
        inner = path.relative_to(rig.project)
        if path in kept or not {".git", ".amiral"} & set(inner.parts):
            data = path.read_bytes() if path.is_file() else b""
            told[str(inner)] = f"{path.stat().st_mode:o} {hashlib.sha256(data).hexdigest()}"
    return told


def ask_for(rig):
    """Have the consultant write a spec; gives its id."""
    rig.ask("say", "/c How should it take codes?")
    return until(
        lambda: [one for one in rig.ask("specs").json() if one["status"] == "draft"], "it"
    )[-1]["id"]


def state(rig, spec):
    return rig.ask("spec", "show", spec).json()


def settled(rig, spec, wanted=("done",), seconds=30.0):
    """Wait until a spec is done, or came back."""

    def find():
        found = state(rig, spec)
        now = "failed" if found["failed"] else found["status"]
        return found if now in wanted else None

    return until(find, f"{spec} being {wanted}", seconds)


def tree(rig, name):
    return rig.state / "worktrees" / name


def executed(rig, worker="developer"):
    """What the CLI of a worker has carried out, by its own record."""
    record = rig.state / "workers" / worker / "home" / "scripted" / "effects.jsonl"
    lines = [json.loads(line) for line in record.read_text().split("\n") if line]
    return [line["id"] for line in lines if line["type"] == "executed"]


# ------------------------------------------------------------------ the whole way


def test_a_spec_is_carried_out_in_its_worktree_and_taken_over(shop):
    rig = shop(scenario(spec_of(), work())).start()
    before = checkout(rig)
    spec = ask_for(rig)
    assert rig.run("approve", spec).code == 0
    done = settled(rig, spec)
    assert done["branch"] == f"amiral/{spec}"
    assert done["tests"].startswith("Ran 1 test in ")
    short = done["commit"][:12]
    assert done["ticks"] == [
        f"by CODES · {short}",
        f"test_codes.py · {short}",
    ]
    assert git(rig.project, "rev-parse", f"amiral/{spec}") == done["commit"]
    assert git(rig.project, "log", "-1", "--format=%an", done["commit"]) == "developer"
    (tested,) = rig.told("SpecTested")
    assert (tested["passed"], tested["command"]) == (True, "python3 -m unittest")
    assert rig.told("SpecDone")[0]["files"] == ["codes.py", "test_codes.py"]

    shown = rig.run("diff", spec)
    assert shown.code == 0
    assert "+CODES = 1" in shown.out
    refused = rig.run("merge", spec, "--json")
    assert (refused.code, refused.json()["error"]["kind"]) == (6, "conflict")
    after = checkout(rig)
    assert after.pop("refs") != before.pop("refs")
    assert after.pop("list") != before.pop("list")
    assert after == before

    git(rig.project, "stash")
    merged = rig.run("merge", spec, "--json")
    assert merged.code == 0, merged
    assert git(rig.project, "rev-parse", "main") == merged.json()["commit"]
    assert (rig.project / "codes.py").read_text() == "CODES = 1\n"
    assert state(rig, spec)["merged"] == merged.json()["commit"]
    again = rig.run("merge", spec, "--json")
    assert again.code == 6
    assert "was merged as" in again.json()["error"]["message"]
    assert rig.run("discard", spec).out == f"✓ discarded amiral/{spec}\n"
    assert git(rig.project, "branch", "--list", "amiral/*") == ""


def test_after_a_discard_the_checkout_is_as_before(shop):
    """The issue: tracked and untracked files outside `.amiral/`, HEAD, index, branches."""
    rig = shop(scenario(spec_of(), work())).start()
    before = checkout(rig)
    spec = ask_for(rig)
    rig.ask("approve", spec)
    done = settled(rig, spec)
    answer = rig.run("discard", spec, "--json")
    assert answer.code == 0
    assert checkout(rig) == before
    assert state(rig, spec)["branch"] == ""
    kept = answer.json()["commit"]
    assert git(rig.project, "cat-file", "-t", kept) == "commit"
    assert git(rig.project, "show", f"{kept}:codes.py") == "CODES = 1"
    assert git(rig.project, "merge-base", kept, done["commit"]) == done["commit"]
    assert not tree(rig, spec).exists()


def test_failed_tests_put_a_spec_back_and_another_attempt_goes_on_there(shop):
    mend = 'use: {tool: write, args: {path: test_codes.py, text: "%s"}}' % (CASE % "pass")
    more = f"  - {{match: An earlier attempt came back, {mend}}}\n"
    more += "  - {match: earlier, say: Mended.}\n"
    rig = shop(scenario(spec_of(), work("self.fail('too dear')"), more)).start()
    spec = ask_for(rig)
    rig.ask("approve", spec)
    failed = settled(rig, spec, ("failed",))
    assert (failed["status"], failed["commit"]) == ("approved", "")
    assert failed["reason"].startswith("tests failed (python3 -m unittest): Ran 1 test in ")
    assert "too dear" in failed["reason"]
    assert git(rig.project, "rev-parse", f"amiral/{spec}") == git(rig.project, "rev-parse", "main")
    refused = rig.run("approve", spec, "--json")
    assert refused.code == 6
    assert "its last attempt failed" in refused.json()["error"]["message"]
    assert rig.run("spec", "run", spec).code == 0
    done = settled(rig, spec)
    assert rig.told("SpecExecuting")[1]["attempt"] == 2
    assert rig.told("SpecDone")[0]["files"] == ["codes.py", "test_codes.py"]
    assert git(rig.project, "rev-list", "--count", f"main..{done['commit']}") == "1"
    assert len({turn["session"] for turn in rig.told("TurnStarted")[-2:]}) == 1, "it remembers"


def test_two_specs_are_carried_out_one_after_the_other(shop):
    more = spec_of("Add vouchers").replace("How should", "And how")
    rig = shop(scenario(spec_of(), more, work(pause_ms=20))).start()
    first = ask_for(rig)
    rig.ask("say", "/c And how about vouchers?")
    second = until(lambda: [one for one in rig.ask("specs").json() if one["id"] != first], "it")[0][
        "id"
    ]
    rig.ask("approve", second)
    rig.ask("approve", first)
    settled(rig, first)
    settled(rig, second)
    moves = [
        (event["name"], event["payload"]["spec"])
        for event in rig.events()
        if event["name"] in ("SpecExecuting", "SpecDone")
    ]
    assert moves == [
        *(("SpecExecuting", second), ("SpecDone", second)),
        *(("SpecExecuting", first), ("SpecDone", first)),
    ]


# ------------------------------------------------------------------ illegal wishes and races


def test_what_a_state_does_not_allow_exits_6_and_names_it(shop):
    rig = shop(scenario(spec_of(), work(pause_ms=100))).start()
    spec = ask_for(rig)

    def refused(*commands):
        for command in commands:
            answer = rig.ask(*command.split(), spec)
            assert (answer.code, answer.json()["error"]["kind"]) == (6, "conflict"), command
            yield answer.json()["error"]["message"]

    for message in refused("merge", "discard", "spec run"):
        assert "it is a draft" in message
    rig.ask("reject", spec)
    for message in refused("approve", "merge", "spec run"):
        assert "it is rejected" in message
    rig.ask("say", "--reply-to", spec, "/c How should it be then?")
    rig.ask("spec", "revise", spec)
    other = rig.ask("specs").json()[0]["id"]
    assert other == spec


def test_an_executing_spec_is_left_in_peace(shop):
    rig = shop(scenario(spec_of(), work(pause_ms=100))).start()
    spec = ask_for(rig)
    rig.ask("approve", spec)
    rig.wait_told("MessageSeen", 2)
    for command in ("approve", "reject", "merge", "discard", "spec run", "spec revise"):
        answer = rig.ask(*command.split(), spec)
        assert (answer.code, answer.json()["error"]["kind"]) == (6, "conflict"), command
        assert "developer carries it out since" in answer.json()["error"]["message"]
    settled(rig, spec)
    for command in ("approve", "reject", "spec run", "spec revise"):
        answer = rig.ask(*command.split(), spec)
        assert answer.code == 6
        assert "it is done" in answer.json()["error"]["message"]
    assert len(rig.told("SpecExecuting")) == 1


def test_two_approvals_that_race_have_one_effect(shop):
    rig = shop(scenario(spec_of(), work())).start()
    spec = ask_for(rig)
    codes = []
    threads = [
        threading.Thread(target=lambda: codes.append(rig.ask("approve", spec).code))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [0, 6, 6, 6]
    settled(rig, spec)
    assert len(rig.told("SpecApproved")) == len(rig.told("SpecExecuting")) == 1


# ------------------------------------------------------------------ ends that are none


def test_a_limited_turn_leaves_the_spec_executing_until_it_is_resumed(shop):
    limit = "  - {match: Carry out spec, limit: {window: five_hour, resets_in_s: 3600}}\n"
    rig = shop(scenario(spec_of(), limit, work().replace("Carry out spec", "."))).start()
    spec = ask_for(rig)
    rig.ask("approve", spec)
    rig.wait_told("TurnParked")
    assert state(rig, spec)["status"] == "executing"
    refused = rig.run("discard", spec, "--json")
    assert refused.code == 6
    rig.kill()
    rig.start()
    assert state(rig, spec)["status"] == "executing"
    assert rig.run("limits", "resume", "developer").code == 0
    settled(rig, spec)
    assert len(rig.told("SpecExecuting")) == 1


@pytest.mark.parametrize("how", ["interrupt", "stop"])
def test_a_turn_that_is_ended_by_hand_puts_the_spec_back_and_it_can_go_on(shop, how):
    slow = "  - {match: '(?s)Carry out spec(?!.*An earlier)', hang: 60, say: Late.}\n"
    rig = shop(scenario(spec_of(), slow, work())).start()
    spec = ask_for(rig)
    rig.ask("approve", spec)
    rig.wait_told("MessageSeen", 2)
    if how == "interrupt":
        assert rig.run("interrupt", "developer").code == 0
        assert settled(rig, spec, ("failed",))["reason"].startswith("interrupted: ")
    else:
        stop = rig.run("emergency-stop", "--json").json()["stop_id"]
        assert "emergency stop" in settled(rig, spec, ("failed",))["reason"]
        assert rig.run("spec", "run", spec).code == 0
        assert state(rig, spec)["status"] == "approved", "it waits for the release"
        assert rig.run("release", stop).code == 0
    if how == "interrupt":
        rig.ask("spec", "run", spec)
    settled(rig, spec)


# ------------------------------------------------------------------ killed


POINTS = [
    *("worktree.making", "worktree.added", "worktree.moved"),
    *("execution.ready", "execution.claimed", "execution.staged"),
    *("execution.tested", "execution.committed", "execution.stepped"),
]


def proved_once(rig, spec, before):
    """One execution, one commit, one end; and all of it is gone when it is discarded."""
    done = settled(rig, spec)
    (ended,) = rig.told("SpecDone")
    (begun,) = rig.told("SpecExecuting")
    assert len(rig.told("SpecTested")) == 1
    assert rig.told("SpecFailed") == []
    assert executed(rig).count(begun["message"]) == 1
    assert ended["files"] == ["codes.py", "test_codes.py"]
    assert git(rig.project, "rev-list", "--count", f"main..amiral/{spec}") == "1"
    assert git(rig.project, "rev-parse", f"amiral/{spec}") == done["commit"]
    assert rig.run("discard", spec).code == 0
    assert checkout(rig) == before
    return done


def test_killed_at_every_step_in_turn_it_is_carried_out_once(shop):
    rig = shop(scenario(spec_of(), work())).start()
    before, spec = checkout(rig), ask_for(rig)
    rig.kill()
    rig.start({"AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": POINTS[0]})
    rig.ask("approve", spec)
    for point in POINTS[1:]:
        assert rig.wait_dead() == -9, point
        rig.launch({"AMIRAL_FAILPOINTS": "1", "AMIRAL_FAILPOINT": point})
    assert rig.wait_dead() == -9
    rig.start()
    proved_once(rig, spec, before)


def test_killed_at_any_moment_it_is_carried_out_once(shop):
    seed = random.randrange(1 << 30)
    moments = random.Random(seed)
    rig = shop(scenario(spec_of(), work(pause_ms=30))).start()
    before, spec = checkout(rig), ask_for(rig)
    rig.ask("approve", spec)
    for _ in range(5):
        time.sleep(moments.uniform(0, 0.25))
        rig.kill()
        rig.start()
    assert proved_once(rig, spec, before), seed


def test_killed_while_the_tests_run_they_are_run_again_alone(shop):
    """Those of the killed process would run on beside them."""
    more = '[projects.shop]\ntest = "flock --nonblock lock.log sleep 1"\n'
    rig = shop(scenario(spec_of(), work()), more).start()
    before, spec = checkout(rig), ask_for(rig)
    rig.ask("approve", spec)
    until((tree(rig, spec) / "lock.log").exists, "the tests")
    rig.kill()
    rig.start()
    proved_once(rig, spec, before)


# ------------------------------------------------------------------ a worker's own worktree


def test_a_worker_who_writes_has_a_worktree_and_says_where_its_work_is(shop):
    write = '{tool: write, args: {path: new.py, text: "x\\n"}}'
    rig = shop(
        f"turns: [{{match: make, use: {write}}}, {{match: make, say: Made.}}]\n{LATER}"
    ).start()
    before = checkout(rig)
    nothing = rig.run("say", "/d hello", "--json").json()
    assert nothing["branch"] == ""
    made = rig.run("say", "/d make it")
    assert made.out == (
        "Made.\n\n  amiral diff developer   amiral merge developer   (branch amiral/developer)\n"
    )
    assert rig.ask("say", "/d more").json()["branch"] == "amiral/developer"
    assert rig.ask("say", "/c hello").json()["branch"] == ""
    assert (tree(rig, "developer") / "new.py").read_text() == "x\n"
    assert not (rig.project / "new.py").exists()
    assert "+x" in rig.run("diff", "developer").out
    assert rig.run("discard", "developer").code == 0
    assert checkout(rig) == before
    assert rig.ask("say", "/d again").json()["outcome"] == "done", "in a worktree made anew"
    assert tree(rig, "developer").is_dir()
    sessions = [one["session"] for one in rig.told("TurnStarted") if one["worker"] == "developer"]
    assert len(set(sessions)) == 2, "the one whose folder went was ended"


def test_work_is_not_taken_away_from_under_a_worker(shop):
    rig = shop(scenario("  - {match: slow, hang: 60, say: Late.}\n")).start()
    rig.post("/d slow")
    rig.wait_told("MessageSeen")
    for command in ("merge", "discard"):
        refused = rig.run(command, "developer", "--json")
        assert refused.code == 6
        assert refused.json()["error"]["message"] == "developer is working in developer"
    assert rig.run("diff", "developer").code == 0


def test_in_a_repository_without_a_commit_a_writer_is_told_what_to_do(yard):
    rig = yard.scripted()
    git(rig.project, "init", "--quiet")
    rig.start()
    answer = rig.run("say", "/d hello")
    assert answer.code == 1
    assert "has no commit yet" in answer.out
    assert "git add -A && git commit" in answer.out
    assert rig.ask("say", "/c hello").json()["outcome"] == "done"
    git(rig.project, "commit", "--quiet", "--allow-empty", "-m", "first")
    assert rig.ask("say", "/d hello").json()["outcome"] == "done"


def test_without_git_writers_work_in_place_and_two_at_once_are_refused(yard, hire):
    folder = yard.folder / "bin"
    folder.mkdir()
    for name in ("python3", "sh", "sleep"):
        (folder / name).symlink_to(shutil.which(name))
    log = "echo in >>log; until [ -e go ]; do sleep 0.02; done; echo out >>log"
    turn = f'{{match: go, use: {{tool: bash, args: {{command: "{log}"}}}}}}'
    rig = yard.scripted(
        f"turns: [{turn}, {{match: go, say: ok}}]\n{LATER}", environ={"PATH": str(folder)}
    )
    git(rig.project, "init", "--quiet")
    hire(rig, {"id": "builder", "tools": "all"})
    rig.start()
    rig.ask("trust", "workers_registry.json")
    until(lambda: "builder" in rig.ask("workers").out, "the builder")
    message = rig.post("/d go")
    until((rig.project / "log").exists, "the first at work")
    refused = rig.run("say", "/w:builder go")
    assert refused.code == 1
    assert "while developer does" in refused.out
    assert "git init" in refused.out
    (rig.project / "go").touch()
    assert rig.answer(message)["outcome"] == "done"
    assert rig.ask("say", "/w:builder go").json()["outcome"] == "done"
    assert (rig.project / "log").read_text() == "in\nout\n" * 2
    nothing = rig.run("diff", "developer", "--json")
    assert nothing.code == 4
