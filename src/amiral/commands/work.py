"""What workers left in their worktrees: look at it, take it, or throw it away."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from amiral.agents import rows as turns
from amiral.base.errors import Conflict, NotFound
from amiral.base.plain import one_line
from amiral.commands.registry import Caller, Reply, command
from amiral.projects.work import Worktree
from amiral.projects.worktrees import Worktrees
from amiral.specs import rows
from amiral.specs.spec import Spec, Status
from amiral.specs.store import Specs
from amiral.specs.transition import Wish
from amiral.store.journal import Journal


class WorkCommands:
    """`diff`, `merge`, `discard`, of a spec or of a worker's own worktree.

    `vacate` ends the idle sessions in a folder.
    """

    def __init__(
        self,
        worktrees: Worktrees,
        specs: Specs,
        journal: Journal,
        vacate: Callable[[str], Awaitable[None]],
    ) -> None:
        self._worktrees, self._specs, self._journal = worktrees, specs, journal
        self._vacate = vacate

    @command("diff")
    async def diff(self, caller: Caller, spec_or_worker: str) -> Reply:
        """Show what merging would bring; of a spec that is not done, what there is so far."""
        del caller
        name = spec_or_worker.strip().lower()
        worktree = await self._worktrees.find(name)
        if worktree is None:
            raise _nothing(name)
        spec = rows.find(self._journal.rows, worktree.name)
        is_done = spec is not None and spec.status is Status.DONE
        text = await self._worktrees.work.diff(worktree, only_commits=is_done)
        data = {"name": worktree.name, "branch": worktree.branch, "diff": text}
        return Reply(text or f"✓ {worktree.name}: nothing differs", data)

    @command("merge")
    async def merge(self, caller: Caller, spec_or_worker: str) -> Reply:
        """Take the work into the branch checked out in the project."""
        name = spec_or_worker.strip().lower()
        spec = self._spec(name, Wish.MERGE)
        async with self._alone(name) as worktree:
            if spec is None:
                commit, left = await self._merge_all(worktree), []
            else:
                commit = await self._merge_spec(worktree, spec, caller.id)
                left = await self._worktrees.work.changes(worktree)
        told = f"✓ merged {worktree.branch} as {commit[:12]}"
        told += f" · left out, not committed: {one_line(', '.join(left), 200)}" if left else ""
        data = {"name": worktree.name, "branch": worktree.branch, "commit": commit}
        return Reply(told, data)

    @command("discard")
    async def discard(self, caller: Caller, spec_or_worker: str) -> Reply:
        """Remove worktree and branch; the commit that held the work is named."""
        name = spec_or_worker.strip().lower()
        spec = self._spec(name, Wish.DISCARD)
        if spec is not None and not self._worktrees.is_known(name):
            kept, branch = "", spec.branch
        else:
            async with self._alone(name) as worktree:
                await self._vacate(str(worktree.folder))
                branch, kept = worktree.branch, await self._worktrees.discard(worktree)
        if spec is not None:
            await self._specs.discarded(spec.id, caller.id)
        hint = f"\n  git branch {branch} {kept[:12]} brings it back" if kept else ""
        return Reply(
            f"✓ discarded {branch}{hint}", {"name": name, "branch": branch, "commit": kept}
        )

    async def _merge_all(self, worktree: Worktree) -> str:
        """Take whatever a worker has left."""
        work = self._worktrees.work
        await work.check_whole(worktree)
        await work.stage(worktree)
        tip = await work.commit(worktree, f"Work of {worktree.name}", worktree.name)
        if not await work.own(tip):
            raise Conflict(f"{worktree.name} has nothing to merge", f"amiral diff {worktree.name}")
        return await work.merge(worktree, f"Merge the work of {worktree.name}")

    async def _merge_spec(self, worktree: Worktree, spec: Spec, by: str) -> str:
        """Take what was tested and committed, no more; merged by hand already is merged too."""
        message = f"{spec.title}\n\nFrom {worktree.branch}\n\nSpec: {spec.id}"
        commit = await self._worktrees.work.merge(worktree, message)
        await self._specs.merged(spec.id, commit, by)
        return commit

    def _spec(self, name: str, wish: Wish) -> Spec | None:
        """Find the spec of this name, if it is one's; Conflict when the wish does not fit it."""
        known = rows.find(self._journal.rows, name)
        return None if known is None else self._specs.check(known.id, wish)

    @asynccontextmanager
    async def _alone(self, name: str) -> AsyncIterator[Worktree]:
        """Keep turns out meanwhile; Conflict while one is there, or waits for its limit's end."""
        if not self._worktrees.is_known(name):
            raise _nothing(name)
        here = await self._worktrees.find(name)
        busy = turns.working_in(self._journal.rows, str(here.folder)) if here else ""
        lock = self._worktrees.lock(name)
        if busy or lock.locked():
            raise Conflict(f"{busy or 'a worker'} is working in {name}", "amiral status tells more")
        async with lock:
            yield await self._worktrees.ensure(name)


def _nothing(typed: str) -> NotFound:
    return NotFound(f"no work of {one_line(typed, 40)!r}", "amiral specs; amiral workers")
