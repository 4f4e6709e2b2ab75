"""How a worker's questions are judged: tools first, then paths, commands and the default."""

import json

import pytest

from amiral.agents.driver import Asked
from amiral.agents.judging import by_tools, judge, judging
from amiral.agents.worker import Worker
from amiral.base.errors import Denied
from amiral.permissions.rules import Capability, Permissions, Posture, Rule

ALLOW, ASK, DENY = Posture.ALLOW, Posture.ASK, Posture.DENY
CWD = "/shop"


def worker(tools="all"):
    return Worker("dev", "d", "x", "chat", "", 0, tools, "", "history", "text", (), "dev")


def asked(tool, **given):
    return Asked("a1", tool, "", json.dumps(given))


def rule(capability, match, posture, line=5):
    return Rule(Capability(capability), match, posture, f"permissions.json:{line}")


RULES = Permissions(
    ASK,
    (
        rule("read", "**", ALLOW),
        rule("read", "**/.env", DENY),
        rule("write", "src/**", ALLOW),
        rule("write", "src/gen/**", DENY),
        rule("execute-bash", "git status", ALLOW),
        rule("execute-bash", "git push*", DENY),
    ),
)


@pytest.mark.parametrize(
    ("tools", "tool", "posture"),
    [
        ("all", "Bash", ALLOW),
        (("Read", "Bash"), "Bash", ALLOW),
        (("Read",), "Bash", DENY),
        (("Bash(git *)",), "Bash", DENY),
        ((), "Read", DENY),
        ("all-but", "Read", DENY),
    ],
)
def test_without_permissions_the_tools_alone_decide(tools, tool, posture):
    found = by_tools(worker(tools), asked(tool, command="ls"), CWD)
    assert found.posture is posture
    assert found.reason == ("" if posture is ALLOW else f"worker dev may not use {tool}")


@pytest.mark.parametrize(
    ("tool", "given", "posture"),
    [
        ("Write", {"file_path": "/shop/src/a.py", "content": ""}, ALLOW),
        ("Edit", {"path": "src/a.py", "old": "", "new": ""}, ALLOW),
        ("Write", {"file_path": "src/gen/a.py"}, DENY),
        ("Write", {"file_path": "src/../src/gen/a.py"}, DENY),
        ("Write", {"file_path": "docs/a.md"}, ASK),
        ("Write", {"file_path": "/etc/passwd"}, ASK),
        ("MultiEdit", {"file_path": "src/a.py", "edits": []}, ALLOW),
        ("NotebookEdit", {"notebook_path": "src/gen/a.ipynb"}, DENY),
        ("Edit", {"path": "src/a src/gen/b", "paths": ["src/a", "src/gen/b"]}, DENY),
        ("Edit", {"paths": ["src/a", "src/b"]}, ALLOW),
        ("Write", {"file_path": "src/gen/a", "paths": ["src/a"]}, DENY),
        ("Write", {"file_path": "src/gen/a", "changes": [{"path": "src/a"}]}, DENY),
        ("Edit", {"changes": [{"path": "src/a"}, {"path": "src/gen/b"}]}, DENY),
        ("Edit", {"changes": []}, DENY),
        ("Write", {"content": "where to?"}, DENY),
        ("Read", {"file_path": "a.py"}, ALLOW),
        ("Read", {"file_path": "x/.env"}, DENY),
        ("Read", {"file_path": "/elsewhere"}, ASK),
        ("Glob", {"pattern": "src/**/*.py"}, ALLOW),
        ("Glob", {"pattern": "*/../../../etc/*"}, ASK),
        ("Glob", {"pattern": "*", "path": "/etc"}, ASK),
        ("Grep", {"pattern": "/api/"}, ALLOW),
        ("Grep", {"pattern": "x", "path": ".env"}, DENY),
        ("LS", {"path": "/shop"}, ALLOW),
        ("Bash", {"command": "git status"}, ALLOW),
        ("Bash", {"command": "git push origin"}, DENY),
        ("Bash", {"command": "make"}, ASK),
        ("Bash", {"command": ""}, DENY),
        ("WebFetch", {"url": "https://x"}, ASK),
        ("mcp__db__query", {}, ASK),
    ],
)
def test_with_permissions_paths_commands_and_the_default_decide(tool, given, posture):
    found = judge(RULES, worker(), asked(tool, **given), CWD)
    assert found.posture is posture, found
    assert bool(found.reason) is (posture is not ALLOW)


@pytest.mark.parametrize(
    ("changes", "posture", "capability"),
    [
        ([{"path": "src/a"}], ALLOW, ""),
        ([{"path": "src/a", "deleted": True}], ALLOW, ""),
        ([{"path": "src/kept/a", "deleted": True}], DENY, "delete"),
        ([{"path": "src/kept/a"}], ALLOW, ""),
        ([{"path": "src/kept/a", "deleted": True}, {"path": "src/a"}], DENY, "delete"),
        ([{"path": "src/a", "deleted": True}, {"path": "docs/a"}], ASK, "write"),
        ([{"path": "src/kept/a", "deleted": False}], DENY, "delete"),
        ([{"path": "/elsewhere/a", "deleted": True}], ASK, ""),
    ],
)
def test_deleting_and_moving_away_is_judged_by_the_rules_on_deleting(changes, posture, capability):
    rules = (
        *(rule("write", "src/**", ALLOW), rule("write", "docs/**", ASK)),
        *(rule("delete", "src/**", ALLOW), rule("delete", "src/kept/**", DENY)),
    )
    found = judge(Permissions(ASK, rules), worker(), asked("Edit", changes=changes), CWD)
    assert found.posture is posture, found
    assert f" {capability} " in found.reason or not capability


