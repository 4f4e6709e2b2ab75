"""Trees and rules as values, for what is compiled without any file."""

import itertools

import pytest

from amiral.permissions.folders import Entry, Folder, Kind, Tree
from amiral.permissions.rules import Capability, Permissions, Posture, Rule

ROOT = "/project"


@pytest.fixture(scope="session")
def tree_of():
    """Give a function from names to a tree: `a/b` is a file, `a/` a folder.

    `kinds` gives a path its kind, or (any word for one file, how many names that has).
    `unread` are folders that could not be read.
    """

    def build(*paths, unread=(), kinds=None):
        numbers = itertools.count(100)
        wanted = dict.fromkeys(paths, Kind.FILE) | (kinds or {})
        ids: dict[str, int] = {}
        leaves: dict[tuple[str, ...], list[Entry]] = {}
        folders = {()} | {tuple(path.split("/")) for path in unread}
        for path, kind in wanted.items():
            *above, name = path.split("/")
            folders.update(tuple(above[:depth]) for depth in range(len(above) + 1))
            if name:
                word, count = kind if isinstance(kind, tuple) else (path, 1)
                number = ids.setdefault(word, next(numbers))
                shown = Kind.FILE if isinstance(kind, tuple) else kind
                leaf = Entry(name, shown, (1, number), count)
                leaves.setdefault(tuple(above), []).append(leaf)

        def folder(path):
            inner = sorted(f for f in folders if len(f) == len(path) + 1 and f[:-1] == path)
            is_whole = "/".join(path) not in unread
            entries = tuple(leaves.get(path, ()))
            below = tuple(map(folder, inner))
            return Folder(path, (1, next(numbers)), 0, True, is_whole, entries, below)

        return Tree(ROOT, folder(()))

    return build


@pytest.fixture(scope="session")
def permissions():
    """Give a function from a default and lines like `deny write **/.env` to permissions."""

    def build(default, *lines):
        rules = []
        for number, line in enumerate(lines, 1):
            posture, capability, match = line.split(" ", 2)
            source = f"permissions.json:{number}"
            rules.append(Rule(Capability(capability), match, Posture(posture), source))
        return Permissions(Posture(default), tuple(rules))

    return build
