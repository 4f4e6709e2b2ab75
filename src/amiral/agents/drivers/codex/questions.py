"""Pure: what Codex asks for, in words that are the same for every CLI."""

import shlex

from amiral.agents.driver import Asked
from amiral.agents.drivers.codex.reading import reading
from amiral.agents.fields import Fields, summary


def question(
    event: Fields, paths: tuple[str, ...], *, is_new: bool, marks: tuple[str, ...]
) -> Asked | None:
    """Read a permission question; None for any other request.

    `paths` are those of the patch in question, whose files `is_new` tells to be all new; by the
    stance's `marks` a command that only reads is the tool Read.
    """
    ask, params = str(event.value("id")), event.inner("params")
    meta = params.inner("_meta")
    match event.text("method"):
        case "item/commandExecution/requestApproval":
            return _command(ask, params, marks)
        case "item/fileChange/requestApproval":
            tool = "Write" if paths and is_new else "Edit"
            return _asked(ask, tool, Fields({"path": " ".join(paths), "paths": paths}))
        case "mcpServer/elicitation/request" if meta.text("codex_approval_kind") == "mcp_tool_call":
            tool, given = meta.text("tool_name"), meta.inner("tool_params")
            return _asked(ask, f"mcp__{params.text('serverName')}__{tool}", given)
        case _:
            return None


def _command(ask: str, params: Fields, marks: tuple[str, ...]) -> Asked:
    told = {name: params.text(name) for name in ("cwd", "reason")}
    command = bare(params.text("command"))
    read = reading(command, told["cwd"]) if "reads" in marks else None
    if read is None or (read.is_deep and "searches" not in marks):
        return _asked(ask, "Bash", Fields({**told, "command": command}))
    shown = {"path": " ".join(read.paths), "paths": read.paths, "command": command}
    return _asked(ask, "Read", Fields(shown))


def bare(command: str) -> str:
    """Give what the shell is told to run, without the shell."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_shell = len(words) == len(("sh", "-c", "command")) and words[1] in ("-c", "-lc")
    return words[2] if is_shell else command


def _asked(ask: str, tool: str, given: Fields) -> Asked:
    return Asked(ask, tool, summary(given), given.as_json())
