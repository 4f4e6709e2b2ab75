"""Pure: what amiral asks of every agent CLI: the Driver protocol, the Launch plan and the Signals.

A driver is a pure state machine of one CLI. It does no I/O: it gives argument lists and lines to
write, and folds lines read into signals. Its state changes in `read` only, so it can be rebuilt by
replaying a session's output alone; every line it wants written has an id, so replaying never
writes twice.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from amiral.agents.needs import Needs
from amiral.permissions.projection import Enforcement, Projection
from amiral.permissions.rules import Permissions

StateT = TypeVar("StateT")


@dataclass(frozen=True)
class Seat:
    """Where and as whom a CLI is started.

    `tools` is "all" or the names of the only tools it may have; `config_home` and `tmp` are this
    worker's own folders; `login` holds the variables that carry its login (never amiral's own
    tokens); `options` is the owner's own configuration of this CLI, in its own words; `resume_key`
    continues a conversation, `fresh_key` (a UUID) names a new one; exactly one of the two is set.
    `enforcement` is how far a fence around the CLI holds its `permissions`; without them none does.
    `git_folders`: what git reads for a linked worktree; `way_out`: the variables of a closed
    network's proxy.
    """

    worker: str
    command: tuple[str, ...]
    cwd: str
    config_home: str
    tmp: str
    model: str
    tools: tuple[str, ...] | str
    max_turns: int
    identity: str
    login: Mapping[str, str]
    resume_key: str = ""
    fresh_key: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    permissions: Permissions | None = None
    enforcement: Enforcement = Enforcement.NONE
    git_folders: tuple[str, ...] = ()
    way_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FileToWrite:
    """A file of the worker's config home that the CLI needs; of one `is_merged` its part stays."""

    path: str
    text: str
    is_merged: bool = False


@dataclass(frozen=True)
class Input:
    """One line for the CLI's stdin, newline included. Writing the same `id` twice writes once."""

    id: str
    data: str


@dataclass(frozen=True)
class Launch:
    """A complete plan for one process: nothing is looked up or guessed after this."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    files: tuple[FileToWrite, ...] = ()
    inputs: tuple[Input, ...] = ()


Entry = Callable[[tuple[str, ...], str, bool], Launch]
"""Takes a CLI's command, the folder its login shall lie in, and whether a person sits at a
terminal (else the login is on stdin); plans the process that logs in."""

Renewal = Callable[[tuple[str, ...], str, bytes, int], Launch | None]
"""Takes a CLI's command, the folder of its login, the content of the login's first file and the
time (epoch ms); plans the process that renews the login there, None when that is not due. It has
done its work when the file has changed."""


@dataclass(frozen=True)
class Login:
    """What carries a CLI's login: any one of the variables, or the files.

    `files` lie in one folder for all workers and are linked into each one's config home; `entry`
    and `renewal` plan how they are made and renewed. With `is_needed` it is not started without.
    """

    variables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    is_needed: bool = False
    entry: Entry | None = None
    renewal: Renewal | None = None


NO_LOGIN = Login()


@dataclass(frozen=True)
class Opened:
    """The CLI told who it is. Fields it does not tell are empty."""

    session_id: str
    version: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """The CLI proved that it read the message with this id ("" when it names none)."""

    message: str


@dataclass(frozen=True)
class Said:
    """Text of the worker, in order, each piece once."""

    text: str


@dataclass(frozen=True)
class Used:
    """A tool call, with a one-line summary of its arguments."""

    tool: str
    summary: str


@dataclass(frozen=True)
class Asked:
    """The CLI waits for a permission. `arguments` is the tool's input as JSON text."""

    ask: str
    tool: str
    summary: str
    arguments: str


@dataclass(frozen=True)
class Withdrawn:
    """The CLI does not wait for the answer of this question any more."""

    ask: str


@dataclass(frozen=True)
class Refused:
    """The CLI itself refused a tool."""

    tool: str
    reason: str


