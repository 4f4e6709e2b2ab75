"""Pure: facts about chats: what came in, what is to be said there, how far the saying is.

`account` names one bot of one service (`telegram:123456`); `chat`, `thread` and `id` are the
service's own names as text, `thread` "" outside of any.
"""

from dataclasses import dataclass

from amiral.base.event import Event


@dataclass(frozen=True)
class ChatUpdateTaken(Event):
    """An update is kept as it came (`raw`, JSON) before its service may forget it.

    `number` names it for ever on its account; `lane` is the place whose order it belongs to.
    """

    account: str
    number: str
    lane: str
    raw: str


@dataclass(frozen=True)
class ChatUpdateDone(Event):
    """All that an update asks for is on record."""

    account: str
    number: str


@dataclass(frozen=True)
class ChatUpdateFailed(Event):
    """Handling an update failed; `is_dead` when it is not tried again."""

    account: str
    number: str
    error: str
    is_dead: bool


@dataclass(frozen=True)
class ChatHeard(Event):
    """A person's message as it was read; `message` is the one queued for `worker`, "" when none."""

    account: str
    chat: str
    thread: str
    id: str
    sender: str
    name: str
    text: str
    sent_ms: int
    message: str = ""
    worker: str = ""


@dataclass(frozen=True)
class ChatReplyDue(Event):
    """Something is to be said in a chat, once for each `key`.

    `message` is the one it answers: its text comes when the answer does. `buttons` is JSON: rows of
    `[label, tap]`. `cause` is the place in the journal of what it tells.
    """

    key: str
    account: str
    chat: str
    thread: str
    reply_to: str = ""
    text: str = ""
    message: str = ""
    buttons: str = "[]"
    cause: int = 0


@dataclass(frozen=True)
class ChatReplyChanged(Event):
    """What was said, or is about to be, shall read like this instead."""

    key: str
    text: str
    buttons: str = "[]"


@dataclass(frozen=True)
class ChatPartSending(Event):
    """A part of a reply is about to be sent; with no word on how it went, nobody knows."""

    key: str
    part: int


@dataclass(frozen=True)
class ChatPartSent(Event):
    """A part stands in the chat as the service's message `id`, not yet with its text."""

    key: str
    part: int
    id: str


@dataclass(frozen=True)
class ChatPartUnknown(Event):
    """Whether a part was sent cannot be known: what stood in it was no answer yet."""

    key: str
    part: int


@dataclass(frozen=True)
class ChatReplyShown(Event):
    """The reply can be read as it should, in `parts` messages; `digest` is of what was shown."""

    key: str
    parts: int
    digest: str


@dataclass(frozen=True)
class ChatReplyFailed(Event):
    """A reply cannot be said; `is_dead`: never, else not before `not_before_ms`."""

    key: str
    error: str
    is_dead: bool
    not_before_ms: int = 0


@dataclass(frozen=True)
class ChatMoved(Event):
    """A chat goes on under another name, with all that is to be said in it."""

    account: str
    chat: str
    to: str


@dataclass(frozen=True)
class ChatThreadGone(Event):
    """A thread of a chat is no more: what was to be said in it is said outside."""

    account: str
    chat: str
    thread: str


@dataclass(frozen=True)
class TapOffered(Event):
    """A button was offered: pressed once, before `expires_ms`, it does `action`, a chat command.

    `tap` is a nonce, `person` who alone may press it ("" whoever may do that at all), `digest` what
    it was shown with.
    """

    tap: str
    action: str
    key: str
    person: str
    digest: str
    expires_ms: int


@dataclass(frozen=True)
class TapUsed(Event):
    """A button was pressed, by the update `number`: it does nothing a second time."""

    tap: str
    number: str
    person: str
