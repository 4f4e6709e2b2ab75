"""Pure: the tools of agent CLIs by the names that are the same for all, and what each does."""

ALL_TOOLS = "all"
"""In place of a list of tools: whatever its CLI has."""

SHELL_TOOL = "Bash"
WRITING_TOOLS = frozenset({"Write", "Edit", "NotebookEdit", "MultiEdit"})
READING_TOOLS = frozenset({"Read", "NotebookRead"})
SEARCHING_TOOLS = frozenset({"Glob", "Grep", "LS"})
FILE_TOOLS = WRITING_TOOLS | READING_TOOLS | SEARCHING_TOOLS
WEB_TOOLS = frozenset({"WebSearch", "WebFetch"})

_HARMLESS = READING_TOOLS | SEARCHING_TOOLS | WEB_TOOLS | {"TodoWrite"}


def may_write(tools: tuple[str, ...] | str) -> bool:
    """Tell whether any of these tools is not known to be harmless."""
    return tools == ALL_TOOLS or not _HARMLESS.issuperset(tools)
