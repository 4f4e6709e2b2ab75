"""Pure: a conversation is the logical thread between two parties, whatever session carries it."""

from dataclasses import dataclass

OWNER = "owner"


@dataclass(frozen=True)
class Utterance:
    """One thing said in a conversation, at `ts_ms`, by `speaker` (a worker or a person)."""

    seq: int
    ts_ms: int
    conversation: str
    speaker: str
    message: str
    text: str
    outcome: str


@dataclass(frozen=True)
class Conversation:
    """What a list of conversations shows of one: how long it is and when it was last used."""

    id: str
    count: int
    last_ms: int


def pair(one: str, other: str) -> str:
    """Name the conversation of two parties: the same whoever speaks first (spec/layout.md)."""
    return "-".join(sorted((one, other)))
