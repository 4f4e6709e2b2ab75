"""Permission requests: look at what waits for the owner, allow it once, deny it."""

from amiral.agents.approval import Approval, State
from amiral.base.clock import iso_utc
from amiral.commands.registry import Caller, Reply, command
from amiral.safety.approval import card, what
from amiral.safety.approvals import Approvals


class ApprovalCommands:
    """`approvals`, `approve-request ID [allow|deny]`."""

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals

    @command("approvals")
    async def approvals(self, caller: Caller) -> Reply:
        """List the requests that wait, each with what it would do."""
        waiting = self._approvals.waiting()
        text = "\n\n".join(self._card(approval, caller) for approval in waiting)
        data = {"approvals": [document(approval) for approval in waiting]}
        return Reply(text or "✓ no request waits for you", data)

    @command("approve-request")
    async def approve_request(
        self,
        caller: Caller,
        id: str,  # noqa: A002 - the table's name
        answer: str = "",
        reason: str = "",
        digest: str = "",
    ) -> Reply:
        """Allow or deny a request, once; without an answer, show it."""
        if not answer:
            return self._show(caller, id)
        approval = await self._approvals.answer(
            id, allow=answer == "allow", by=caller.id, reason=reason, digest=digest
        )
        mark = "✓" if approval.state is State.ALLOWED else "✗"
        text = f"{mark} {approval.state} {approval.id} · {what(approval)}"
        return Reply(text, document(approval))

    def _show(self, caller: Caller, typed: str) -> Reply:
        approval = self._approvals.find(typed)
        if approval.is_waiting:
            return Reply(self._card(approval, caller), document(approval))
        return Reply(self._approvals.outcome(approval), document(approval))

    def _card(self, approval: Approval, caller: Caller) -> str:
        return card(approval, self._approvals.now_ms(), is_chat=caller.is_chatting)


def document(approval: Approval) -> dict[str, object]:
    """Give the JSON of a request."""
    return {
        "id": approval.id,
        "state": approval.state,
        "worker": approval.worker,
        "message_id": approval.message,
        "turn_id": approval.turn,
        "tool": approval.tool,
        "summary": approval.summary,
        "preview": approval.preview,
        "digest": approval.digest,
        "why": approval.why,
        "asked_at": iso_utc(approval.asked_ms),
        "expires_at": iso_utc(approval.expires_ms),
        "by": approval.by,
        "reason": approval.reason,
        "ended_at": iso_utc(approval.ended_ms) if approval.ended_ms else "",
    }
