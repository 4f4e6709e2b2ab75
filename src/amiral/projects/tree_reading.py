"""Lists a project's files and reads the few that tell what it is: bounded, no link followed."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from amiral.projects.blueprint import TELLING
from amiral.projects.own_tests import is_test_file
from amiral.projects.project_files import read_inside

_DEEPEST = 4
_MOST_FILES = 3000
_MOST_LOOKED_AT = 20_000
_MOST_TESTS_READ = 20
_LARGEST = 256 * 1024
_SHOWN = (".github", ".circleci", ".forgejo")
_PASSED_BY = {"node_modules", "target", "dist", "build", "vendor", "venv", "__pycache__"}


def list_tree(root: Path) -> tuple[str, ...]:
    """Name plain files as `src/app.py`, at most 3000 of them and four folders deep, sorted."""
    found = _walk(root, "", 1)
    names = (name for name in islice(found, _MOST_LOOKED_AT) if name)
    return tuple(sorted(islice(names, _MOST_FILES)))


def read_telling(root: Path, files: tuple[str, ...]) -> dict[str, str]:
    """Read those of the files that `blueprint` looks into."""
    tests = [name for name in files if is_test_file(name)][:_MOST_TESTS_READ]
    read = {name: read_inside(root, name) for name in files if name in (*TELLING, *tests)}
    return {
        name: data.decode("utf-8", "replace")
        for name, data in read.items()
        if data is not None and len(data) <= _LARGEST
    }


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[str]:
    """Give the names of plain files, and "" for each other thing passed by."""
    try:
        entries = os.scandir(folder)
    except OSError:
        return
    inner = []
    with entries:
        for entry in entries:
            is_shown = entry.name in _SHOWN or not entry.name.startswith(".")
            if entry.is_file(follow_symlinks=False) and entry.name.isprintable():
                yield f"{prefix}{entry.name}"
            elif entry.is_dir(follow_symlinks=False) and is_shown and depth < _DEEPEST:
                inner += [entry.name] if entry.name not in _PASSED_BY else []
            yield ""
    for name in sorted(inner):
        yield from _walk(folder / name, f"{prefix}{name}/", depth + 1)
