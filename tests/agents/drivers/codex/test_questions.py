"""What Codex asks for, as every CLI asks for it."""

import json

import pytest

from amiral.agents.driver import Asked
from amiral.agents.drivers.codex.questions import bare, question
from amiral.agents.fields import Fields


def asked(method: str, *, paths=(), is_new=False, marks=(), **params) -> Asked | None:
    event = Fields({"id": 7, "method": method, "params": params})
    return question(event, paths, is_new=is_new, marks=marks)


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
    assert (told["path"], told["command"]) == ("/project/a /b", "cat a ../b")


def test_a_patch_is_a_write_when_all_its_files_are_new():
    method = "item/fileChange/requestApproval"
    written = asked(method, paths=("/a", "/b"), is_new=True)
    edited = asked(method, paths=("/a",))
    unknown = asked(method, is_new=True)
    assert written and edited and unknown
    assert (written.tool, edited.tool, unknown.tool) == ("Write", "Edit", "Edit")
    assert json.loads(written.arguments) == {"path": "/a /b", "paths": ["/a", "/b"]}


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
