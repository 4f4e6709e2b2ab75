"""Pure: what Codex asks for, in words that are the same for every CLI."""

import shlex
from dataclasses import dataclass

from amiral.agents.driver import Asked
from amiral.agents.drivers.codex.reading import reading
from amiral.agents.fields import Fields, in_one_line, summary


@dataclass(frozen=True)
class Patch:
    """A change of files as it was announced, before it is asked for; `arguments` is JSON."""

    item: str = ""
    tool: str = "Edit"
    summary: str = ""
    arguments: str = '{"changes":[]}'


NO_PATCH = Patch()


def patch(item: Fields) -> Patch:
    """Read what a patch would do; what has a kind from the future may do anything to its file."""
    told = item.items("changes")
    changes = [change for one in told for change in _changes(one)]
    is_new = all(one.inner("kind").text("type") == "add" for one in told)
    tool = "Write" if is_new and told else "Edit"
    words = (("delete " if "deleted" in one else "") + str(one["path"]) for one in changes)
    arguments = Fields({"changes": changes})
    return Patch(item.text("id"), tool, in_one_line(" ".join(words)), arguments.as_json())


def _changes(told: Fields) -> list[dict[str, object]]:
    path, diff, kind = told.text("path"), told.text("diff"), told.inner("kind")
    gone: dict[str, object] = {"path": path, "deleted": True}
    match kind.text("type"):
        case "add":
            return [{"path": path, "content": diff}]
        case "delete":
            return [gone]
        case "update" if not kind.text("move_path"):
            return [{"path": path, "diff": diff}]
        case _:
            return [gone, {"path": kind.text("move_path") or path, "diff": diff}]


def question(event: Fields, announced: Patch, marks: tuple[str, ...]) -> Asked | None:
    """Read a permission question; None for any other request.

    `announced` is the patch in question; by the stance's `marks` a command that only reads is the
    tool Read.
    """
    ask, params = str(event.value("id")), event.inner("params")
    meta = params.inner("_meta")
    match event.text("method"):
        case "item/commandExecution/requestApproval":
            return _command(ask, params, marks)
        case "item/fileChange/requestApproval":
            return Asked(ask, announced.tool, announced.summary, announced.arguments)
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
    return _asked(ask, "Read", Fields({"paths": read.paths, "command": command}))


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
