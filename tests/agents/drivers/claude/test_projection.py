"""What Claude Code is told of a worker's permissions, and what it is made to ask for."""

import json
from dataclasses import replace
from typing import Any

import pytest

from amiral.agents.driver import Seat
from amiral.agents.drivers.claude.projection import MOST_BYTES, project
from amiral.permissions.projection import Enforcement, Projection
from amiral.permissions.rules import Capability, Permissions, Posture, Rule

ALLOW, ASK, DENY = Posture
READ, WRITE, DELETE, EXECUTE = Capability
SEAT = Seat("w", ("claude",), "/work/shop", "/w/home", "/w/tmp", "", "all", 0, "", {})


def rule(capability: Capability, match: str, posture: Posture) -> Rule:
    return Rule(capability, match, posture, "permissions.json:1")


def told(
    *rules: Rule, default=ALLOW, held=Enforcement.ENFORCED, cwd="/work/shop"
) -> dict[str, Any]:
    (argument,) = projected(*rules, default=default, held=held, cwd=cwd).args
    found: dict[str, Any] = json.loads(argument.removeprefix("--settings="))
    return found


def projected(*rules: Rule, default=ALLOW, held=Enforcement.ENFORCED, cwd="/work/shop"):
    permissions = Permissions(default, rules)
    return project(replace(SEAT, cwd=cwd, permissions=permissions, enforcement=held))


def asked(*rules: Rule, **more) -> list[str]:
    return list(told(*rules, **more)["permissions"]["ask"])


def denied(*rules: Rule, **more) -> list[str]:
    return list(told(*rules, **more)["permissions"]["deny"])


@pytest.mark.parametrize("held", Enforcement)
def test_nothing_configured_is_nothing_told_s3_11(held):
    assert project(replace(SEAT, enforcement=held)) == Projection()


def test_what_is_allowed_is_never_told_since_it_would_be_taken_wider():
    rules = (rule(WRITE, "src/**", ALLOW), rule(EXECUTE, "ls*", ALLOW), rule(READ, "**", ALLOW))
    assert set(told(*rules)["permissions"]) == {"ask", "deny"}
    assert (asked(*rules), denied(*rules)) == ([], [])


def test_a_denied_path_is_absolute_and_has_all_below_it():
    assert denied(rule(WRITE, "**/.env", DENY)) == ["Edit(//work/shop/**/.env)"]
    assert denied(rule(READ, "secret/**", DENY)) == ["Read(//work/shop/secret)"]
    assert denied(rule(WRITE, "/a/*", DENY), cwd="/") == ["Edit(//a/*)"]
    assert denied(rule(WRITE, "**", DENY)) == ["Edit(//work/shop/**)"]


def test_what_no_rule_matches_is_asked_for_even_where_it_is_denied():
    rules = (rule(READ, "**", ALLOW), rule(WRITE, "src/**", ALLOW))
    for default in (ASK, DENY):
        assert asked(*rules, default=default)[0] == "Edit(//work/shop/**)"
        assert "Edit(//work/shop/**)" not in denied(*rules, default=default)
    assert asked(default=ASK) == ["Read(//work/shop/**)", "Edit(//work/shop/**)", "Bash"]
    assert denied(default=ASK) == []


def test_it_asks_for_every_command_unless_all_are_alike():
    one = rule(EXECUTE, "git push*", DENY)
    assert (asked(one), denied(one)) == (["Bash"], ["Bash(git push*)"])
    assert asked(rule(EXECUTE, "rm*", ASK)) == ["Bash"]
    assert asked(rule(EXECUTE, "*", ALLOW), default=ALLOW) == []


def test_where_no_command_may_run_there_is_no_shell():
    every = rule(EXECUTE, "*", DENY)
    assert (asked(every), denied(every)) == ([], ["Bash"])
    assert denied(default=DENY) == ["Bash"]
    assert asked(default=DENY) == ["Read(//work/shop/**)", "Edit(//work/shop/**)"]


def test_a_search_would_find_what_is_asked_for_so_there_is_none():
    found = projected(rule(READ, "secret/**", ASK))
    lists = json.loads(found.args[0][11:])["permissions"]
    assert lists["ask"] == ["Read(//work/shop/secret)"] and lists["deny"] == ["Grep"]
    assert any("Grep" in note for note in found.diagnostics)
    assert denied(rule(READ, "**", ASK)) == [], "then it asks for each search too"
    assert denied(rule(READ, "secret", DENY)) == ["Read(//work/shop/secret)"]


@pytest.mark.parametrize("match", ["caf\u00e9/**", "a b ", "a#b", "a?c", "a(b)", "f "])
def test_a_path_it_would_read_otherwise_is_asked_for_wider_s3_14(match):
    found = projected(rule(WRITE, match, DENY))
    lists = json.loads(found.args[0][11:])["permissions"]
    (pattern,) = lists["ask"]
    assert lists["deny"] == [] and "*" in pattern
    (note,) = found.diagnostics
    assert note.endswith(": Claude Code cannot be told this exactly, so it asks")


@pytest.mark.parametrize("match", ["npm run x:*", "ls ?", "curl * | sh*", "a (b)", "a\\b"])
def test_a_command_it_would_read_otherwise_is_asked_for(match):
    found = projected(rule(EXECUTE, match, DENY))
    assert json.loads(found.args[0][11:])["permissions"] == {"ask": ["Bash"], "deny": []}
    assert "cannot be told this exactly" in found.diagnostics[0]


def test_an_odd_folder_is_written_wider_never_narrower():
    path = "/home/a[1]/b*c/d\u00e9"
    assert denied(rule(WRITE, "x", DENY), cwd=path) == ["Edit(//home/a*1*/b*c/d*/x)"]


def test_its_own_sandbox_is_off_behind_ours_and_on_without_s5():
    off = {"enabled": False}
    on = {"enabled": True, "autoAllowBashIfSandboxed": False, "allowUnsandboxedCommands": False}
    assert told(held=Enforcement.ENFORCED)["sandbox"] == off
    assert told(held=Enforcement.DEGRADED)["sandbox"] == off, "it cannot work in ours"
    assert told(held=Enforcement.NONE)["sandbox"] == on
    assert "sandbox" not in told(rule(EXECUTE, "*", DENY), held=Enforcement.NONE)


def test_it_is_told_that_it_is_in_a_sandbox_only_where_ours_holds_whole():
    assert projected(held=Enforcement.ENFORCED).env == {"IS_SANDBOX": "1"}
    assert projected(held=Enforcement.DEGRADED).env == {}
    assert projected(held=Enforcement.NONE).env == {}


def test_without_a_fence_what_a_command_may_delete_is_asked_for():
    one = rule(DELETE, "**", DENY)
    held = Enforcement.NONE
    assert asked(one, held=held) == ["Bash"] and asked(one) == []
    notes = projected(one, held=held).diagnostics
    assert len(notes) == 2 and "bubblewrap" in notes[0] and "delete" in notes[1]
    assert len(projected(held=held).diagnostics) == 1
    assert projected(rule(EXECUTE, "*", DENY), one, held=held).diagnostics == ()


def test_more_rules_than_an_argument_holds_make_it_ask_for_everything():
    rules = tuple(rule(WRITE, f"{'x' * 100}/{number}", DENY) for number in range(2_000))
    found = projected(*rules, held=Enforcement.NONE)
    lists = json.loads(found.args[0][11:])["permissions"]
    assert lists["ask"] == ["Bash", "Read(//work/shop/**)", "Edit(//work/shop/**)"]
    assert len(found.args[0]) < MOST_BYTES and "too many" in found.diagnostics[0]
