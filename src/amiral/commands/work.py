"""What workers left in their worktrees: look at it, take it, or throw it away."""

from amiral.agents import rows as turns
from amiral.base.errors import Conflict, NotFound
from amiral.base.plain import one_line
from amiral.commands.registry import Caller, Reply, command
from amiral.projects.worktrees import Worktree, Worktrees
from amiral.specs import rows
from amiral.specs.spec import Spec
from amiral.specs.store import Specs
from amiral.specs.transition import Wish
from amiral.store.journal import Journal


class WorkCommands:
    """`diff`, `merge`, `discard`, of a spec or of a worker's own worktree."""

    def __init__(self, worktrees: Worktrees, specs: Specs, journal: Journal) -> None:
        self._worktrees, self._specs, self._journal = worktrees, specs, journal

    @command("diff")
    async def diff(self, caller: Caller, spec_or_worker: str) -> Reply:
        """Show what differs from the user's branch."""
        del caller
        worktree = await self._named(spec_or_worker)
        text = await self._worktrees.diff(worktree)
        data = {"name": worktree.name, "branch": worktree.branch, "diff": text}
        return Reply(text or f"✓ {worktree.name}: nothing differs", data)

    @command("merge")
    async def merge(self, caller: Caller, spec_or_worker: str) -> Reply:
        """Take the work into the branch checked out in the project."""
        worktree = await self._named(spec_or_worker)
        spec = self._spec(worktree, Wish.MERGE)
        self._check_quiet(worktree)
        await self._worktrees.stage(worktree)
        if not await self._worktrees.commit(worktree, f"Work of {worktree.name}", worktree.name):
            raise Conflict(f"{worktree.name} has nothing to merge", f"amiral diff {worktree.name}")
        title = spec.title if spec else f"Merge the work of {worktree.name}"
        commit = await self._worktrees.merge(worktree, f"{title}\n\nFrom {worktree.branch}")
        if spec is not None:
            await self._specs.merged(spec.id, commit, caller.id)
        data = {"name": worktree.name, "branch": worktree.branch, "commit": commit}
        return Reply(f"✓ merged {worktree.branch} as {commit[:12]}", data)

    @command("discard")
    async def discard(self, caller: Caller, spec_or_worker: str) -> Reply:
        """Remove worktree and branch; the commit that held the work is named."""
        worktree = await self._named(spec_or_worker)
        spec = self._spec(worktree, Wish.DISCARD)
        self._check_quiet(worktree)
        kept = await self._worktrees.discard(worktree)
        if spec is not None:
            await self._specs.discarded(spec.id, caller.id)
        hint = f"; git keeps it for some weeks as {kept[:12]}" if kept else ""
        data = {"name": worktree.name, "branch": worktree.branch, "commit": kept}
        return Reply(f"✓ discarded {worktree.branch}{hint}", data)

    async def _named(self, name: str) -> Worktree:
        found = await self._worktrees.find(name.strip().lower())
        if found is None:
            raise NotFound(f"no work of {one_line(name, 40)!r}", "amiral specs; amiral workers")
        return found

    def _spec(self, worktree: Worktree, wish: Wish) -> Spec | None:
        known = rows.find(self._journal.rows, worktree.name)
        return None if known is None else self._specs.check(known.id, wish)

    def _check_quiet(self, worktree: Worktree) -> None:
        """Refuse while a turn works there."""
        busy = turns.working_in(self._journal.rows, str(worktree.folder))
        if busy:
            raise Conflict(f"{busy} is working in {worktree.name}", f"amiral interrupt {busy}")
