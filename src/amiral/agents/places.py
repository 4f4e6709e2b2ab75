"""In which folder a worker works: a worktree of its own if it writes, else the checkout."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from amiral.agents.worker import ALL_TOOLS, Worker
from amiral.projects.worktrees import Worktrees

_READING = frozenset({"Read", "Glob", "Grep", "LS", "WebSearch", "WebFetch", "TodoWrite"})


def may_write(worker: Worker) -> bool:
    """Tell whether a worker has any tool that is not known to be harmless."""
    return worker.tools == ALL_TOOLS or not _READING.issuperset(worker.tools)


class Places:
    """The folders of one project."""

    def __init__(self, worktrees: Worktrees) -> None:
        self._worktrees = worktrees
        self._checkout = asyncio.Lock()

    async def prepare(self, worker: Worker, place: str) -> Path:
        """Give the folder for a turn, made when missing: worktree `place`, else the worker's own.

        A reading worker without a `place` gets the checkout; so does a writing one where there is
        no git. Conflict when the repository has no commit to branch from.
        """
        if not place and not may_write(worker):
            return self._worktrees.root
        if not await self._worktrees.is_git():
            return self._worktrees.root
        worktree = await self._worktrees.ensure(place or worker.id)
        await self._worktrees.freshen(worktree)
        return worktree.folder

    @asynccontextmanager
    async def hold(self, worker: Worker) -> AsyncIterator[None]:
        """Have one writer at a time where all of them work in the same folder."""
        if may_write(worker) and not await self._worktrees.is_git():
            async with self._checkout:
                yield
        else:
            yield
