"""What a chat service must be able to do for us; one suite holds every adapter to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from amiral.base.errors import AmiralError
from amiral.chats.incoming import Attachment, Incoming, Spot


@dataclass(frozen=True)
class Button:
    """`label` is what people read, `tap` what comes back when it is pressed (at most 64 bytes)."""

    label: str
    tap: str


Buttons = Sequence[Sequence[Button]]
"""Rows of buttons."""


@dataclass(frozen=True)
class Part:
    """One message of a reply: `text` plain, `marks` the adapter's own way to show it."""

    text: str
    marks: tuple[object, ...] = ()


@dataclass(frozen=True)
class Rendered:
    """A reply as parts to send, with what is too long for them as a document."""

    parts: tuple[Part, ...]
    document: str = ""
    content: bytes = b""


@dataclass(frozen=True)
class Update:
    """One update as it came: `number` is its name for ever, `lane` its order, `raw` JSON."""

    number: str
    lane: str
    raw: str


@dataclass(frozen=True)
class Abilities:
    """What differs. `sends_once`: a send repeated under its key is the same message."""

    sends_once: bool
    has_buttons: bool
    has_edits: bool
    longest_file: int


class Held(AmiralError):
    """The service asks us to wait `seconds`; the format was not at fault."""

    kind = "busy"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the chat service asks for {seconds:g} s of patience")
        self.seconds = seconds


class Unsure(AmiralError):
    """No answer came, or none that can be read: it may have been carried out."""

    kind = "unreachable"


class Rejected(AmiralError):
    """The service refuses this for good, as it is."""

    kind = "refused"


class BadMarks(Rejected):
    """The service cannot read our marks: the same text without them may pass."""


class Gone(Rejected):
    """The message or thread it is about is not there (any more)."""


class Closed(Rejected):
    """We may not write in this chat."""


class Moved(Rejected):
    """The chat goes on under the name `to`."""

    def __init__(self, to: str) -> None:
        super().__init__(f"the chat goes on as {to}")
        self.to = to


class Unchanged(Rejected):
    """It reads like this already."""


class ChatAdapter(Protocol):
    """One account of a chat service. Every call may raise what is named above."""

    account: str
    abilities: Abilities

    def gap_s(self, chat: str) -> float:
        """Tell how many seconds should lie between two calls about a chat, in the long run."""
        ...

    async def introduce(self, commands: Mapping[str, str]) -> str:
        """Offer our commands (names and what they do); gives the name people call us by."""
        ...

    async def updates(self) -> Sequence[Update]:
        """Wait for updates. Those given before are forgotten by the service from here on."""
        ...

    def read(self, raw: str) -> Incoming:
        """Put an update into our words; raises Invalid when it cannot be one."""
        ...

    def render(self, text: str) -> Rendered:
        """Turn a worker's Markdown into parts; never fails, never empty."""
        ...

    async def send(
        self, spot: Spot, part: Part, key: str, *, reply_to: str = "", buttons: Buttons = ()
    ) -> str:
        """Send one message and give its id."""
        ...

    async def edit(self, spot: Spot, id: str, part: Part, *, buttons: Buttons = ()) -> None:  # noqa: A002
        """Have a message of ours read otherwise; doing it twice is doing it once."""
        ...

    async def send_document(self, spot: Spot, name: str, content: bytes, *, reply_to: str) -> str:
        """Send a file and give the message's id."""
        ...

    async def answer_tap(self, query: str, text: str) -> None:
        """Tell who pressed a button that it was heard; best effort."""
        ...

    async def show_typing(self, spot: Spot) -> None:
        """Show that somebody is at work; best effort."""
        ...

    async def fetch(self, attachment: Attachment, folder: Path) -> Path:
        """Store a file that came along under a name of our own."""
        ...
