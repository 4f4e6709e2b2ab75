"""Puts every permission request before who may answer it, with buttons, and says how it ended."""

from collections.abc import Callable, Collection

from amiral.agents.approval import Approval
from amiral.base import events as ev
from amiral.base.clock import Clock
from amiral.chats import rows
from amiral.chats.taps import Choice, Taps
from amiral.safety.approval import card
from amiral.safety.approvals import Approvals
from amiral.store.journal import Journal

_CHANGES = (
    *(ev.ApprovalAsked, ev.ApprovalAnswered, ev.ApprovalExpired),
    *(ev.ApprovalVoided, ev.ApprovalWithdrawn),
)


class Requests:
    """The requests of one project in the chats of one account; only `owners` are told of any."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        account: str,
        approvals: Approvals,
        owners: Callable[[], Collection[str]],
    ) -> None:
        self._journal, self._account = journal, account
        self._approvals, self._owners = approvals, owners
        self._taps = Taps(journal, clock)

    async def run(self) -> None:
        """Tell what waits and what comes, for ever."""
        seq = self._journal.last_seq
        await self._tell()
        async for batch in self._journal.batches(seq):
            if any(isinstance(one.event, _CHANGES) for one in batch):
                await self._tell()

    async def _tell(self) -> None:
        """Compare what should stand in the chats with what does: nothing is told twice."""
        read, begin = self._journal.rows, f"request:{self._account}:"
        for approval in self._approvals.waiting():
            for chat, thread in self._places(approval.message):
                key = f"{begin}{chat}:{approval.id}"
                if rows.find_reply(read, key) is None:
                    await self._ask(approval, key, chat, thread)
        for key in rows.with_buttons(read, begin):
            approval = self._approvals.find(key.rpartition(":")[2])
            if not approval.is_waiting:
                ended = ev.ChatReplyChanged(key, self._approvals.outcome(approval))
                await self._journal.append(ended)

    async def _ask(self, approval: Approval, key: str, chat: str, thread: str) -> None:
        """The buttons are bound to what is shown: another content needs another answer."""
        choices = [
            Choice(label, f"/approve_request {approval.id} {answer} --digest={approval.digest}")
            for label, answer in (("✓ Allow", "allow"), ("✗ Deny", "deny"))
        ]
        offered, buttons = self._taps.offer(choices, key, digest=approval.digest)
        text = card(approval, self._approvals.now_ms(), is_chat=True)
        due = ev.ChatReplyDue(
            *(key, self._account, chat, thread),
            text=f"```\n{text}\n```",
            buttons=rows.dump_buttons([buttons]),
        )
        await self._journal.append(*offered, due)

    def _places(self, message: str) -> list[tuple[str, str]]:
        """Where a request is told: where an owner sent its message from, else every owner's own."""
        read, owners = self._journal.rows, sorted(self._owners())
        sent = read("select sender from inbox where message = ?", message)
        is_owners = bool(sent) and sent[0][0] in owners
        found = rows.places_of(read, self._account, message) if is_owners else []
        service = self._account.partition(":")[0]
        # A private chat has the number of the person it is with.
        return found or [(one.partition(":")[2], "") for one in owners if one.startswith(service)]
