"""Pure: facts about a project, its workers and the process that serves it."""

from dataclasses import dataclass, field

from amiral.base.event import Event


@dataclass(frozen=True)
class ProjectProcessStarted(Event):
    """A project process took over; `token` fences out every older one."""

    token: int
    pid: int
    boot_id: str


@dataclass(frozen=True)
class RoleChosen(Event):
    """The active worker of the project changed."""

    worker: str


@dataclass(frozen=True)
class WorkersLoaded(Event):
    """A registry took effect."""

    workers: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class WorkersRefused(Event):
    """A registry could not be read; the last good one stays in force."""

    source: str
    errors: tuple[str, ...]


@dataclass(frozen=True)
class FileTrusted(Event):
    """The owner trusted one file of the project in exactly this content."""

    file: str
    sha256: str


@dataclass(frozen=True)
class BrakeSeen(Event):
    """The project process found a stop or a freeze (`kind`) of `scope` on, or lifted."""

    on: bool
    stop_id: str
    reason: str = ""
    scope: str = "all"
    kind: str = "stop"


@dataclass(frozen=True)
class WarningRaised(Event):
    """Something a person should know that stops nothing: untested CLI version, disk nearly full."""

    subject: str
    text: str
    details: tuple[str, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class WebSessionOpened(Event):
    """A browser has exchanged its one-time code; `token` is the SHA-256 of what it shows."""

    token: str
    expires_ms: int
