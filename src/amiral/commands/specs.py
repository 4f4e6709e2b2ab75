"""Specs: look at them, approve, reject, have them revised or carried out again (S0.9-S0.11)."""

import re
from collections.abc import Sequence

from amiral.agents.inbox import Inbox
from amiral.agents.roster import Roster
from amiral.base import events as ev
from amiral.base.errors import Invalid
from amiral.base.ids import new_id
from amiral.base.plain import one_line
from amiral.commands.registry import Caller, Reply, command
from amiral.specs import card, rows
from amiral.specs.block import render_block
from amiral.specs.document import document
from amiral.specs.spec import Spec
from amiral.specs.store import Specs
from amiral.specs.transition import Wish
from amiral.store.journal import Journal

_REVISION = re.compile("[0-9]{1,9}")


class SpecCommands:
    """`specs`, `spec show`, `approve`, `reject`, `spec revise`, `spec run`."""

    def __init__(self, specs: Specs, journal: Journal, inbox: Inbox, roster: Roster) -> None:
        self._specs, self._journal = specs, journal
        self._inbox, self._roster = inbox, roster

    @command("specs")
    async def specs(self, caller: Caller) -> Reply:
        """List all specs with their state."""
        del caller
        return _list(rows.every(self._journal.rows), "no spec yet: ask the consultant for one")

    @command("spec show")
    async def show(self, caller: Caller, id: str) -> Reply:  # noqa: A002 - the table's name
        """Show one spec in full."""
        spec = rows.named(self._journal.rows, id)
        return Reply(card.in_full(spec, is_chat=caller.is_chatting), document(spec))

    @command("approve")
    async def approve(self, caller: Caller, id: str = "") -> Reply:  # noqa: A002
        """Approve a spec, `ID.N` only in revision N; without ID, list what waits."""
        if not id:
            return self._waiting()
        spec_id, revision = _parted(id)
        spec = await self._specs.approve(spec_id, caller.id, revision)
        return _told("✓ approved", spec)

    @command("reject")
    async def reject(self, caller: Caller, id: str = "", reason: str = "") -> Reply:  # noqa: A002
        """Reject a spec, or take its approval back; without ID, list what waits."""
        if not id:
            return self._waiting()
        spec = await self._specs.reject(_parted(id)[0], caller.id, reason)
        return _told("✗ rejected", spec)

    @command("spec revise")
    async def revise(self, caller: Caller, id: str, reason: str = "") -> Reply:  # noqa: A002
        """Reject a spec if it is not yet, and ask its author for another revision."""
        spec_id = _parted(id)[0]
        self._inbox.check_brake()
        self._roster.find(self._specs.check(spec_id, Wish.SEND_BACK).author)
        spec = await self._specs.send_back(spec_id, caller.id, reason)
        await self._inbox.post(
            ev.MessageQueued(
                message=new_id(),
                worker=spec.author,
                conversation=spec.conversation,
                text=_request(spec, reason or spec.reason),
                sender=caller.id,
                surface=caller.surface,
                reply_to=spec.id,
            )
        )
        return _told(f"⏳ {spec.author} writes it again ·", spec)

    @command("spec run")
    async def run(self, caller: Caller, id: str) -> Reply:  # noqa: A002 - the table's name
        """Carry a spec out again whose last attempt failed."""
        spec = await self._specs.run_again(_parted(id)[0], caller.id)
        return _told("⏳ in the queue again ·", spec)

    def _waiting(self) -> Reply:
        return _list(rows.drafts(self._journal.rows), "✓ no spec waits for you")


def _list(specs: Sequence[Spec], empty: str) -> Reply:
    text = "\n".join(map(card.line, specs))
    return Reply(text or empty, [document(spec) for spec in specs])


def _told(what: str, spec: Spec) -> Reply:
    return Reply(f"{what} {spec.id} · {one_line(spec.title, 80)}", document(spec))


def _parted(typed: str) -> tuple[str, int]:
    """Part `a1b2c3d4.2` into id and revision, 0 when none is named."""
    spec_id, dot, revision = typed.partition(".")
    if dot and not _REVISION.fullmatch(revision):
        raise Invalid(f"{one_line(typed, 40)!r} is no spec", "write its id, or id.revision")
    return spec_id, int(revision or 0)


def _request(spec: Spec, reason: str) -> str:
    why = f": {reason}" if reason else "."
    return (
        f"Spec {spec.id} comes back to you{why}\n"
        "Write it again as one SPEC block and keep its line `revises`. It was:\n\n"
        f"{render_block(spec.content())}"
    )
