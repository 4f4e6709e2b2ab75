"""A new project's repository: made aside with one commit, then moved into place whole."""

import os
import shutil
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from amiral.base.errors import Broken
from amiral.projects.git import Git, identity, said

_MESSAGE = "Set up by amiral"
_HELD = ("objects", "refs")
_MOST_NAMED = 3


async def make_aside(git: Git, root: Path, id_: str, files: Sequence[str]) -> Path:
    """Make a repository beside its place, with one commit of these files; gives its folder."""
    aside = _aside(root, id_)
    aside.mkdir()
    await git.ask(aside, "-c", "init.defaultBranch=main", "init", "--quiet")
    place = {"GIT_DIR": str(aside / ".git"), "GIT_WORK_TREE": str(root)}
    await git.ask(root, "add", "--force", "--", *files, env=place)
    words = ("commit", "--quiet", "--no-verify", "--allow-empty", "--message", _MESSAGE)
    known = await git.run(root, "var", "GIT_COMMITTER_IDENT", env=place, as_person=True)
    who = {} if known.code == 0 else identity("amiral")
    ran = await git.run(root, *words, env={**place, **who}, as_person=True)
    if ran.code != 0:
        raise Broken(f"git commit failed: {said(ran)}", "answer no to a git repository")
    return aside / ".git"


def contents(repository: Path) -> str:
    """Name what a repository holds: another commit, branch or file noted gives another name."""
    found = sha256()
    for name in sorted(_files(repository)):
        found.update(f"{name}\0".encode("utf-8", "surrogateescape"))
    return found.hexdigest()


def move_in(root: Path, id_: str) -> None:
    """Put it in its place, where nothing is yet."""
    (_aside(root, id_) / ".git").rename(root / ".git")
    _aside(root, id_).rmdir()


def take_back(root: Path, id_: str, known: str) -> None:
    """Remove what was made, aside or in place; one that holds anything else by now stays."""
    shutil.rmtree(_aside(root, id_), ignore_errors=True)
    place = root / ".git"
    is_ours = place.is_dir() and not place.is_symlink() and known and contents(place) == known
    if is_ours:
        shutil.rmtree(place)


async def left_out(git: Git, root: Path) -> list[str]:
    """Tell of files that were there before and are in no commit yet."""
    told = await git.ask(root, "status", "--porcelain", "-z")
    names = [entry[3:] for entry in told.split("\0") if entry]
    more = "" if len(names) <= _MOST_NAMED else " …"
    shown = ", ".join(names[:_MOST_NAMED]) + more
    return [f"not committed: {shown}; git add -A && git commit"] if names else []


def _files(repository: Path) -> Iterator[str]:
    for part in _HELD:
        for folder, _, names in os.walk(repository / part):
            yield from (str(Path(folder, name).relative_to(repository)) for name in names)


def _aside(root: Path, id_: str) -> Path:
    return root / f".amiral-{id_}"
