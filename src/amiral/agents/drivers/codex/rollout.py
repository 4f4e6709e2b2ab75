"""Pure: what Codex's own record of a thread, its rollout, proves about a message."""

from collections.abc import Iterable

from amiral.agents.driver import Settlement
from amiral.agents.fields import Fields, read_fields


def settle(lines: Iterable[bytes], message: str, text: str) -> Settlement:
    """Read what became of a message.

    Its text is recorded just before its id, and before the model is asked: with the text alone it
    was received. A turn's end carries the turn's id, so that later turns change nothing.
    """
    turn, proof, is_near, is_torn = "", Settlement("absent"), False, False
    for line in lines:
        entry = read_fields(line)
        is_torn = is_torn or (entry is None and bool(line.strip()))
        record = entry.inner("payload") if entry else Fields({})
        item = record.inner("item")
        is_near = is_near or _says(record, text)
        if item.text("type") == "UserMessage":
            is_near = False
            if item.text("client_id") == message:
                turn, proof = record.text("turn_id"), Settlement("received")
        elif turn and _is_good_end(record, turn):
            proof = Settlement("answered", record.text("last_agent_message"))
    if proof.proof == "absent" and (is_near or is_torn):
        return Settlement("received" if is_near else "unknown")
    return proof


def _says(record: Fields, text: str) -> bool:
    is_message = record.text("type") == "message" and record.text("role") == "user"
    return is_message and [one.text("text") for one in record.items("content")] == [text]


def _is_good_end(record: Fields, turn: str) -> bool:
    is_end = record.text("type") == "task_complete" and record.text("turn_id") == turn
    return is_end and not record.inner("error")
