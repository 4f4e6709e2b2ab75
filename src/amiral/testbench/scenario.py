"""Pure: a scenario: what a scripted worker, or a scripted model, does at each model call.

docs/reference/scenario.md is the format; `scenario_yaml.parse_scenario` reads it.
"""

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

TOOLS: Mapping[str, tuple[str, ...]] = {
    "write": ("path", "text"),
    "edit": ("path", "old", "new"),
    "read": ("path",),
    "bash": ("command",),
}
"""Each tool a scenario can use, with its arguments: all of them are needed, all are texts."""


@dataclass(frozen=True)
class Say:
    """Text of the answer, in pieces of `chunk` characters (0: whole), `pause_ms` between two."""

    text: str
    chunk: int = 0
    pause_ms: int = 0

    def pieces(self) -> Iterator[str]:
        """Cut the text; the pieces joined are the text."""
        size = self.chunk or len(self.text)
        return (self.text[at : at + size] for at in range(0, len(self.text), size or 1))


@dataclass(frozen=True)
class Use:
    """A tool call: a name of `TOOLS` and its arguments."""

    tool: str
    args: Mapping[str, str]


@dataclass(frozen=True)
class Ask:
    """A question to another worker, through the MCP tools of amiral."""

    worker: str
    text: str


@dataclass(frozen=True)
class Limit:
    """The account's window is full (`utilization` 1), or filling (below 1: only a warning)."""

    window: str
    resets_in_s: int | None = None
    utilization: float = 1.0

    @property
    def is_reached(self) -> bool:
        """Tell a limit from a warning."""
        return self.utilization >= 1.0


@dataclass(frozen=True)
class Error:
    """The model's service answers with this HTTP status."""

    status: int


@dataclass(frozen=True)
class Hang:
    """Nothing happens for so long, then the turn goes on."""

    seconds: float


@dataclass(frozen=True)
class Raw:
    """Exact bytes, cut at the offsets `split`, written `times` times to stdout or stderr."""

    data: bytes
    split: tuple[int, ...] = ()
    pause_ms: int = 5
    times: int = 1
    to: str = "stdout"

    def pieces(self) -> Iterator[bytes]:
        """Cut the bytes; the pieces joined are the bytes."""
        cuts = (0, *self.split, len(self.data))
        return (self.data[a:b] for a, b in pairwise(cuts))


@dataclass(frozen=True)
class Process:
    """What the worker's process does as a process.

    `fork`: "", setsid or double (a child in its own session; double also loses its parent), which
    lives `lives_s` seconds and keeps stdout open when `hold_stdout`. `ignore`: signal names without
    SIG, ignored from here on, by the child too. `exit`: the code it exits with when the turn is
    over, None to stay.
    """

    fork: str = ""
    ignore: tuple[str, ...] = ()
    hold_stdout: bool = False
    lives_s: int = 600
    exit: int | None = None


@dataclass(frozen=True)
class Turn:
    """One model call. The parts that are there happen in the order of the fields.

    `say` holds the SPEC block of a turn with `spec` already. `match` is a regular expression, ""
    fits all.
    """

    match: str = ""
    process: Process | None = None
    raw: Raw | None = None
    hang: Hang | None = None
    error: Error | None = None
    say: Say | None = None
    limit: Limit | None = None
    use: Use | None = None
    ask: Ask | None = None

    @property
    def text(self) -> str:
        """All that is said."""
        return self.say.text if self.say else ""

    @property
    def goes_on(self) -> bool:
        """Tell that the next turn is for the same message: after a tool, or a failed call."""
        return self.use is not None or self.ask is not None or self.error is not None

    @property
    def is_final(self) -> bool:
        """Tell that the message is answered with this turn.

        Not when it goes on, nor when all it does is raw bytes or an exit.
        """
        if self.goes_on:
            return False
        has_end = self.raw is not None or (
            self.process is not None and self.process.exit is not None
        )
        return self.say is not None or self.limit is not None or not has_end

    def fits(self, text: str) -> bool:
        """Tell whether `match` is found in the last text of the user."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.search(self.match, text) is not None


@dataclass(frozen=True)
class Scenario:
    """The turns in order (a repeated one stands there as often), and what to do when none fits."""

    turns: tuple[Turn, ...] = ()
    default: Turn = field(default_factory=lambda: Turn(say=Say("ok")))

    def next_turn(self, text: str, used: tuple[int, ...] = ()) -> tuple[Turn, tuple[int, ...]]:
        """Pick the turn for a model call whose last user text is `text`.

        The first turn not yet used whose `match` fits; the default when there is none. `used` are
        the numbers of the turns taken so far, from 0, in the order they were taken; a new
        conversation has ().
        """
        for number, turn in enumerate(self.turns):
            if number not in used and turn.fits(text):
                return turn, (*used, number)
        return self.default, used
