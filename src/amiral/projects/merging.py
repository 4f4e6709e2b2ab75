"""Takes work into the user's checkout: by the person's order alone, all of it or nothing."""

from pathlib import Path

from amiral.base.errors import Broken, Conflict
from amiral.base.plain import plain
from amiral.projects.git import Git, identity, said

_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_AS_ORDERED = ("--no-ff", "--commit", "--no-squash", "--no-verify", "--no-edit", "--quiet")


async def merge(git: Git, root: Path, tip: str, message: str) -> str:
    """Merge the commit `tip` into the branch checked out at `root`; gives the commit of the merge.

    One that is merged already gives that commit. The person's own settings count, as if they had
    typed it, but no hook runs. Conflict, with everything as before, when it cannot be.
    """
    await _check(git, root)
    if await git.tells(root, "merge-base", "--is-ancestor", tip, "HEAD"):
        words = ("--topo-order", "--reverse", "--ancestry-path", f"{tip}..HEAD")
        later = await git.ask(root, "rev-list", *words)
        return later.partition("\n")[0] or tip
    ident = await git.run(root, "var", "GIT_COMMITTER_IDENT", as_person=True)
    ran = await git.run(
        root,
        *("merge", *_AS_ORDERED, "--message", plain(message), tip),
        env={} if ident.code == 0 else identity("amiral"),
        as_person=True,
    )
    if ran.code != 0:
        await _take_back(git, root)
        raise Conflict(f"the merge does not fit: {said(ran)}", "nothing was changed")
    return await git.ask(root, "rev-parse", "HEAD")


async def _check(git: Git, root: Path) -> None:
    branch = await git.run(root, "symbolic-ref", "--quiet", "HEAD")
    if branch.code != 0:
        raise Conflict("no branch is checked out in the project", "git switch to a branch first")
    for name in _UNDER_WAY:
        if await git.tells(root, "rev-parse", "--quiet", "--verify", name):
            what = name.removesuffix("_HEAD").lower().replace("_", "-")
            raise Conflict(f"a {what} is under way in the project", "finish it, or abort it")
    words = ("--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
    ran = await git.run(root, "status", *words, as_person=True)
    if ran.code != 0:
        raise Conflict(f"git cannot merge here: {said(ran)}", f"see `git -C {root} status`")
    if ran.out.strip():
        raise Conflict("the project has changes that are not committed", "commit or stash them")


async def _take_back(git: Git, root: Path) -> None:
    if not await git.tells(root, "rev-parse", "--quiet", "--verify", "MERGE_HEAD"):
        return
    ran = await git.run(root, "merge", "--abort", as_person=True)
    if ran.code != 0:
        raise Broken(f"a merge that does not fit is half done: {said(ran)}", "git merge --abort")
