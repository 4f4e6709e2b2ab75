"""In which folder a worker works: a worktree of its own if it writes, else the checkout."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from amiral.agents.worker import Worker
from amiral.base.errors import AmiralError, Broken, Denied, NotFound
from amiral.permissions.tools import may_write
from amiral.projects.git_tree import read_by_git
from amiral.projects.worktrees import Worktrees


@dataclass(frozen=True)
class WorkPlace:
    """A folder to work in; of a linked worktree also what git reads for it."""

    folder: Path
    git_folders: tuple[Path, ...] = ()


class Places:
    """The folders of one project. NotFound when there is no place for a worker that writes."""

    def __init__(self, worktrees: Worktrees) -> None:
        self._worktrees = worktrees
        self._looking, self._writer = asyncio.Lock(), ""

    async def prepare(self, worker: Worker, place: str) -> WorkPlace:
        """Give the folder for a turn, made when missing: worktree `place`, else the worker's own.

        A reading worker without a `place` gets the checkout; so does a writing one where there is
        no git. A worker's own worktree follows the checkout for as long as no work is in it.
        """
        if not place and not may_write(worker.tools):
            return WorkPlace(self._worktrees.root)
        with _telling(worker):
            if not await self._worktrees.is_git():
                return WorkPlace(self._worktrees.root)
            worktree = await self._worktrees.ensure(place or worker.id)
            if not place:
                await self._worktrees.work.freshen(worktree)
            return WorkPlace(worktree.folder, read_by_git(worktree.tree))

    @asynccontextmanager
    async def hold(self, worker: Worker, place: str, *, is_begun: bool) -> AsyncIterator[None]:
        """Have a folder written by one at a time: a worktree, or the checkout without git.

        There Denied refuses who comes while another writes, unless the turn `is_begun` already.
        Who comes first is first, so that after a crash running turns keep what they had.
        """
        if not may_write(worker.tools):
            yield
            return
        async with self._looking:
            with _telling(worker):
                is_git = await self._worktrees.is_git()
        if is_git:
            async with self._worktrees.lock(place or worker.id):
                yield
            return
        if self._writer and not is_begun:
            raise _is_taken(worker.id, self._worktrees.root, self._writer)
        async with self._worktrees.lock(""):
            self._writer = worker.id
            try:
                yield
            finally:
                self._writer = ""

    async def branch(self, worker: Worker) -> str:
        """Name the branch that holds work of a worker which the user's branches lack, else ""."""
        with contextlib.suppress(AmiralError):
            if may_write(worker.tools) and await self._worktrees.is_git():
                worktree = await self._worktrees.find(worker.id)
                if worktree is not None and await self._worktrees.work.is_touched(worktree):
                    return worktree.branch
        return ""


def _is_taken(worker: str, root: Path, writer: str) -> Denied:
    return Denied(
        f"{worker} cannot write in {root} while {writer} does: without git it would see half of it",
        "have each write in a worktree of its own: git init && git add -A && git commit; or leave "
        "one of them only tools that read; or wait",
    )


@contextlib.contextmanager
def _telling(worker: Worker) -> Iterator[None]:
    """What git refuses once it refuses again: the message is given up, and says why."""
    try:
        yield
    except Broken as error:
        reason = f"no place to work for {worker.id}: {error.message}"
        raise NotFound(reason, error.next_step) from error
