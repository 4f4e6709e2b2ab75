"""Which tools write, and which are known not to."""

import pytest

from amiral.permissions.tools import FILE_TOOLS, SHELL_TOOL, WEB_TOOLS, may_write


@pytest.mark.parametrize(
    ("tools", "writes"),
    [
        ("all", True),
        ((), False),
        (("Read", "NotebookRead", "Glob", "Grep", "LS", "TodoWrite", *WEB_TOOLS), False),
        (("Read", SHELL_TOOL), True),
        (("Read", "Edit"), True),
        (("Read", "Bash(git log)"), True),
        (("Read", "mcp__db__query"), True),
        ("some", True),
    ],
)
def test_who_has_a_tool_that_is_not_known_to_be_harmless_writes(tools, writes):
    assert may_write(tools) is writes


def test_tools_for_files_neither_run_commands_nor_leave_the_machine():
    assert not FILE_TOOLS & {SHELL_TOOL, *WEB_TOOLS}
