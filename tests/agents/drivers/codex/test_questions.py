"""What Codex asks for, as every CLI asks for it."""

import json

import pytest

from amiral.agents.driver import Asked
from amiral.agents.drivers.codex.questions import NO_PATCH, bare, patch, question
from amiral.agents.fields import Fields

PATCH = "item/fileChange/requestApproval"


def asked(method: str, *, announced=NO_PATCH, marks=(), **params) -> Asked | None:
    event = Fields({"id": 7, "method": method, "params": params})
    return question(event, announced, marks)


def command(line: str, *marks: str) -> tuple[str, dict]:
    told = {"command": f"/bin/bash -lc '{line}'", "cwd": "/project", "reason": "why"}
    found = asked("item/commandExecution/requestApproval", marks=marks, **told)
    assert found is not None and found.ask == "7"
    return found.tool, json.loads(found.arguments)


def test_a_command_is_asked_for_without_the_shell_around_it():
    tool, told = command("touch a")
    assert (tool, told) == ("Bash", {"cwd": "/project", "reason": "why", "command": "touch a"})


@pytest.mark.parametrize(
    ("line", "marks", "tool"),
    [
        ("cat a", (), "Bash"),
        ("cat a", ("held",), "Bash"),
        ("cat a", ("reads",), "Read"),
        ("touch a", ("reads", "searches"), "Bash"),
        ("rg a", ("reads",), "Bash"),
        ("rg a", ("reads", "searches"), "Read"),
    ],
)
def test_a_command_that_only_reads_is_asked_for_as_reading_where_that_is_meant(line, marks, tool):
    assert command(line, *marks)[0] == tool


def test_reading_names_the_paths_and_the_command():
    told = command("cat a ../b", "reads")[1]
    assert told["paths"] == ["/project/a", "/b"]
    assert told["command"] == "cat a ../b"


@pytest.mark.parametrize(
    ("changes", "tool", "summary", "told"),
    [
        (
            [{"path": "/a", "kind": {"type": "add"}, "diff": "x\n"}],
            *("Write", "/a", [{"path": "/a", "content": "x\n"}]),
        ),
        (
            [{"path": "/a", "kind": {"type": "update", "move_path": None}, "diff": "@@"}],
            *("Edit", "/a", [{"path": "/a", "diff": "@@"}]),
        ),
        (
            [{"path": "/a", "kind": {"type": "delete"}, "diff": "gone"}],
            *("Edit", "delete /a", [{"path": "/a", "deleted": True}]),
        ),
        (
            [{"path": "/a", "kind": {"type": "update", "move_path": "/b"}, "diff": "@@"}],
            *("Edit", "delete /a /b"),
            [{"path": "/a", "deleted": True}, {"path": "/b", "diff": "@@"}],
        ),
        (
            [{"path": "/a", "kind": {"type": "from the future"}}],
            *("Edit", "delete /a /a"),
            [{"path": "/a", "deleted": True}, {"path": "/a", "diff": ""}],
        ),
        ([], "Edit", "", []),
    ],
)
def test_a_patch_is_asked_for_with_what_it_writes_and_what_it_deletes(changes, tool, summary, told):
    found = asked(PATCH, announced=patch(Fields({"id": "i1", "changes": changes})))
    assert found is not None
    assert (found.tool, found.summary) == (tool, summary)
    assert json.loads(found.arguments) == {"changes": told}


def test_a_patch_that_was_not_announced_says_nothing_of_itself():
    found = asked(PATCH)
    assert found is not None
    assert (found.tool, found.arguments) == ("Edit", '{"changes":[]}')


def test_a_tool_of_a_server_is_asked_for_by_its_whole_name():
    meta = {"codex_approval_kind": "mcp_tool_call", "tool_name": "echo", "tool_params": {"a": 1}}
    found = asked("mcpServer/elicitation/request", _meta=meta, serverName="tiny")
    assert found == Asked("7", "mcp__tiny__echo", '{"a":1}', '{"a":1}')


@pytest.mark.parametrize("method", ["mcpServer/elicitation/request", "item/tool/requestUserInput"])
def test_anything_else_is_no_permission_question(method):
    assert asked(method) is None


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("/bin/bash -lc 'a b'", "a b"),
        ("bash -c ls", "ls"),
        ("git push x", "git push x"),
        ("sh -x 'a'", "sh -x 'a'"),
        ("it's open", "it's open"),
    ],
)
def test_a_command_is_what_the_shell_is_told(told, expected):
    assert bare(told) == expected
