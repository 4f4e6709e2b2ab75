"""Pure: facts about sessions of agent CLIs and their output."""

from dataclasses import dataclass

from amiral.base.event import Event, Position


@dataclass(frozen=True)
class SessionOpened(Event):
    """A CLI session is about to be started under the shim at `socket`.

    `seat` is a digest of what the CLI is started with: when it changes, the next turn starts anew.
    `writes` tells whether it has any tool that is not known to be harmless.
    """

    session: str
    worker: str
    conversation: str
    driver: str
    cwd: str
    socket: str
    seat: str
    resume_key: str = ""
    fresh_key: str = ""
    writes: bool = True


@dataclass(frozen=True)
class SessionLaunched(Event):
    """The CLI runs under its shim."""

    session: str
    worker: str
    pid: int
    cli_version: str = ""


@dataclass(frozen=True)
class SessionIdObserved(Event):
    """The CLI named a session id of its own; kept apart from the key we resume with (R17)."""

    session: str
    worker: str
    position: Position
    observed: str


@dataclass(frozen=True)
class ResumeKeyProved(Event):
    """A final event, or the CLI's transcript, proved the key that resumes a conversation."""

    conversation: str
    driver: str
    key: str
    session: str
    cwd: str


@dataclass(frozen=True)
class ContextLost(Event):
    """The CLI no longer knows the session we wanted to resume; never a silent fresh start (R17)."""

    conversation: str
    worker: str
    driver: str
    key: str
    reason: str


@dataclass(frozen=True)
class SessionEnded(Event):
    """The CLI is gone. `exit_code` is negative for a signal, None when unknown."""

    session: str
    worker: str
    reason: str
    exit_code: int | None = None


@dataclass(frozen=True)
class OutputOversized(Event):
    """One line of output was over the cap: size and hash kept, reading went on (R01)."""

    session: str
    worker: str
    position: Position
    size: int
    sha256: str


@dataclass(frozen=True)
class NoiseRead(Event):
    """A line that is no event of the CLI's protocol, kept and never fatal (R08)."""

    session: str
    worker: str
    position: Position
    text: str


@dataclass(frozen=True)
class OutputRead(Event):
    """Output was folded up to `position`; `state` is the driver's snapshot there, as JSON."""

    session: str
    position: Position
    state: str = ""


@dataclass(frozen=True)
class LimitNoted(Event):
    """The CLI told how full a rate-limit window is, before it is reached."""

    worker: str
    session: str
    position: Position
    window: str
    utilization: float
    resets_at_ms: int | None = None


@dataclass(frozen=True)
class ServiceRetried(Event):
    """The CLI waits by itself after an error of its service."""

    worker: str
    session: str
    position: Position
    error: str
    delay_ms: int
