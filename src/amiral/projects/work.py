"""What is in a worktree: looked at, noted, committed, shown; no program of the agent's is run."""

import asyncio
import contextlib
import os
import re
import shutil
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from amiral.base.errors import Broken
from amiral.base.ids import new_id
from amiral.base.plain import plain
from amiral.projects import merging
from amiral.projects.git import Git, by_hand, identity, said
from amiral.projects.git_tree import GitTree
from amiral.store.files import write_atomic

OURS = "amiral/"
"""Begins the name of every branch that an agent works on."""

_CONFIGURATION = ":(top,glob)**/.amiral/**"
_WITHOUT_OURS = ":(exclude,top,glob)**/.amiral/**"
_AS_TEXT = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")
_SOME_COULD_NOT = 1
_LONGEST_LINK = 4096
_HEAD = re.compile(r"ref: refs/\S+|[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Worktree:
    """One worktree; `folder` is the project's place in it, for it may be a part of a repository."""

    name: str
    branch: str
    folder: Path
    tree: GitTree


class Work:
    """Reads and commits what is in worktrees of the repository of `root`, the user's checkout.

    Broken says what git refuses. `.amiral/` is never part of it, nor are submodules.
    """

    def __init__(self, git: Git, root: Path) -> None:
        self._git, self._root = git, root

    async def head(self) -> str:
        """Name the commit that is checked out in the project."""
        return await self._git.ask(self._root, "rev-parse", "--verify", "HEAD^{commit}")

    async def tip(self, worktree: Worktree) -> str:
        """Name the newest commit of a worktree."""
        ran = await self._git.run(worktree.tree, "rev-parse", "--verify", "HEAD^{commit}")
        if ran.code != 0:
            reason = f"{worktree.name} has no commit any more: {said(ran)}"
            raise Broken(reason, f"{by_hand(worktree.tree)} reflog tells what it had")
        return ran.out.decode().strip()

    async def base(self, worktree: Worktree, known: str = "") -> str:
        """Name the newest commit shared with the checkout; its newest one where none is.

        `known` was one earlier, and stays it where the checkout went elsewhere meanwhile.
        """
        head = await self.head()
        ran = await self._git.run(worktree.tree, "merge-base", "HEAD", head)
        shared = ran.out.decode().strip() if ran.code == 0 else head
        words = ("merge-base", "--is-ancestor", known, shared)
        is_older = not known or await self._git.tells(worktree.tree, *words)
        return shared if is_older else known

    async def changes(self, worktree: Worktree) -> list[str]:
        """Name the files that are not committed, ignored ones left out.

        A name that ends with a slash is a folder that holds a repository of its own.
        """
        words = ("--porcelain", "-z", "--no-renames", "--untracked-files=all")
        told = await self._git.ask(
            worktree.tree,
            *("status", *words, "--ignore-submodules=dirty", "--", ":/", _WITHOUT_OURS),
        )
        return [entry[3:] for entry in told.split("\0") if len(entry) > len("?? ")]

    async def is_touched(self, worktree: Worktree) -> bool:
        """Tell whether there is anything that no branch of the user holds."""
        ours = await self.tip(worktree), f"refs/heads/{worktree.branch}"
        return bool(await self.own(*ours) or await self.changes(worktree))

    async def own(self, *ours: str) -> str:
        """Name a commit among ours that no branch or tag of the user holds, "" when none is."""
        theirs = (f"--exclude={OURS}*", "--branches", "--remotes", "--tags", await self.head())
        return await self._git.ask(self._root, "rev-list", "-n", "1", *ours, "--not", *theirs)

    async def freshen(self, worktree: Worktree) -> None:
        """Bring an untouched worktree to the commit of the checkout; one with work in it stays."""
        head = await self.head()
        if await self.tip(worktree) != head and not await self.is_touched(worktree):
            # What stands in the way, say a file that git ignores, is no reason not to work.
            await self._git.run(worktree.tree, "checkout", "--quiet", "-B", worktree.branch, head)

    def tidy(self, worktree: Worktree) -> None:
        """Put git's links back and remove a killed git's locks; only while nobody works there."""
        _relink(worktree.tree)
        head = worktree.tree.git_dir / "HEAD"
        if not _HEAD.fullmatch(_line_of(head)):
            write_atomic(head, f"ref: refs/heads/{worktree.branch}\n", mode=0o644)
        for lock in ("index.lock", "HEAD.lock"):
            _unlock(worktree.tree.git_dir / lock)

    async def check_whole(self, worktree: Worktree) -> None:
        """Raise Broken when a merge was left half done."""
        words = ("--name-only", "--diff-filter=U", "-z", "--ignore-submodules=all")
        told = await self._git.ask(worktree.tree, "diff", *words)
        files = ", ".join(name for name in told.split("\0") if name)
        if files:
            raise Broken(f"a merge was left half done: {files}", f"have {worktree.name} finish it")

    async def stage(self, worktree: Worktree, mark: str = "") -> None:
        """Note everything in it for the next commit, once for each `mark`.

        Broken when a folder holds a repository of its own, whose files a commit would not hold.
        """
        marked = f"refs/worktree/{OURS}{mark}"
        if mark and await self._git.tells(
            worktree.tree, "rev-parse", "--quiet", "--verify", marked
        ):
            await self._git.ask(worktree.tree, "read-tree", marked)
            return
        self.tidy(worktree)
        await self._come_back(worktree)
        base = await self.base(worktree)
        nested = await self._nested(worktree, base)
        if nested:
            place = worktree.tree.work_tree / nested[0]
            raise Broken(
                f"{', '.join(nested)}: a repository of its own, whose files would be left out",
                f"remove {place / '.git'}, or move {place} away",
            )
        await self._git.ask(worktree.tree, "add", "--all", "--", *await self._paths(base))
        await self._git.ask(worktree.tree, "reset", "--quiet", "--", _CONFIGURATION)
        if mark:
            tree = await self._git.ask(worktree.tree, "write-tree")
            await self._git.ask(worktree.tree, "update-ref", marked, tree)

    async def commit(
        self, worktree: Worktree, message: str, author: str, *, even_empty: bool = False
    ) -> str:
        """Commit what is staged, if anything is; gives the newest commit."""
        is_same = await self._git.tells(worktree.tree, "diff", "--cached", "--quiet")
        if even_empty or not is_same:
            words = ("commit", "--quiet", "--no-verify", "--allow-empty", "--cleanup=whitespace")
            await self._git.ask(
                worktree.tree,
                *(*words, "--file=-"),
                env=identity(author),
                stdin=plain(message).encode(),
            )
        return await self.tip(worktree)

    async def files(self, worktree: Worktree, base: str) -> tuple[str, ...]:
        """Name the files committed since `base`."""
        words = ("--name-only", "--no-renames", "-z")
        told = await self._git.ask(worktree.tree, "diff", *words, base, "HEAD")
        return tuple(name for name in told.split("\0") if name)

    async def merge(self, worktree: Worktree, message: str) -> str:
        """Merge what is committed into the user's branch; gives the commit of the merge."""
        return await merging.merge(self._git, self._root, await self.tip(worktree), message)

    async def diff(self, worktree: Worktree, *, only_commits: bool) -> str:
        """Show what differs from the checkout's branch, new files too; an agent may be at work."""
        base = await self.base(worktree)
        if only_commits:
            return await self._text(worktree.tree, {}, base, "HEAD")
        async with _borrowed_index(worktree) as env:
            nested = await self._nested(worktree, base)
            left_out = [f":(exclude,top,literal){name.rstrip('/')}" for name in nested]
            words = ("add", "--all", "--ignore-errors", "--", *await self._paths(base), *left_out)
            ran = await self._git.run(worktree.tree, *words, env=env)
            if ran.code not in (0, _SOME_COULD_NOT):
                raise Broken(f"git add failed: {said(ran)}")
            text = await self._text(worktree.tree, env, "--cached", base)
        told = [f"left out, a repository of its own: {name}" for name in nested]
        return "\n".join([*([text] if text else []), *told])

    async def _text(self, tree: GitTree, env: dict[str, str], *what: str) -> str:
        ran = await self._git.run(tree, "diff", *_AS_TEXT, *what, env=env)
        if ran.code != 0:
            raise Broken(f"git diff failed: {said(ran)}")
        text = ran.out.decode("utf-8", "replace").rstrip("\n")
        return f"… its beginning is left out, it is too long\n{text}" if ran.is_cut else text

    async def _come_back(self, worktree: Worktree) -> None:
        """See that the branch holds what was committed, on whatever branch an agent did it."""
        ours, tip = f"refs/heads/{worktree.branch}", await self.tip(worktree)
        head = await self._git.run(worktree.tree, "symbolic-ref", "--quiet", "HEAD")
        if head.out.decode("utf-8", "replace").strip() == ours:
            return
        if not await self._git.tells(worktree.tree, "merge-base", "--is-ancestor", ours, "HEAD"):
            raise Broken(
                f"{worktree.name} has left its branch {worktree.branch}, which holds other commits",
                f"{by_hand(worktree.tree)} switch {worktree.branch}",
            )
        await self._git.ask(worktree.tree, "update-ref", ours, tip)
        await self._git.ask(worktree.tree, "symbolic-ref", "HEAD", ours)

    async def _nested(self, worktree: Worktree, base: str) -> list[str]:
        """Name the folders that became repositories of their own: git would note a number alone."""
        loose = [name for name in await self.changes(worktree) if name.endswith("/")]
        words = ("--cached", "--raw", "-z", "--no-renames", "--diff-filter=AT")
        told = await self._git.ask(worktree.tree, "diff", *words, base)
        fields = told.split("\0")
        added = zip(fields[::2], fields[1::2], strict=False)
        return loose + [name for entry, name in added if entry.split(" ")[1:2] == ["160000"]]

    async def _paths(self, base: str) -> tuple[str, ...]:
        """Say what belongs to the work.

        git would run programs that an agent configured in a submodule to see whether it changed.
        """
        where = ("--blob", f"{base}:.gitmodules", "--null")
        words = ("--get-regexp", r"^submodule\..*\.path$")
        told = await self._git.run(self._root, "config", *where, *words)
        entries = told.out.decode("utf-8", "surrogateescape").split("\0")
        submodules = (entry.partition("\n")[2] for entry in entries if entry)
        without = (f":(exclude,top,literal){path}" for path in submodules)
        return ":/", _WITHOUT_OURS, *without


@asynccontextmanager
async def _borrowed_index(worktree: Worktree) -> AsyncIterator[dict[str, str]]:
    """Have git note things in a copy of its index, so that nobody's work is touched."""
    tree = worktree.tree
    folder = tree.work_tree.with_name(f"{worktree.name}.index-{new_id(8)}")
    folder.mkdir(0o700)
    try:
        with contextlib.suppress(OSError):
            # With its time, by which git knows what may have changed since it looked last.
            await asyncio.to_thread(shutil.copy2, tree.git_dir / "index", folder / "index")
        yield {"GIT_INDEX_FILE": str(folder / "index")}
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _relink(tree: GitTree) -> None:
    """See that git's three links between a worktree and the rest lead where git left them."""
    link = tree.work_tree / ".git"
    if link.is_dir() and not link.is_symlink():
        raise Broken(f"{link} became a folder, a repository of its own", f"move {link} away")
    if _line_of(link) != f"gitdir: {tree.git_dir}":
        write_atomic(link, f"gitdir: {tree.git_dir}\n", mode=0o644)
    for name, leads_to in (("gitdir", link), ("commondir", tree.common_dir)):
        told = tree.git_dir / name
        if os.path.normpath(tree.git_dir / _line_of(told)) != str(leads_to):
            write_atomic(told, f"{leads_to}\n", mode=0o644)


def _unlock(lock: Path) -> None:
    try:
        lock.unlink(missing_ok=True)
    except OSError as error:
        raise Broken(f"{lock} cannot be removed: {error.strerror}", f"remove {lock}") from error


def _line_of(link: Path) -> str:
    """Read a link of git's, "" when it is none: an agent may have put anything in its place."""
    try:
        found = link.lstat()
        is_link = stat.S_ISREG(found.st_mode) and found.st_size < _LONGEST_LINK
        return link.read_text("utf-8").removesuffix("\n") if is_link else ""
    except (OSError, ValueError):
        return ""
