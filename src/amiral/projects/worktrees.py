"""Linked worktrees: who writes has one, on a branch of its own; the user's checkout stays as is."""

import asyncio
import contextlib
import os
import re
import shutil
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from amiral.base.errors import AmiralError, Broken, Invalid, NotFound
from amiral.base.failpoint import failpoint
from amiral.base.ids import new_id
from amiral.projects.git import Git, said
from amiral.projects.git_tree import GitTree
from amiral.projects.work import OURS, Work, Worktree
from amiral.store.files import ensure_private_folder, write_atomic

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_DEED = re.compile(r"(making|made|leaving) (amiral/[a-z0-9_-]{1,50}) ([a-z0-9]{8})\n")
_OF_OURS = re.compile(r"[a-z0-9_-]+\.(new|index)-[a-z0-9]{8}(\.lock)?")
_MOST_BRANCHES = 9


class _State(StrEnum):
    MAKING = "making"
    MADE = "made"
    LEAVING = "leaving"


@dataclass(frozen=True)
class _Deed:
    """What we know of a name, beside its worktree and out of every agent's reach.

    The branch is ours from `making` on. Only one that is `made` is worked in: until then, and from
    `leaving` on, its folder may be in any state, and nothing of worth is in it. `id` parts it from
    others of its name.
    """

    state: _State
    branch: str
    id: str

    def made_as(self, name: str) -> str:
        """Name the folder in which it was made, and so git's own record of it for ever."""
        return f"{name}.new-{self.id}"


