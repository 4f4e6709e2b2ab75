"""Runs git for amiral: no hooks, no helpers, no prompts, no settings of the person by surprise."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from amiral.base.errors import Broken, NotFound
from amiral.processes.spawn import Ran, Spawner, base_environment

_TIMEOUT_S = 120.0
_QUIET = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "protocol.ext.allow=never", "-c", "gc.auto=0", "-c", "safe.directory=*"),
    *("-c", "commit.gpgSign=false", "-c", "advice.detachedHead=false"),
)
_ENV = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat", "LC_ALL": "C"}
_OURS = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass(frozen=True)
class Tree:
    """A working tree and where git keeps what belongs to it; both are always named in full.

    An agent may rewrite the `.git` file of its worktree, so it is never asked (case G1).
    """

    git_dir: Path
    work_tree: Path


class Git:
    """Answers come as text; Broken holds what git said on stderr."""

    def __init__(self, spawner: Spawner) -> None:
        self._spawner = spawner

    async def ask(self, where: Path | Tree, *words: str) -> str:
        """Run git and give its stdout without the last line end; Broken when it fails."""
        ran = await self.run(where, *words)
        if ran.code != 0:
            said = ran.err.decode("utf-8", "replace").strip() or f"exit code {ran.code}"
            raise Broken(f"git {words[0]} failed: {said[-400:]}", "see `git status` in the project")
        return ran.out.decode("utf-8", "surrogateescape").rstrip("\n")

    async def tells(self, where: Path | Tree, *words: str) -> bool:
        """Run a git command whose exit code is a yes or no."""
        return (await self.run(where, *words)).code == 0

    async def run(
        self, where: Path | Tree, *words: str, env: Mapping[str, str] | None = None
    ) -> Ran:
        """Run git, whatever its exit code; NotFound when there is no git."""
        place: tuple[str, ...] = ("-C", str(where)) if isinstance(where, Path) else ()
        cwd = where if isinstance(where, Path) else where.work_tree
        if isinstance(where, Tree):
            place = (f"--git-dir={where.git_dir}", f"--work-tree={where.work_tree}")
        try:
            return await self._spawner.run(
                ("git", *place, *_QUIET, *words),
                kind="own",
                env={**base_environment(), **_ENV, **_OURS, **(env or {})},
                cwd=str(cwd),
                timeout_s=_TIMEOUT_S,
            )
        except NotFound as error:
            raise NotFound("git is not installed", "install git") from error
