"""Linked worktrees: who writes has one, on a branch of its own; the user's checkout stays as is."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from amiral.base.errors import Broken, Conflict, Invalid
from amiral.projects.git import Git, Tree
from amiral.store.files import ensure_private_folder

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_BRANCH = "amiral/"
_UNFINISHED = ".new"
_IDENT = re.compile(r"(.+) <(.+)> ")
_THEIR_CONFIG = str(Path("~/.gitconfig").expanduser())
_WORK = (":/", ":(exclude,top).amiral")


@dataclass(frozen=True)
class Worktree:
    """One worktree.

    `folder` is the project's place in it, for a project may be a part of a repository; `base` is
    the newest commit it shares with the user's branch.
    """

    name: str
    branch: str
    folder: Path
    tree: Tree
    base: str


class Worktrees:
    """The worktrees of one project at `root`, below `folder` in the home."""

    def __init__(self, git: Git, root: Path, folder: Path) -> None:
        self._git, self.root, self._folder = git, root, folder

    async def is_git(self) -> bool:
        """Tell whether the project lies in a git repository."""
        return await self._git.tells(self.root, "rev-parse", "--git-dir")

    async def ensure(self, name: str) -> Worktree:
        """Give the worktree `name` on branch `amiral/<name>`, made from the user's HEAD if missing.

        It is made aside and moved into place, so one that is there is whole. Conflict when the
        repository has no commit yet.
        """
        _check_name(name)
        if not await self._git.tells(self.root, "rev-parse", "--verify", "HEAD^{commit}"):
            raise Conflict(
                f"{self.root} has no commit yet, so there is nothing to branch from",
                "make a first commit: git add -A && git commit",
            )
        path = self._folder / name
        if not (path / ".git").exists():
            await self._make(name, path)
        return await self._at(name, path)

    async def find(self, name: str) -> Worktree | None:
        """Give a worktree that is there already."""
        path = self._folder / name
        if not _NAME.fullmatch(name) or not (path / ".git").exists():
            return None
        return await self._at(name, path)

    async def freshen(self, worktree: Worktree) -> None:
        """Bring an untouched worktree up to the user's branch; one with work of its own stays."""
        head = await self._git.ask(self.root, "rev-parse", "HEAD")
        tip = await self._git.ask(worktree.tree, "rev-parse", "HEAD")
        is_untouched = tip == worktree.base and not await self.changes(worktree)
        if is_untouched and head != tip:
            await self._git.ask(worktree.tree, "merge", "--ff-only", "--quiet", head)

    async def changes(self, worktree: Worktree) -> list[str]:
        """Name the files that are not committed, ignored ones left out."""
        words = ("--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", *_WORK)
        told = await self._git.ask(worktree.tree, "status", *words)
        return [entry[3:] for entry in told.split("\0") if len(entry) > len("?? ")]

    async def stage(self, worktree: Worktree) -> None:
        """Note everything in it for the next commit."""
        await self._git.ask(worktree.tree, "add", "--all", "--", *_WORK)

    async def commit(self, worktree: Worktree, message: str, author: str) -> str:
        """Commit what is staged; gives the newest commit, "" when none is since the base."""
        if not await self._git.tells(worktree.tree, "diff", "--cached", "--quiet"):
            person = {
                f"GIT_{role}_{part}": value
                for role in ("AUTHOR", "COMMITTER")
                for part, value in (("NAME", author), ("EMAIL", f"{author}@amiral.invalid"))
            }
            words = ("commit", "--quiet", "--no-verify", "--message", message)
            ran = await self._git.run(worktree.tree, *words, env=person)
            if ran.code != 0:
                raise Broken(f"git commit failed: {ran.err.decode('utf-8', 'replace')[-400:]}")
        tip = await self._git.ask(worktree.tree, "rev-parse", "HEAD")
        return "" if tip == worktree.base else tip

    async def changed_files(self, worktree: Worktree) -> tuple[str, ...]:
        """Name the files committed since the base."""
        told = await self._git.ask(
            worktree.tree, "diff", "--name-only", "-z", worktree.base, "HEAD"
        )
        return tuple(name for name in told.split("\0") if name)

    async def diff(self, worktree: Worktree) -> str:
        """Show what differs from the base, committed or not; new files are named at the end."""
        told = await self._git.ask(
            worktree.tree, "diff", "--no-ext-diff", "--no-textconv", "--no-color", worktree.base
        )
        new = await self._git.ask(
            worktree.tree,
            *("ls-files", "--others", "--exclude-standard", "-z", "--full-name", "--", *_WORK),
        )
        names = [f"new file, not committed: {name}" for name in new.split("\0") if name]
        return "\n".join([*([told] if told else []), *names])

    async def merge(self, worktree: Worktree, message: str) -> str:
        """Merge the branch into the one checked out in the project, by the person's order alone.

        Conflict, with everything as before, when files there are changed or the merge does not fit.
        """
        branch = await self._git.run(self.root, "symbolic-ref", "--quiet", "HEAD")
        if branch.code != 0:
            raise Conflict(
                "no branch is checked out in the project", "git switch to a branch first"
            )
        dirty = await self._git.ask(self.root, "status", "--porcelain", "--untracked-files=no")
        if dirty:
            raise Conflict("the project has changes that are not committed", "commit or stash them")
        words = ("merge", "--no-ff", "--no-verify", "--quiet", "--message", message)
        ran = await self._git.run(self.root, *words, worktree.branch, env=await self._person())
        if ran.code != 0:
            await self._git.run(self.root, "merge", "--abort")
            said = (ran.out + ran.err).decode("utf-8", "replace").strip()
            raise Conflict(f"the merge does not fit: {said[-400:]}", f"amiral diff {worktree.name}")
        return await self._git.ask(self.root, "rev-parse", "HEAD")

    async def discard(self, worktree: Worktree) -> str:
        """Remove a worktree and its branch; gives the commit that still holds all of its work.

        What was not committed is committed first, so that git can bring it back for some weeks.
        """
        await self.stage(worktree)
        kept = await self.commit(worktree, f"Discarded: {worktree.name}", "amiral")
        path = self._folder / worktree.name
        await self._git.ask(self.root, "worktree", "remove", "--force", str(path))
        await self._git.ask(self.root, "branch", "--quiet", "-D", worktree.branch)
        return kept

    async def repair(self) -> None:
        """Remove what a crash left half-made."""
        for path in self._folder.glob(f"*{_UNFINISHED}"):
            await self._git.run(self.root, "worktree", "remove", "--force", "--force", str(path))
            shutil.rmtree(path, ignore_errors=True)

    async def _person(self) -> dict[str, str]:
        """Let the person's own name stand on a merge they ordered."""
        told = await self._git.run(
            self.root, "var", "GIT_COMMITTER_IDENT", env={"GIT_CONFIG_GLOBAL": _THEIR_CONFIG}
        )
        found = _IDENT.match(told.out.decode("utf-8", "replace"))
        name, email = found.groups() if found else ("amiral", "amiral@amiral.invalid")
        return {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", name), ("EMAIL", email))
        }

    async def _make(self, name: str, path: Path) -> None:
        ensure_private_folder(self._folder)
        fresh = path.with_name(f"{name}{_UNFINISHED}")
        await self._git.run(self.root, "worktree", "remove", "--force", "--force", str(fresh))
        shutil.rmtree(fresh, ignore_errors=True)
        branch = f"{_BRANCH}{name}"
        known = await self._git.tells(
            self.root, "show-ref", "--verify", "--quiet", f"refs/heads/{branch}"
        )
        words = (str(fresh), branch) if known else ("-b", branch, str(fresh), "HEAD")
        await self._git.ask(self.root, "worktree", "add", "--quiet", "--force", *words)
        await self._git.ask(self.root, "worktree", "move", "--force", str(fresh), str(path))

    async def _at(self, name: str, path: Path) -> Worktree:
        common = Path(await self._git.ask(self.root, "rev-parse", "--git-common-dir"))
        common = common if common.is_absolute() else self.root / common
        git_dir = _git_dir_of(common, path)
        tree = Tree(git_dir, path)
        prefix = await self._git.ask(self.root, "rev-parse", "--show-prefix")
        head = await self._git.ask(self.root, "rev-parse", "HEAD")
        base = await self._git.ask(tree, "merge-base", "HEAD", head)
        return Worktree(name, f"{_BRANCH}{name}", path / prefix, tree, base)


def _git_dir_of(common: Path, path: Path) -> Path:
    """Find git's own record of a worktree by its path, asking nothing that lies in the worktree."""
    for record in sorted((common / "worktrees").glob("*/gitdir")):
        if Path(record.read_text("utf-8").strip()) == path / ".git":
            return record.parent
    raise Broken(f"git does not know the worktree {path}", "remove that folder; it is made again")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Invalid(f"no worktree can be called {name!r}", "use a worker's or a spec's id")
