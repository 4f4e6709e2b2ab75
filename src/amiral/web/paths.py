"""Pure: what can be looked at by GET, each a rendering of one command of the table."""

from typing import Final, NamedTuple


class Look(NamedTuple):
    """A path and its command; `{id}` in the path is the command's argument `id`."""

    path: str
    command: str


LOOKS: Final = (
    Look("/api/status", "status"),
    Look("/api/health", "health"),
    Look("/api/child/health", "health"),
    Look("/api/workers", "workers"),
    Look("/api/workers/{id}", "workers show"),
    Look("/api/specs", "specs"),
    Look("/api/specs/{id}", "spec show"),
    Look("/api/conversations", "conversations"),
    Look("/api/conversations/{id}", "conversation show"),
    Look("/api/limits", "limits"),
    Look("/api/approvals", "approvals"),
    Look("/api/projects", "projects"),
)

COMMANDS: Final = "/api/commands"


def command_path(name: str) -> str:
    """Give the path of a command: `spec show` is at `/api/commands/spec/show`."""
    return f"{COMMANDS}/{name.replace(' ', '/')}"


def command_name(path: str) -> str:
    """Give the name of the command at what follows `/api/commands/`."""
    return path.replace("/", " ")
