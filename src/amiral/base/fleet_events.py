"""Pure: facts about the processes of the projects, as the hub that supervises them sees them.

`project` is the project's id, `name` what people call it, `pid` its process.
"""

from dataclasses import dataclass

from amiral.base.event import Event


@dataclass(frozen=True)
class ChildStarted(Event):
    """The hub started a project's process."""

    project: str
    name: str
    pid: int


@dataclass(frozen=True)
class ChildAdopted(Event):
    """A project's process ran already: the hub watches it and starts no second one."""

    project: str
    name: str
    pid: int


@dataclass(frozen=True)
class ChildDied(Event):
    """A project's process died unasked; it is started again in `pause_s` seconds, unless parked."""

    project: str
    name: str
    pid: int
    signature: str
    pause_s: int


@dataclass(frozen=True)
class ChildParked(Event):
    """A project's process is not started again until a person says so (R33)."""

    project: str
    name: str
    reason: str


@dataclass(frozen=True)
class ChildHung(Event):
    """A project's process lives, but neither beats nor answers; only a person ends it (R34)."""

    project: str
    name: str
    pid: int
    silent_s: int
    advice: str


@dataclass(frozen=True)
class ChildEnded(Event):
    """A project's process ended as it was asked to."""

    project: str
    name: str
    pid: int
    reason: str
