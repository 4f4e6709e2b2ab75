"""Pure: what came from a chat, in words of our own, whatever service carried it."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class Spot:
    """Where something is said: an account, a chat of it, a thread in that ("" outside of any)."""

    account: str
    chat: str
    thread: str = ""

    @property
    def lane(self) -> str:
        """Names the order it belongs to: what comes here is dealt with one after the other."""
        return f"{self.chat}/{self.thread}"


class Kind(StrEnum):
    """MESSAGE and TAP may ask for something; the others are facts, and never act."""

    MESSAGE = "message"
    TAP = "tap"
    EDITED = "edited"
    JOINED = "joined"
    OTHER = "other"


@dataclass(frozen=True)
class Person:
    """Who wrote, by the service's own number: `telegram:123`. Names are for people alone."""

    id: str
    name: str = ""
    is_real: bool = True


@dataclass(frozen=True)
class Quoted:
    """What a message replies to, as its service told it; `part` is what the writer chose of it.

    `bot` is the account of the bot that said it, "" when a person did.
    """

    id: str = ""
    text: str = ""
    part: str = ""
    sent_ms: int = 0
    sender: str = ""
    is_elsewhere: bool = False
    bot: str = ""


@dataclass(frozen=True)
class Attachment:
    """A file that came along, not fetched yet; `size` in bytes, 0 when unknown."""

    kind: str
    ref: str
    name: str = ""
    size: int = 0
    type: str = ""


@dataclass(frozen=True)
class Incoming:
    """One update. `tap` is what a pressed button carries; `album` joins what was sent together."""

    kind: Kind
    spot: Spot
    person: Person
    id: str = ""
    sent_ms: int = 0
    text: str = ""
    quoted: Quoted | None = None
    attachments: tuple[Attachment, ...] = ()
    album: str = ""
    tap: str = ""
    tap_query: str = ""
    is_forwarded: bool = False
    is_private: bool = False
    language: str = ""
