"""Pure: what a message replies to, from whoever knows it best."""

from dataclasses import dataclass

from amiral.base.plain import plain
from amiral.chats.incoming import Quoted

_LONGEST = 3000


@dataclass(frozen=True)
class Known:
    """A message of a chat that is on record. One of ours answers `message`, or has a `text`."""

    text: str
    name: str
    sent_ms: int
    message: str
    worker: str
    is_ours: bool


@dataclass(frozen=True)
class Quotation:
    """Words for a prompt: who said them and when (epoch ms, 0 when unknown)."""

    text: str
    by: str
    sent_ms: int


def quotation(quoted: Quoted, known: Known | None, text: str) -> Quotation | None:
    """Choose: the part the writer chose, then our own record (`text`), then the service's copy.

    None when nobody knows any of it.
    """
    chosen = plain(quoted.part or text or quoted.text).strip()
    if not chosen:
        return None
    by = (known.name if known else "") or quoted.sender
    return Quotation(chosen[:_LONGEST], by, known.sent_ms if known else quoted.sent_ms)
