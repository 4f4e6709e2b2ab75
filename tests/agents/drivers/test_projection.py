"""What every driver makes of permissions: kept word for word, and never milder than they are.

The small models of the CLIs here are held to the real ones by test_real_permissions.py.
"""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.driver import Asked, Driver, Seat
from amiral.agents.drivers import scripted
from amiral.agents.drivers.claude import driver as claude
from amiral.agents.drivers.codex import driver as codex
from amiral.agents.drivers.codex.projection import stance
from amiral.agents.drivers.codex.questions import NO_PATCH, question
from amiral.agents.fields import Fields
from amiral.agents.judging import judge
from amiral.agents.worker import Worker
from amiral.permissions.projection import Enforcement, Projection
from amiral.permissions.rules import (
    Capability,
    Permissions,
    Posture,
    Rule,
    decide_file,
    path_of,
    resolve,
)
from amiral.permissions.shell import decide_command

DRIVERS: dict[str, tuple[Driver[Any], str]] = {
    "claude": (claude.DRIVER, claude.TESTED[-1]),
    "codex": (codex.DRIVER, codex.TESTED[-1]),
    "scripted": (scripted.DRIVER, scripted.TESTED),
}
GOLDEN = Path(__file__).parent / "projections"
ALLOW, ASK, DENY = Posture
READ, WRITE, DELETE, EXECUTE = Capability
ENFORCED, DEGRADED, NONE = Enforcement
CONSULTANT = ("Read", "Glob", "Grep", "WebSearch", "WebFetch")
EDITOR = ("Read", "Write", "Edit")
ROOT = "/work/shop"
SEAT = Seat(
    worker="backend",
    command=("cli",),
    cwd=ROOT,
    config_home="/w/home",
    tmp="/w/tmp",
    model="",
    tools="all",
    max_turns=0,
    identity="",
    login={},
    fresh_key="11111111-2222-4333-8444-555555555555",
)


def rule(capability: Capability, match: str, posture: Posture) -> Rule:
    return Rule(capability, match, posture, "permissions.json:1")


EXAMPLE = (
    rule(READ, "**", ALLOW),
    rule(WRITE, "src/**", ALLOW),
    rule(WRITE, "**/.env", DENY),
    rule(EXECUTE, "git push*", DENY),
)
CASES: dict[str, tuple[Permissions | None, tuple[str, ...] | str]] = {
    "nothing configured": (None, "all"),
    "allow": (Permissions(ALLOW, ()), "all"),
    "ask": (Permissions(ASK, ()), "all"),
    "deny": (Permissions(DENY, ()), "all"),
    "the example": (Permissions(ASK, EXAMPLE), "all"),
    "the example of a consultant": (Permissions(DENY, EXAMPLE), "all"),
    "the tools of a consultant": (resolve(None, "consultant", CONSULTANT).permissions, CONSULTANT),
    "the tools of an editor": (resolve(None, "editor", EDITOR).permissions, EDITOR),
    "a secret": (Permissions(ALLOW, (rule(READ, "secret/**", DENY),)), "all"),
    "a secret to ask for": (Permissions(ALLOW, (rule(READ, "secret/**", ASK),)), "all"),
    "nothing deleted": (Permissions(ALLOW, (rule(DELETE, "**", DENY),)), "all"),
}
every_driver = pytest.mark.parametrize("name", DRIVERS)


def shown(driver: Driver[Any], seat: Seat) -> dict[str, Any]:
    """All that permissions change of a launch."""
    told, launch = driver.project(seat), driver.open(seat)[1]
    return {
        "files": {file.path: file.text for file in told.files},
        "args": list(told.args),
        "env": dict(told.env),
        "diagnostics": list(told.diagnostics),
        "opening": launch.inputs[-1].data if launch.inputs else "",
    }


def seat_of(case: str, held: Enforcement) -> Seat:
    permissions, tools = CASES[case]
    return replace(SEAT, permissions=permissions, tools=tools, enforcement=held)


