"""How Claude Code is started: what of the project and of its own home it follows, its tools."""

from dataclasses import replace

import pytest

from amiral.agents.driver import Seat
from amiral.agents.drivers.claude.driver import DRIVER
from amiral.agents.drivers.claude.launch import FLAGS, FLAGS_ANYWHERE, TOOLS, UNSERVED

SESSION = "11111111-2222-4333-8444-555555555555"
SEAT = Seat(
    worker="backend",
    command=("/opt/claude", "--debug"),
    cwd="/project",
    config_home="/w/home",
    tmp="/w/tmp",
    model="opus",
    tools="all",
    max_turns=0,
    identity="",
    login={"CLAUDE_CODE_OAUTH_TOKEN": "none", "HOME": "/root", "DISABLE_AUTOUPDATER": "0"},
    fresh_key=SESSION,
)


def options(seat: Seat) -> dict[str, str]:
    """The options of the plan, by name; those without a value have an empty one."""
    argv = DRIVER.open(seat)[1].argv[len(seat.command) :]
    return {name: value for name, _, value in (argument.partition("=") for argument in argv)}


def test_nothing_of_the_person_or_the_project_is_followed_but_claude_md():
    _, launch = DRIVER.open(SEAT)
    assert launch.argv[:2] == SEAT.command
    told = options(SEAT)
    assert told["--setting-sources"] == "" and "--strict-mcp-config" in told
    assert told["--permission-mode"] == "default"
    assert told["--add-dir"] == "/project"
    assert launch.env["CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"] == "1"
    homes = {name: launch.env[name] for name in ("HOME", "CLAUDE_CONFIG_DIR", "TMPDIR")}
    assert homes == {"HOME": "/w/home", "CLAUDE_CONFIG_DIR": "/w/home", "TMPDIR": "/w/tmp"}
    assert launch.env["DISABLE_AUTOUPDATER"] == "1", "a login changes nothing else"
    assert launch.env["CLAUDE_CODE_OAUTH_TOKEN"] == "none"


def test_all_tools_are_all_but_those_that_cannot_be_served_s0_28():
    told = options(SEAT)
    assert "--tools" not in told
    assert told["--disallowedTools"].split(",") == list(UNSERVED)


@pytest.mark.parametrize(
    ("tools", "kept"), [(("Read", "Grep"), "Read,Grep"), ((), ""), ("Read", "Read")]
)
def test_a_list_of_tools_is_the_only_ones_twice_over_s0_28(tools, kept):
    told = options(replace(SEAT, tools=tools))
    assert told["--tools"] == kept
    gone = set(TOOLS) - set(kept.split(","))
    assert set(told["--disallowedTools"].split(",")) == gone
    assert {"Write", "Edit", "Bash", "NotebookEdit", "Agent", "Task"} <= gone
    assert "--allowedTools" not in told, "it removes nothing"


def test_the_conversation_is_named_by_exactly_one_key():
    assert options(SEAT)["--session-id"] == SESSION
    told = options(replace(SEAT, resume_key="abc", fresh_key=""))
    assert told["--resume"] == "abc" and "--session-id" not in told


def test_model_and_most_turns_are_told_when_they_are_set():
    told = options(replace(SEAT, model="", max_turns=7))
    assert "--model" not in told and told["--max-turns"] == "7"
    assert options(SEAT)["--model"] == "opus" and "--max-turns" not in options(SEAT)


def test_a_value_can_never_become_an_option():
    odd = replace(SEAT, model="--dangerously-skip-permissions", tools=("--x",), cwd="--y")
    argv = DRIVER.open(odd)[1].argv
    assert not {"--dangerously-skip-permissions", "--x", "--y"} & set(argv)


def test_identity_and_name_for_git_are_written_to_the_worker_s_home():
    told = options(replace(SEAT, identity="You are \ud83d."))
    assert told["--append-system-prompt-file"] == "/w/home/identity.md"
    assert "--append-system-prompt-file" not in options(SEAT)
    git, identity = DRIVER.open(replace(SEAT, identity="You are \ud83d."))[1].files
    assert (identity.path, identity.text) == ("identity.md", "You are \ufffd.")
    assert git.path == ".gitconfig" and "name = backend\n" in git.text


def test_in_a_terminal_it_has_what_it_has_in_a_turn_but_for_who_is_spoken_to():
    seat = replace(SEAT, max_turns=3, identity="You are Ada.")
    there, turn = DRIVER.in_terminal(seat), DRIVER.open(seat)[1]
    assert (there.env, there.cwd, there.files, there.inputs) == (turn.env, turn.cwd, turn.files, ())
    gone = set(turn.argv) - set(there.argv)
    assert gone == {*FLAGS} - {*FLAGS_ANYWHERE} | {"--max-turns=3"}
    assert set(there.argv) <= set(turn.argv)
