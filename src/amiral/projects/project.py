"""Pure: Project, its name and id, and which folders can never be one (R57)."""

from collections.abc import Collection
from dataclasses import dataclass

from amiral.base.ids import folder_name
from amiral.base.plain import plain

FOLDER = ".amiral"
"""The owner's own folder in a project."""

_LONGEST_NAME = 60


@dataclass(frozen=True)
class Project:
    """`name` is what people call it, `path` its real path, `id` the name of its state folder."""

    id: str
    name: str
    path: str


def project_at(path: str, name: str) -> Project:
    """Make the project of a real path; another path is another project."""
    return Project(folder_name(name, path), name, path)


def why_not_name(name: str) -> str:
    """Say why a project cannot be called so, "" when it can: names are typed, shown and quoted."""
    if not 1 <= len(name) <= _LONGEST_NAME:
        return f"a name has 1 to {_LONGEST_NAME} characters"
    if plain(name) != name or name != " ".join(name.split()):
        return "a name is one line of visible characters"
    if name.startswith(("-", "/", ".", "~")) or "/" in name:
        return "a name holds no slash and does not begin with a dash, a dot or a tilde"
    return ""


def free_name(label: str, taken: Collection[str]) -> str:
    """Make an allowed name of a folder's label that nobody has: `shop`, else `shop 2`."""
    visible = " ".join(plain(label).replace("/", " ").split())
    base = visible.lstrip("-.~ ")[: _LONGEST_NAME - 5].rstrip() or "project"
    used = {name.casefold() for name in taken}
    name, number = base, 1
    while name.casefold() in used:
        number += 1
        name = f"{base} {number}"
    return name


def why_not_root(root: str, user_home: str, amiral_home: str) -> str:
    """Say why a real path cannot be a project, "" when it can (spec: layout on disk).

    An agent may write all of its project, so neither a person's home nor ours may lie in it.
    """
    if _holds(root, user_home):
        return "it is or holds the home folder of the user"
    if _holds(root, amiral_home) or _holds(amiral_home, root):
        return "it holds amiral's own home, or lies in it"
    return ""


def _holds(outer: str, inner: str) -> bool:
    return f"{inner.rstrip('/')}/".startswith(f"{outer.rstrip('/')}/")
