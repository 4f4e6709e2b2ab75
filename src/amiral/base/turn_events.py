"""Pure: facts about messages and the turns that answer them."""

from dataclasses import dataclass

from amiral.base.event import Event, Position


@dataclass(frozen=True)
class MessageQueued(Event):
    """A message was accepted: from here on it is never lost (P01).

    `place` names the worktree its turn works in, "" the worker's own place. `quoted` is what it
    replies to, with who said that and when (0: unknown): data, never an order.
    """

    message: str
    worker: str
    conversation: str
    text: str
    sender: str
    surface: str = "console"
    reply_to: str = ""
    place: str = ""
    quoted: str = ""
    quoted_by: str = ""
    quoted_ms: int = 0


@dataclass(frozen=True)
class MessageReturned(Event):
    """A message proved never to have reached its CLI went back to the head of its queue (R41)."""

    message: str
    worker: str
    reason: str


@dataclass(frozen=True)
class MessageCancelled(Event):
    """A person took a waiting message back."""

    message: str
    worker: str
    reason: str


@dataclass(frozen=True)
class TurnStarted(Event):
    """A message is about to be written to a session under the input id `line`."""

    turn: str
    message: str
    worker: str
    session: str
    line: str


@dataclass(frozen=True)
class MessageSeen(Event):
    """The CLI proved that it has read the message."""

    turn: str
    message: str
    worker: str
    session: str
    position: Position


@dataclass(frozen=True)
class WorkerSaid(Event):
    """The worker wrote a piece of text."""

    turn: str
    worker: str
    session: str
    position: Position
    text: str


@dataclass(frozen=True)
class ToolUsed(Event):
    """The worker called a tool; `summary` is one line for people."""

    turn: str
    worker: str
    session: str
    position: Position
    tool: str
    summary: str = ""


@dataclass(frozen=True)
class ToolRefused(Event):
    """The CLI itself refused a tool call."""

    turn: str
    worker: str
    session: str
    position: Position
    tool: str
    reason: str = ""


@dataclass(frozen=True)
class PermissionAsked(Event):
    """The CLI asked whether the worker may use a tool."""

    turn: str
    worker: str
    session: str
    position: Position
    ask: str
    tool: str
    summary: str = ""


@dataclass(frozen=True)
class PermissionAnswered(Event):
    """The question with this `digest` was answered at once; `reason`: what the worker was told."""

    turn: str
    worker: str
    session: str
    position: Position
    ask: str
    allowed: bool
    reason: str = ""
    digest: str = ""


@dataclass(frozen=True)
class ApprovalAsked(Event):
    """A question was put before the owner as `approval`: the worker waits for the answer.

    `preview` is what would be done, with every character visible; `digest` the SHA-256 of tool and
    arguments; `why` the rule that asks; at `expires_ms` it is denied.
    """

    approval: str
    message: str
    turn: str
    worker: str
    session: str
    ask: str
    tool: str
    summary: str
    preview: str
    digest: str
    why: str
    expires_ms: int


@dataclass(frozen=True)
class ApprovalAnswered(Event):
    """A person (`by` of the event) allowed or denied what was asked, once; `reason` is theirs."""

    approval: str
    turn: str
    worker: str
    allowed: bool
    reason: str = ""


@dataclass(frozen=True)
class ApprovalExpired(Event):
    """Nobody answered in time: denied."""

    approval: str
    turn: str
    worker: str


@dataclass(frozen=True)
class ApprovalWithdrawn(Event):
    """The CLI itself took its question back: nobody has to answer it any more."""

    approval: str
    turn: str
    worker: str


@dataclass(frozen=True)
class ApprovalVoided(Event):
    """What was asked cannot be answered any more: its turn has ended, or the request changed."""

    approval: str
    turn: str
    worker: str
    reason: str


@dataclass(frozen=True)
class TurnParked(Event):
    """The turn hit a rate limit: it waits, it has not ended. The message goes on when resumed."""

    turn: str
    message: str
    worker: str
    session: str
    position: Position
    window: str
    resets_at_ms: int | None
    source: str
    text: str = ""


@dataclass(frozen=True)
class ResumeOrdered(Event):
    """The parked turn of a worker shall go on; `by_hand` when a person said so."""

    turn: str
    message: str
    worker: str
    by_hand: bool = True


@dataclass(frozen=True)
class InterruptOrdered(Event):
    """A message being answered shall end: interrupted, or cancelled when it was taken back (P10).

    `turn` is "" when its turn is only about to begin.
    """

    turn: str
    message: str
    worker: str
    outcome: str
    reason: str


@dataclass(frozen=True)
class TurnResumed(Event):
    """A parked turn goes on: the short resume prompt is about to be written under the id `line`."""

    turn: str
    message: str
    worker: str
    session: str
    line: str


@dataclass(frozen=True)
class TurnEnded(Event):
    """The turn is over.

    `outcome`: done, failed, interrupted, cancelled, stopped, timed_out or unsure (delivery of the
    message could not be proved either way; it is never sent again blindly).
    """

    turn: str
    message: str
    worker: str
    session: str
    position: Position
    outcome: str
    text: str = ""
    reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