class Worktrees:
    """The worktrees of one project at `root`, below `folder` in the home.

    Who makes, changes or removes one holds its name (`lock`) and nobody works there meanwhile.
    """

    def __init__(self, git: Git, root: Path, folder: Path) -> None:
        self.root, self.work = root, Work(git, root)
        self._git, self._folder = git, folder
        self._locks: dict[str, asyncio.Lock] = {}

    def holds(self, folder: str) -> bool:
        """Tell whether a folder lies in one of them."""
        return Path(folder).is_relative_to(self._folder)

    def lock(self, name: str) -> asyncio.Lock:
        """Give the lock of a name; that of "" is the checkout's."""
        return self._locks.setdefault(name, asyncio.Lock())

    async def is_git(self) -> bool:
        """Tell whether the project is in a repository and git there; Broken when git refuses it."""
        try:
            ran = await self._git.run(self.root, "rev-parse", "--git-dir")
        except NotFound:
            return False
        if ran.code == 0:
            return True
        if b"not a git repository (or any" in ran.err:
            return False
        raise Broken(f"git cannot be used here: {said(ran)}", f"see `git -C {self.root} status`")

    async def ensure(self, name: str) -> Worktree:
        """Give the worktree `name` on branch `amiral/<name>`, made from the user's HEAD if missing.

        Whatever was killed while it was made or removed, it is whole. Broken when it cannot be.
        """
        if not _NAME.fullmatch(name):
            raise Invalid(f"no worktree can be called {name!r}", "use a worker's or a spec's id")
        if not await self._git.tells(self.root, "rev-parse", "--verify", "HEAD^{commit}"):
            raise Broken(
                f"{self.root} has no commit yet, so there is nothing to branch from",
                "make a first one: git add -A && git commit",
            )
        deed = self._deed(name)
        if deed is not None and deed.state is _State.LEAVING:
            await self._leave(name, deed)
            deed = None
        if deed is None or deed.state is _State.MAKING or not self._path(name).exists():
            deed = await self._make(name, deed)
        worktree = await self._at(name, deed)
        self.work.tidy(worktree)
        _make_folder(worktree.folder)
        return worktree

    def is_known(self, name: str) -> bool:
        """Tell whether there is a worktree of this name, or was until its folder got lost."""
        return _NAME.fullmatch(name) is not None and self._deed(name) is not None

    async def find(self, name: str) -> Worktree | None:
        """Give a worktree that is there already."""
        deed = self._deed(name) if _NAME.fullmatch(name) else None
        if deed is None or deed.state is not _State.MADE or not self._path(name).exists():
            return None
        return await self._at(name, deed)

    async def discard(self, worktree: Worktree) -> str:
        """Remove a worktree and its branch; gives the commit that holds its work, "" if none.

        Everything but ignored files is committed first. That commit is new, so that git keeps it
        and all before it for two weeks at least.
        """
        kept = ""
        await self.work.stage(worktree)
        if await self.work.is_touched(worktree):
            message = f"Discarded: {worktree.name}"
            kept = await self.work.commit(worktree, message, "amiral", even_empty=True)
        failpoint("worktree.kept")
        deed = _Deed(_State.LEAVING, worktree.branch, worktree.tree.git_dir.name[-8:])
        self._note(worktree.name, deed)
        failpoint("worktree.leaving")
        await self._leave(worktree.name, deed)
        return kept

    async def repair(self) -> list[str]:
        """Finish what a crash left half done; tells what cannot be. No work is ever removed."""
        told = []
        for file in sorted(self._folder.glob("*.state")):
            try:
                await self._settle(file.stem)
            except AmiralError as error:
                told.append(f"worktree {file.stem}: {error.message}")
        for left in self._folder.glob("*.*"):
            if _OF_OURS.fullmatch(left.name):
                await asyncio.to_thread(_remove_tree, left)
        return told

    async def _settle(self, name: str) -> None:
        deed = self._deed(name)
        if deed is None or deed.state is _State.MADE:
            return
        # A branch whose folder was lost and made again may hold work: then it is made once more.
        is_empty = not await self._has_branch(deed.branch) or not await self.work.own(
            f"refs/heads/{deed.branch}"
        )
        if deed.state is _State.LEAVING or is_empty:
            await self._leave(name, deed)
        else:
            await self._clear(name, deed)

    async def _make(self, name: str, deed: _Deed | None) -> _Deed:
        """Make it aside and move it into place; a deed there is already tells the branch."""
        ensure_private_folder(self._folder)
        if deed is None and self._path(name).exists():
            path = self._path(name)
            raise Broken(f"{path} is in the way of a worktree", f"move {path} away")
        if deed is not None:
            await self._clear(name, deed)
        branch = deed.branch if deed else await self._free_branch(name)
        making = _Deed(_State.MAKING, branch, new_id(8))
        self._note(name, making)
        failpoint("worktree.making")
        fresh = self._folder / making.made_as(name)
        known = await self._has_branch(branch)
        words = (str(fresh), branch) if known else ("--no-track", "-b", branch, str(fresh), "HEAD")
        await self._git.ask(self.root, "worktree", "add", "--quiet", *words)
        failpoint("worktree.added")
        await self._git.ask(self.root, "worktree", "move", str(fresh), str(self._path(name)))
        failpoint("worktree.moved")
        made = replace(making, state=_State.MADE)
        self._note(name, made)
        return made

    async def _clear(self, name: str, deed: _Deed) -> None:
        """Remove what is left of one that was never worked in, or no longer is.

        A git that was killed may have left anything, so git is not asked to do it.
        """
        common = await self._common()
        record = common / "worktrees" / deed.made_as(name)
        for path in (self._path(name), self._folder / record.name, record):
            await asyncio.to_thread(_remove_tree, path)
        with contextlib.suppress(OSError):
            record.parent.rmdir()
        (common / "refs" / "heads" / f"{deed.branch}.lock").unlink(missing_ok=True)

    async def _leave(self, name: str, deed: _Deed) -> None:
        await self._clear(name, deed)
        failpoint("worktree.removed")
        words = ("for-each-ref", "--format=%(worktreepath)")
        user = await self._git.ask(self.root, *words, f"refs/heads/{deed.branch}")
        if user:
            raise Broken(f"{deed.branch} is checked out in {user}", f"git -C {user} switch …")
        await self._git.ask(self.root, "update-ref", "-d", f"refs/heads/{deed.branch}")
        (self._folder / f"{name}.state").unlink(missing_ok=True)

    async def _free_branch(self, name: str) -> str:
        """Choose a branch that nobody has: it may be the user's, or another project's."""
        if await self._has_branch(OURS.rstrip("/")):
            raise Broken(
                "the branch `amiral` is in the way of branches called amiral/…",
                "git branch -m amiral ANOTHER_NAME",
            )
        for number in range(1, _MOST_BRANCHES + 1):
            branch = f"{OURS}{name}" if number == 1 else f"{OURS}{name}-{number}"
            if not await self._has_branch(branch):
                return branch
        raise Broken(f"there are {_MOST_BRANCHES} branches {OURS}{name}…", "remove some of them")

    async def _has_branch(self, branch: str) -> bool:
        words = ("show-ref", "--verify", "--quiet", f"refs/heads/{branch}")
        return await self._git.tells(self.root, *words)

    async def _at(self, name: str, deed: _Deed) -> Worktree:
        common, path = await self._common(), self._path(name).resolve()
        record = common / "worktrees" / deed.made_as(name)
        if not record.is_dir():
            raise Broken(
                f"git does not know the worktree {path} any more",
                f"move {path} away; it is made again from its branch",
            )
        prefix = await self._git.ask(self.root, "rev-parse", "--show-prefix")
        return Worktree(name, deed.branch, path / prefix, GitTree(record, common, path))

    async def _common(self) -> Path:
        """Find where git keeps what all worktrees of the repository share."""
        told = await self._git.ask(self.root, "rev-parse", "--git-common-dir")
        return (self.root / told).resolve()

    def _path(self, name: str) -> Path:
        return self._folder / name

    def _deed(self, name: str) -> _Deed | None:
        try:
            text = (self._folder / f"{name}.state").read_text("utf-8")
        except FileNotFoundError:
            return None
        match _DEED.fullmatch(text):
            case None:
                path = self._folder / f"{name}.state"
                raise Broken(f"{path} cannot be read: {text[:80]!r}", f"move {path} away")
            case found:
                return _Deed(_State(found[1]), found[2], found[3])

    def _note(self, name: str, deed: _Deed) -> None:
        write_atomic(self._folder / f"{name}.state", f"{deed.state} {deed.branch} {deed.id}\n")


def _make_folder(folder: Path) -> None:
    """A part of a repository that has nothing committed is no folder of its worktrees yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Broken(f"{folder} is no folder to work in: {error.strerror}") from error


def _remove_tree(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            _remove_folder(path)
        else:
            path.unlink(missing_ok=True)
    except (OSError, RecursionError) as error:
        raise Broken(f"{path} cannot be removed: {error}", f"remove {path} by hand") from error


def _remove_folder(path: Path) -> None:
    """Remove a folder even where a program has locked itself out."""
    try:
        shutil.rmtree(path)
    except PermissionError:
        _open_up(path)
        shutil.rmtree(path)


def _open_up(path: Path) -> None:
    path.chmod(0o700)
    with os.scandir(path) as entries:
        folders = [Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False)]
    for folder in folders:
        _open_up(folder)