@every_driver
def test_the_projection_of_each_tested_version_is_known_s3_20(name):
    """AMIRAL_GOLDEN=1 writes what comes out now, to be looked at before it is kept."""
    driver, version = DRIVERS[name]
    found = {
        case: {str(held): shown(driver, seat_of(case, held)) for held in Enforcement}
        for case in CASES
    }
    path = GOLDEN / f"{name}-{version}.json"
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("AMIRAL_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@every_driver
@pytest.mark.parametrize("held", Enforcement)
def test_nothing_configured_changes_nothing_s3_11(name, held):
    driver, _ = DRIVERS[name]
    assert driver.project(replace(SEAT, enforcement=held)) == Projection()
    assert driver.open(replace(SEAT, enforcement=held)) == driver.open(SEAT)


@every_driver
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("held", Enforcement)
def test_what_is_projected_is_what_is_launched(name, case, held):
    driver, seat = DRIVERS[name][0], seat_of(case, held)
    told, launch = driver.project(seat), driver.open(seat)[1]
    assert launch.argv[len(launch.argv) - len(told.args) :] == told.args
    assert told.env.items() <= launch.env.items()
    written = {file.path: file for file in launch.files}
    for file in told.files:
        assert written[file.path].is_merged is file.is_merged
        assert driver.merged(written[file.path].text, file.text) == driver.merged(
            driver.merged("", written[file.path].text), file.text
        )
    assert all(
        any(Path(path).match(owned) for owned in (*driver.owned, "config.toml")) for path in written
    )


# ---- never milder: a model of each CLI, asked what it would do by itself

NAMES = ("src", "a.py", ".env", "secret", "SRC", "B c", "caf\u00e9", "x")
GLOBS = (
    "**",
    "src/**",
    "src",
    "src/*",
    "**/.env",
    "secret/**",
    "B c",
    "caf\u00e9/**",
    "a?py",
    "**/src/x",
    "[",
)
COMMANDS = ("ls", "cat a.py", "cat secret/x", "touch x", "git push origin", "rm -rf x", "rg foo")
PATTERNS = ("*", "git push*", "cat*", "r*", "touch ?", "ls")
rules = st.one_of(
    st.builds(
        rule,
        st.sampled_from([READ, WRITE, DELETE]),
        st.sampled_from(GLOBS),
        st.sampled_from(Posture),
    ),
    st.builds(rule, st.just(EXECUTE), st.sampled_from(PATTERNS), st.sampled_from(Posture)),
)
permissions = st.builds(
    Permissions, st.sampled_from(Posture), st.lists(rules, max_size=5).map(tuple)
)
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(
    lambda parts: f"{ROOT}/{'/'.join(parts)}"
)


def meets(pattern: str, path: str) -> bool:
    """Match as Claude Code does: in any case, and whatever lies below."""
    found = ""
    for part in pattern.removeprefix("//").split("/"):
        literal = re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
        found += "(?:/[^/]+)*" if part == "**" else f"/{literal}"
    return re.fullmatch(f"{found}(?:/.*)?", path, re.IGNORECASE | re.DOTALL) is not None


def by_claude(seat: Seat, tool: str, path: str) -> Posture:
    """What Claude Code does with a file, of itself."""
    lists = json.loads(claude.DRIVER.project(seat).args[0].partition("=")[2])["permissions"]
    for posture in (DENY, ASK):
        for told in lists[str(posture)]:
            name, _, pattern = told.removesuffix(")").partition("(")
            if name == tool and meets(pattern, path):
                return posture
    return ALLOW if tool == "Read" else ASK


@given(permissions, st.sampled_from(Enforcement), st.sampled_from(["Read", "Edit"]), paths)
def test_claude_code_is_never_milder_with_files_and_never_harder(found, held, tool, path):
    seat = replace(SEAT, permissions=found, enforcement=held)
    meant = decide_file(found, READ if tool == "Read" else WRITE, path_of(ROOT, path)).posture
    done = by_claude(seat, tool, path)
    assert done is ASK or done.severity >= meant.severity, "what it asks for is judged"
    assert done is not DENY or meant is DENY


@given(permissions, st.sampled_from(Enforcement), st.sampled_from(COMMANDS))
def test_claude_code_is_never_milder_with_commands_and_never_harder(found, held, command):
    seat = replace(SEAT, permissions=found, enforcement=held)
    lists = json.loads(claude.DRIVER.project(seat).args[0].partition("=")[2])["permissions"]
    meant = decide_command(found, command, ROOT).posture
    patterns = [told[5:-1] for told in lists["deny"] if told.startswith("Bash(")]
    is_denied = "Bash" in lists["deny"] or any(
        re.fullmatch(re.escape(one).replace(r"\*", ".*"), command) for one in patterns
    )
    asks = "Bash" in lists["ask"] or not command.startswith(("ls", "cat", "rg"))
    assert is_denied or asks or meant is ALLOW
    assert not is_denied or meant is DENY


def answered(seat: Seat, asked: Asked | None) -> Posture:
    assert asked is not None and seat.permissions is not None
    return judge(seat.permissions, WORKER, asked, ROOT).posture


WORKER = Worker("w", "W", "", "sdk", "", 0, "all", "", "", "", (), "")


def asked_by_codex(seat: Seat, command: str) -> Asked | None:
    method = "item/commandExecution/requestApproval"
    told = {"id": 1, "method": method, "params": {"command": command, "cwd": ROOT}}
    return question(Fields(told), NO_PATCH, stance(seat).marks)


@given(permissions, st.sampled_from(Enforcement), paths)
def test_codex_changes_no_file_that_it_does_not_ask_for_unless_all_may_be_changed(
    found, held, path
):
    """Its patches; what a command changes is held by a sandbox, ours or its own."""
    seat = replace(SEAT, permissions=found, enforcement=held)
    chosen = stance(seat)
    asks = chosen.approval == "untrusted" or chosen.sandbox == "read-only"
    for capability in (WRITE, DELETE):
        meant = decide_file(found, capability, path_of(ROOT, path)).posture
        assert asks or meant is ALLOW
    assert (chosen.sandbox == "danger-full-access") is (held is not NONE), "S5"


@given(permissions, st.sampled_from(Enforcement), st.sampled_from(COMMANDS))
def test_codex_runs_no_command_that_it_does_not_ask_for_unless_all_may_be_run(found, held, command):
    seat = replace(SEAT, permissions=found, enforcement=held)
    chosen, meant = stance(seat), decide_command(found, command, ROOT).posture
    if not chosen.has_shell:
        assert meant is not ALLOW or chosen.approval != "untrusted" or held is NONE
    elif chosen.approval == "on-request":
        assert meant is ALLOW
    else:
        asked = asked_by_codex(seat, command)
        assert chosen.approval == "untrusted" and asked is not None
        if asked.tool == "Bash":
            assert answered(seat, asked) is meant
        else:
            places = json.loads(asked.arguments)["paths"]
            each = [decide_file(found, READ, path_of(ROOT, one)).posture for one in places]
            assert answered(seat, asked) is max(each, key=lambda one: one.severity)
            about_reading = {"*", "cat*", "r*"}
            narrowing = [
                one.match
                for one in found.rules
                if one.posture is not ALLOW and one.capability is EXECUTE
            ]
            assert about_reading.isdisjoint(narrowing)


@given(permissions)
def test_codex_looks_at_no_image_it_would_have_to_ask_for(found):
    for held in Enforcement:
        chosen = stance(replace(SEAT, permissions=found, enforcement=held))
        read = {decide_file(found, READ, (name,)).posture for name in NAMES}
        bad = {ASK} if held is not NONE else {ASK, DENY}
        assert not chosen.sees_images or not read & bad
