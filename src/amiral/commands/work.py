"""What workers left in their worktrees: look at it, take it, or throw it away."""

from amiral.agents import rows as turns
from amiral.base import events as ev
from amiral.base.clock import iso_utc
from amiral.base.errors import Conflict, NotFound
from amiral.base.plain import one_line
from amiral.commands.registry import Caller, Reply, command
from amiral.projects.worktrees import Worktree, Worktrees
from amiral.specs import rows as specs
from amiral.specs.spec import Spec
from amiral.specs.transition import Wish, check
from amiral.store.journal import Journal

_AUTHOR = "amiral"


class WorkCommands:
    """`diff`, `merge`, `discard`, of a spec or of a worker's own worktree."""

    def __init__(self, worktrees: Worktrees, journal: Journal) -> None:
        self._worktrees, self._journal = worktrees, journal

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
        if not await self._worktrees.commit(worktree, f"Work of {worktree.name}", worktree.name):
            raise Conflict(f"{worktree.name} has nothing to merge", f"amiral diff {worktree.name}")
        title = spec.title if spec else f"Merge the work of {worktree.name}"
        commit = await self._worktrees.merge(worktree, f"{title}\n\nFrom {worktree.branch}")
        if spec is not None:
            merged = ev.SpecMerged(spec.id, worktree.branch, commit)
            await self._journal.append(merged, by=caller.id)
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
            discarded = ev.SpecDiscarded(spec.id, f"discarded by {caller.id}")
            await self._journal.append(discarded, by=caller.id)
        hint = f"; git keeps it for some weeks as {kept[:12]}" if kept else ""
        data = {"name": worktree.name, "branch": worktree.branch, "commit": kept}
        return Reply(f"✓ discarded {worktree.branch}{hint}", data)

    async def _named(self, name: str) -> Worktree:
        found = await self._worktrees.find(name.strip().lower())
        if found is None:
            raise NotFound(f"no work of {one_line(name, 40)!r}", "amiral specs; amiral workers")
        return found

    def _spec(self, worktree: Worktree, wish: Wish) -> Spec | None:
        spec = specs.find(self._journal.rows, worktree.name)
        if spec is not None:
            check(spec, wish, iso_utc(spec.since_ms))
        return spec

    def _check_quiet(self, worktree: Worktree) -> None:
        """Refuse while a turn works there."""
        busy = turns.working_in(self._journal.rows, str(worktree.folder))
        if busy:
            raise Conflict(f"{busy} is working in {worktree.name}", f"amiral interrupt {busy}")