def test_where_no_rule_is_on_deleting_those_on_writing_count():
    permissions = Permissions(ASK, (rule("write", "src/**", ALLOW), rule("write", ".env", DENY)))
    for path, posture in (("src/a", ALLOW), (".env", DENY), ("docs/a", ASK)):
        gone = asked("Edit", changes=[{"path": path, "deleted": True}])
        assert judge(permissions, worker(), gone, CWD).posture is posture


def test_a_change_that_does_not_say_what_it_is_about_may_delete_too():
    permissions = Permissions(
        ASK, (rule("write", "**", ALLOW), rule("delete", "kept/**", DENY), rule("delete", "x", ASK))
    )
    assert judge(permissions, worker(), asked("Edit", changes=[]), CWD).posture is DENY


EVERYTHING = Permissions(ALLOW, ())
GIT_HOOK, SETTINGS, AT_HOME = ".git/hooks/pre-commit", ".claude/settings.json", ".amiral/config/x"


@pytest.mark.parametrize(
    ("path", "in_folder", "in_worktree"),
    [
        (GIT_HOOK, DENY, DENY),
        (SETTINGS, DENY, ALLOW),
        (f"sub/{SETTINGS}", DENY, DENY),
        (AT_HOME, ALLOW, ALLOW),
        (f"sub/{AT_HOME}", DENY, DENY),
        (".bashrc", DENY, DENY),
        ("src/a", ALLOW, ALLOW),
    ],
)
@pytest.mark.parametrize("tool", ["Write", "Edit", "patch", "delete"])
def test_to_change_what_is_protected_by_its_name_is_denied_whatever_the_rules_say(
    path, in_folder, in_worktree, tool
):
    judge_now = judging(lambda _: EVERYTHING, lambda cwd: cwd.startswith("/home/worktrees/"))
    for cwd, posture in ((CWD, in_folder), ("/home/worktrees/dev", in_worktree)):
        given: dict[str, object] = {"file_path": f"{cwd}/{path}"}
        if tool in ("patch", "delete"):
            deleted = {"deleted": True} if tool == "delete" else {}
            given = {"changes": [{"path": "src/b"}, {"path": f"{cwd}/{path}", **deleted}]}
        question = asked(tool if tool in ("Write", "Edit") else "Edit", **given)
        found = judge_now(worker(), question, cwd)
        assert found.posture is posture, found
        assert found.reason.startswith("protected by its name") is (posture is DENY)
    assert judge_now(worker(), asked("Read", file_path=path), CWD).posture is ALLOW
    assert by_tools(worker(), asked("Write", file_path=path), CWD).posture is ALLOW


def test_the_rule_is_named():
    found = judge(RULES, worker(), asked("Write", file_path="src/gen/a.py"), CWD)
    assert found.reason == "permissions.json:5: deny write src/gen/**"


def test_a_tool_the_worker_lacks_is_denied_whatever_the_permissions_say():
    permissions = Permissions(ALLOW, ())
    found = judge(permissions, worker(("Read",)), asked("Bash", command="ls"), CWD)
    assert (found.posture, found.reason) == (DENY, "worker dev may not use Bash")
    assert judge(permissions, worker(), asked("WebFetch"), CWD).posture is ALLOW


def test_what_does_not_say_what_it_is_about_gets_the_default_where_no_rule_is_stricter():
    permissions = Permissions(ASK, (rule("write", "src/**", ALLOW),))
    found = judge(permissions, worker(), asked("Write"), CWD)
    assert (found.posture, found.reason) == (
        ASK,
        "it does not say what it is about; the default is ask",
    )
    assert judge(Permissions(ALLOW, ()), worker(), asked("Bash"), CWD).posture is ALLOW


@pytest.mark.parametrize("arguments", ["null", "no json", "[]", ""])
def test_arguments_of_any_kind_are_judged(arguments):
    found = judge(RULES, worker(), Asked("a1", "Write", "", arguments), CWD)
    assert found.posture is DENY


def test_a_judge_asks_for_the_permissions_each_time_and_denies_when_they_cannot_be_told():
    asked_of = []

    def permissions_of(one):
        asked_of.append(one.id)
        if len(asked_of) > 1:
            raise Denied("permissions.json is wrong", "mend it")
        return RULES

    judge_now = judging(permissions_of, lambda _: False)
    question = asked("Read", file_path="a.py")
    assert judge_now(worker(), question, CWD).posture is ALLOW
    found = judge_now(worker(), question, CWD)
    assert (found.posture, found.reason) == (DENY, "permissions.json is wrong")
    assert asked_of == ["dev", "dev"]
