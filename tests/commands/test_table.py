"""What must be true of every row of the command table."""

import re
from pathlib import Path

import pytest

from amiral.commands.arguments import usage
from amiral.commands.grammar import HELP, NAMED, SEATS, STOP
from amiral.commands.parameter import Kind
from amiral.commands.registry import AGENTS, EVERYBODY, MEMBERS, OWNERS, VIEWERS, Role
from amiral.commands.table import TABLE

ROWS = {row.name: row for row in TABLE}
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"
CONTRACT = """
up|down|demo|say|route|status|list|health|watchdog|specs|approve|reject|workers|runs|gate|prompt|limits
parse-limit|asks|conversations|diff|merge|discard|cost|login|drivers|swap|recall|emergency-stop|release
freeze|thaw|approvals|approve-request|deploy|events|doctor|trust|config|pair|import
spec show|spec approve|spec reject|spec revise|workers list|workers show|workers check
run start|run show|run cancel|run resume|pipeline check|sandbox run|conversation show
permissions show|permissions check|permissions project|permissions plan|permissions probe
limits cancel|limits set|limits resume|conversation rotate|project new|project remove
sprint open|sprint close|sprint show|sprint check|sprint read|sprint note
vault set|vault get|vault list|vault remove|vault rotate|vault check|journal rebuild|journal archive
"""


@pytest.mark.parametrize("name", CONTRACT.strip().replace("\n", "|").split("|"))
def test_every_command_of_the_contract_is_declared(name):
    assert name in TABLE.by_name()


def test_names_aliases_and_spellings_are_unique_and_can_be_typed():
    names = [name for row in TABLE for name in (row.name, *row.aliases)]
    spellings = [spelling for row in TABLE for spelling in row.chat]
    assert len(set(names)) == len(names)
    assert len(set(spellings)) == len(spellings)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*( [a-z]+)?", name) for name in names)
    assert not {*SEATS, NAMED} & set(spellings)


def test_every_spelling_in_chat_can_be_tapped_and_registered_s01():
    spellings = [spelling for row in TABLE for spelling in row.chat]
    assert all(re.fullmatch(r"[a-z0-9_]{1,32}", spelling) for spelling in spellings)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_row_is_complete_and_can_be_parsed_without_doubt(name):
    row = ROWS[name]
    arguments = [parameter for parameter in row.parameters if not parameter.is_option]
    names = [parameter.name for parameter in row.parameters]
    assert row.help
    assert row.roles
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)
    assert all(not p.many and p.kind is not Kind.WORDS for p in arguments[:-1])
    assert [p.needed for p in arguments] == sorted((p.needed for p in arguments), reverse=True)
    assert not {"json", "help", "project"} & set(names)
    assert row.chat_rest in {"", *(p.spelling for p in row.parameters)}


def test_agents_reach_nothing_that_approves_releases_or_changes_policy():
    open_to_agents = {row.name for row in TABLE if Role.AGENT in row.roles}
    assert open_to_agents == {"ask", "reply", "recall", "sprint read", "sprint note", "help"}


def test_the_names_the_router_knows_stand_in_the_table():
    assert {STOP, HELP} <= set(ROWS)
    assert {"emergency_stop", "emergency", "stop"} <= set(ROWS[STOP].chat)


WHO = {
    OWNERS: "owner",
    MEMBERS: "members",
    VIEWERS: "viewers",
    EVERYBODY: "everybody",
    AGENTS: "owner, agents",
    MEMBERS | AGENTS: "members, agents",
}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_command_is_documented_as_it_is_declared(name):
    row = ROWS[name]
    shown = usage(row).replace("|", "\\|")
    chat = " ".join(f"`/{spelling}`" for spelling in row.chat)
    state = "later" if row.later else ""
    line = f"| `{shown}` | {row.help} | {WHO[row.roles]} | {chat} | {state} |"
    assert line in REFERENCE.read_text("utf-8").split("\n")
