"""Runs git for amiral: no hooks, no prompts, and on an agent's tree no settings of the person."""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path

from amiral.base.errors import Broken, NotFound
from amiral.processes.fence import Fence
from amiral.processes.spawn import Ran, Spawner, base_environment
from amiral.projects.git_tree import GitTree, tree_fence

_TIMEOUT_S = 300.0
_LONGEST_WORDS = 400
_QUIET = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "submodule.recurse=false", "-c", "protocol.ext.allow=never"),
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "commit.gpgSign=false"),
    *("-c", "core.quotePath=false", "-c", "i18n.commitEncoding=UTF-8"),
)
_ENV = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_OURS_ALONE = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


class Git:
    """Answers come as text; Broken holds what git said on stderr.

    On an agent's tree it works behind a fence, where `private` folders cannot be read.
    """

    def __init__(self, spawner: Spawner, private: Collection[Path] = ()) -> None:
        self._spawner, self._private = spawner, private
        self._trusted: tuple[str, ...] | None = None

    async def ask(
        self,
        where: Path | GitTree,
        *words: str,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> str:
        """Run git and give all of its stdout but the last line ends; Broken when it fails."""
        ran = await self.run(where, *words, env=env, stdin=stdin)
        if ran.code != 0:
            raise Broken(f"git {words[0]} failed: {said(ran)}", f"see `{by_hand(where)} status`")
        if ran.is_cut:
            raise Broken(f"git {words[0]} answered more than can be taken in")
        return ran.out.decode("utf-8", "replace").rstrip("\n")

    async def tells(self, where: Path | GitTree, *words: str) -> bool:
        """Run a git command whose exit code is a yes or no."""
        return (await self.run(where, *words)).code == 0

    async def run(
        self,
        where: Path | GitTree,
        *words: str,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        as_person: bool = False,
    ) -> Ran:
        """Run git, whatever its exit code; NotFound when there is no git.

        `as_person`: with the person's own settings, on their own checkout and by their order.
        """
        chosen = () if as_person else await self._trust()
        own = {} if as_person else _OURS_ALONE
        if isinstance(where, Path):
            place: tuple[str, ...] = ("-C", str(where))
            cwd, named = where, {}
        else:
            place = (f"--git-dir={where.git_dir}", f"--work-tree={where.work_tree}")
            cwd, named = where.work_tree, {"GIT_COMMON_DIR": str(where.common_dir)}
        settings = {**own, **named, **(env or {})}
        fence = None
        if not isinstance(where, Path):
            fence = await asyncio.to_thread(tree_fence, where, settings, self._private)
        return await self._start((*place, *_QUIET, *chosen, *words), cwd, settings, stdin, fence)

    async def _trust(self) -> tuple[str, ...]:
        """Take over which repositories of other users the person trusts, and nothing else."""
        if self._trusted is None:
            words = ("config", "--null", "--get-all", "safe.directory")
            told = await self._start(("-C", "/", *words), Path("/"), {}, b"")
            names = told.out.decode("utf-8", "surrogateescape").split("\0")[:-1]
            settings = (("-c", f"safe.directory={name}") for name in names)
            self._trusted = tuple(word for setting in settings for word in setting)
        return self._trusted

    async def _start(
        self,
        words: tuple[str, ...],
        cwd: Path,
        env: Mapping[str, str],
        stdin: bytes,
        fence: Fence | None = None,
    ) -> Ran:
        try:
            return await self._spawner.run(
                ("git", *words),
                kind="own",
                env={**base_environment(), **_ENV, **env},
                cwd=str(cwd),
                timeout_s=_TIMEOUT_S,
                stdin=stdin,
                fence=fence,
            )
        except NotFound as error:
            if not cwd.is_dir():
                raise
            raise NotFound("git is not installed", "install git") from error


def by_hand(where: Path | GitTree) -> str:
    """Write the git command a person may type: never one that follows an agent's `.git` (G1)."""
    if isinstance(where, Path):
        return f"git -C {where}"
    return f"git --git-dir={where.git_dir} --work-tree={where.work_tree}"


def said(ran: Ran) -> str:
    """Give the last words of a git that failed."""
    if ran.timed_out:
        return f"it took longer than {_TIMEOUT_S:.0f} s"
    words = (ran.out + ran.err).decode("utf-8", "replace").strip()
    return words[-_LONGEST_WORDS:] or f"exit code {ran.code}"


def identity(name: str) -> dict[str, str]:
    """Let a commit be one of `name`, a worker."""
    return {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", name), ("EMAIL", f"{name}@amiral.invalid"))
    }
