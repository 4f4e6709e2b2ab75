"""Pure: names that are never granted for change, since what they hold runs later outside any fence.

Git's own folder (its configuration and hooks), settings of agent CLIs, editors and shells, and the
project's own configuration but for its workspace.
"""

from amiral.permissions.folders import Path
from amiral.permissions.globs import folded

CONFIGURATION = ".amiral"
WORKSPACE = "workspace"

IN_PLACE = frozenset({CONFIGURATION})
"""What lies there has no effect until its content is trusted (docs/concepts/trust.md)."""

IN_WORKTREE = IN_PLACE | {".git", ".claude", ".mcp.json", ".codex", ".envrc", ".vscode"}
"""Of a worktree nothing has an effect before it is merged, and the diff shows it until then."""

NAMED_IN_WORKTREE = IN_WORKTREE - {".git"}
"""Of a worktree `.git` is one file that nobody follows: who names it means git's own folder."""

# Shown when they are not there yet, as what an agent could make.
NAMES = (".git", ".claude", ".mcp.json", ".codex", ".envrc", ".vscode", ".amiral")

_NAMES = frozenset(
    {
        CONFIGURATION,
        ".git",
        ".claude",
        ".mcp.json",
        ".codex",
        ".envrc",
        ".vscode",
        ".ssh",
        ".gitconfig",
    }
    | {".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases"}
    | {".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"}
)
# Nobody works in an installed package, and many ship an editor's settings.
_PACKAGES = frozenset({"node_modules", "site-packages"})


def is_protected(path: Path) -> bool:
    """Tell whether a path is protected by its own name."""
    if not path or not _PACKAGES.isdisjoint(path[:-1]):
        return False
    name, parent = folded(path[-1]), folded(path[-2]) if len(path) > 1 else ""
    if parent == CONFIGURATION and name != WORKSPACE:
        return True
    return name in _NAMES


def is_workspace(path: Path) -> bool:
    """Tell whether a path is what agents may change of the project's configuration."""
    return len(path) > 1 and folded(path[-2]) == CONFIGURATION and path[-1] == WORKSPACE


def lies_protected(path: Path) -> bool:
    """Tell whether a path is protected, or lies in what is."""
    return any(
        is_protected(path[:depth]) and not is_workspace(path[: depth + 1])
        for depth in range(1, len(path) + 1)
    )