@dataclass(frozen=True)
class Limited:
    """The account is limited now. Unknown reset = None, never a guess (R09)."""

    window: str
    resets_at_ms: int | None
    text: str = ""


@dataclass(frozen=True)
class Nearing:
    """A limit window is filling: `utilization` from 0 to 1."""

    window: str
    utilization: float
    resets_at_ms: int | None


@dataclass(frozen=True)
class Retrying:
    """The CLI waits by itself after an error of its service."""

    error: str
    delay_ms: int


@dataclass(frozen=True)
class Usage:
    """What a turn cost, as the CLI told it."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True)
class Finished:
    """The final event: the only thing that ends a turn well (R06).

    `how`: done, failed, interrupted, limited or context_lost. `resume_key` is "" when the event
    proves none.
    """

    how: str
    text: str
    reason: str = ""
    resume_key: str = ""
    usage: Usage = Usage()


@dataclass(frozen=True)
class Noise:
    """A line that is no event of this CLI, or one this driver does not know."""

    text: str


_Work = Opened | Seen | Said | Used | Asked | Withdrawn | Refused
Signal = _Work | Limited | Nearing | Retrying | Finished | Noise


@dataclass(frozen=True)
class Settlement:
    """What a CLI's own transcript proves about one message after a crash.

    `proof`: absent (the message never arrived: safe to send again), received (it arrived, no final
    answer), answered (`text` is the final answer) or unknown (the transcript proves nothing).
    """

    proof: str
    text: str = ""


@dataclass(frozen=True)
class Read(Generic[StateT]):
    """The result of folding one line."""

    state: StateT
    signals: tuple[Signal, ...] = ()
    inputs: tuple[Input, ...] = ()


class Driver(Protocol[StateT]):
    """All that is known of one CLI, in one place (architecture decision 5).

    `owned` are patterns of files in the config home that it is told by: what matches and is not
    written anew at a launch is removed before it, whoever put it there.
    """

    name: str
    state_type: type[StateT]
    owned: tuple[str, ...]
    needs: Needs

    def version_command(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Give the argument list that prints the CLI's version."""

    def version_of(self, output: str) -> str:
        """Read the version out of that output, "" when it is not there."""

    def warning_for(self, version: str) -> str:
        """Return why this version deserves a warning, "" when it is tested."""

    def login(self, options: Mapping[str, object]) -> Login:
        """Tell what carries its login under these options; an empty one when it needs none."""

    def project(self, seat: Seat) -> Projection:
        """Say the seat's permissions in the CLI's words, never milder; nothing for none (S3.11)."""

    def merged(self, found: str, text: str) -> str:
        """Put `text`, ours of a file that `is_merged`, into what is found there."""

    def open(self, seat: Seat) -> tuple[StateT, Launch]:
        """Plan the process and give the first state."""

    def is_ready(self, state: StateT) -> bool:
        """Tell whether `say` may be called now."""

    def read(self, state: StateT, line: bytes) -> Read[StateT]:
        """Fold one line of stdout (no newline). Total: never raises, whatever the bytes (P12)."""

    def say(self, state: StateT, message: str, text: str) -> tuple[Input, ...]:
        """Give the lines that start a turn with `text`; the first one's id is `message`."""

    def answer(self, state: StateT, asked: Asked, *, allow: bool, reason: str) -> tuple[Input, ...]:
        """Give the lines that answer a permission question."""

    def interrupt(self, state: StateT, turn: str) -> tuple[Input, ...]:
        """Give the lines that end the running turn softly, the session staying open."""

    def transcript(self, seat: Seat, key: str) -> str:
        """Name the CLI's own transcript of session `key` as a glob pattern, "" when it has none."""

    def settle(self, lines: Iterable[bytes], message: str, text: str) -> Settlement:
        """Read from the CLI's own transcript what became of a message."""
