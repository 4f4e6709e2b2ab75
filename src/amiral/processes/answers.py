"""What a shim says to its owner: the answers and notices of docs/reference/sessions.md, typed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from amiral.processes.fence import Fence
from amiral.processes.session_files import Exit

Position = tuple[int, int]
InputState = Literal["unknown", "recorded", "written"]
Delivery = Literal["written", "unsure", "gone"]


@dataclass(frozen=True)
class Hello:
    """What a shim says of itself; `out` is where the next byte of output goes."""

    protocol: int
    pid: int
    session: str | None
    state: Literal["idle", "running", "ended"]
    writer: bool
    token: int
    out: Position | None
    exit: Exit | None


@dataclass(frozen=True)
class Order:
    """What to launch: nothing is inherited. `dir` is the session's folder, new or empty.

    With a fence the CLI runs behind it or not at all; without one, as the system has it.
    """

    session: str
    dir: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    tag: str
    fence: Fence | None = None


@dataclass(frozen=True)
class Launched:
    """The CLI runs: its pid, the kernel's start time of it, its cgroup if there is one."""

    pid: int
    start: int
    cgroup: str | None


@dataclass(frozen=True)
class OutputGrew:
    """There is output up to `at`."""

    at: Position


@dataclass(frozen=True)
class Exited:
    """The CLI has ended and `exit.json` is on disk."""

    code: int | None
    signal: int | None


@dataclass(frozen=True)
class Fenced:
    """A newer owner took over: this link may only read from now on."""

    token: int


@dataclass(frozen=True)
class DiskFull:
    """Output cannot be stored: the CLI waits, nothing is lost, the shim tries again by itself."""

    message: str


@dataclass(frozen=True)
class Lost:
    """The connection is gone, by the shim's end or ours; the last notice of a link."""


Notice = OutputGrew | Exited | Fenced | DiskFull | Lost

_NOTICES: dict[str, type[Notice]] = {
    "out": OutputGrew,
    "exit": Exited,
    "fenced": Fenced,
    "disk_full": DiskFull,
}


def notice_of(heard: Mapping[str, Any]) -> Notice | None:
    """Read a notice; None for one that only newer owners know."""
    kind = _NOTICES.get(heard["notice"])
    if kind is None:
        return None
    notice: Notice = msgspec.convert(heard, kind)
    return notice
