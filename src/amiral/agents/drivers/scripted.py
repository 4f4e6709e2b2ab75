"""Pure: the driver of the scripted CLI, which plays a scenario instead of asking a model."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from amiral.agents.driver import (
    Asked,
    Finished,
    Input,
    Launch,
    Limited,
    Nearing,
    Noise,
    Opened,
    Read,
    Refused,
    Retrying,
    Said,
    Seat,
    Seen,
    Settlement,
    Signal,
    Usage,
    Used,
)

TESTED = "1.0.0"

_VERSION = re.compile(r"scripted (\d+\.\d+\.\d+)")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_GLOB = re.compile(r"([*?\[])")
_ENDINGS = ("done", "failed", "interrupted", "limited", "context_lost")
_LATEST_S = 10**11


class _Event(msgspec.Struct, tag_field="type"):
    """One line of the CLI's stdout; the tag is its type."""

    def signal(self) -> Signal:
        raise NotImplementedError


class _OpenedEvent(_Event, tag="opened"):
    session: str
    version: str
    model: str
    tools: tuple[str, ...]

    def signal(self) -> Signal:
        return Opened(self.session, self.version, self.model, self.tools)


class _SeenEvent(_Event, tag="seen"):
    id: str

    def signal(self) -> Signal:
        return Seen(self.id)


class _SaidEvent(_Event, tag="said"):
    text: str

    def signal(self) -> Signal:
        return Said(self.text)


class _UsedEvent(_Event, tag="used"):
    tool: str
    summary: str

    def signal(self) -> Signal:
        return Used(self.tool, self.summary)


class _AskedEvent(_Event, tag="asked"):
    ask: str
    tool: str
    summary: str
    input: dict[str, str]

    def signal(self) -> Signal:
        arguments = json.dumps(self.input, ensure_ascii=False)
        return Asked(self.ask, self.tool, self.summary, arguments)


class _RefusedEvent(_Event, tag="refused"):
    tool: str
    reason: str

    def signal(self) -> Signal:
        return Refused(self.tool, self.reason)


class _LimitedEvent(_Event, tag="limited"):
    window: str
    resets_at: int | None

    def signal(self) -> Signal:
        return Limited(self.window, _instant_ms(self.resets_at))


class _NearingEvent(_Event, tag="nearing"):
    window: str
    utilization: float
    resets_at: int | None

    def signal(self) -> Signal:
        return Nearing(self.window, self.utilization, _instant_ms(self.resets_at))


class _RetryingEvent(_Event, tag="retrying"):
    error: str
    delay_ms: int

    def signal(self) -> Signal:
        return Retrying(self.error, self.delay_ms)


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


class _FinalEvent(_Event, tag="final"):
    how: str
    text: str
    reason: str
    session: str
    usage: _Usage = _Usage()

    def signal(self) -> Signal:
        usage = Usage(self.usage.input_tokens, self.usage.output_tokens, self.usage.cost_usd)
        how = self.how if self.how in _ENDINGS else "failed"
        return Finished(how, self.text, self.reason, self.session, usage)


_Line = (
    _OpenedEvent
    | _SeenEvent
    | _SaidEvent
    | _UsedEvent
    | _AskedEvent
    | _RefusedEvent
    | _LimitedEvent
    | _NearingEvent
    | _RetryingEvent
    | _FinalEvent
)


class _MessageRecord(msgspec.Struct, frozen=True, tag_field="type", tag="message"):
    id: str


class _FinalRecord(msgspec.Struct, frozen=True, tag_field="type", tag="final"):
    id: str
    how: str
    text: str


_LINE = msgspec.json.Decoder(_Line)
_RECORD = msgspec.json.Decoder(_MessageRecord | _FinalRecord)
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class ScriptedState:
    """Whether the CLI has told that it is there."""

    is_open: bool = False


class Scripted:
    """The driver; it holds nothing."""

    name = "scripted"
    state_type = ScriptedState

    def version_command(self, command: tuple[str, ...]) -> tuple[str, ...]:
        return (*command, "--version")

    def version_of(self, output: str) -> str:
        found = _VERSION.search(output)
        return found[1] if found else ""

    def warning_for(self, version: str) -> str:
        if version == TESTED:
            return ""
        return f"the scripted CLI says version {version or '(none)'}; tested is {TESTED}"

    def open(self, seat: Seat) -> tuple[ScriptedState, Launch]:
        tools = seat.tools if isinstance(seat.tools, str) else ",".join(seat.tools)
        session = (
            ("--resume", seat.resume_key) if seat.resume_key else ("--session-id", seat.fresh_key)
        )
        options = ("--home", seat.config_home, *session, f"--tools={tools}")
        limits = (f"--model={seat.model or 'scripted'}", f"--max-turns={seat.max_turns}")
        env = {
            "PATH": _PATH,
            "LANG": "C.UTF-8",
            "HOME": seat.config_home,
            "TMPDIR": seat.tmp,
            **seat.login,
        }
        return ScriptedState(), Launch((*seat.command, *options, *limits), env, seat.cwd)

    def is_ready(self, state: ScriptedState) -> bool:
        return state.is_open

    def read(self, state: ScriptedState, line: bytes) -> Read[ScriptedState]:
        try:
            event = _LINE.decode(line)
        except _UNREADABLE:
            text = line.decode("utf-8", "replace")
            return Read(state, (Noise(text),) if text.strip() else ())
        if isinstance(event, _OpenedEvent):
            state = replace(state, is_open=True)
        return Read(state, (event.signal(),))

    def say(self, state: ScriptedState, message: str, text: str) -> tuple[Input, ...]:
        del state
        return (_input(message, type="message", id=message, text=text),)

    def answer(
        self, state: ScriptedState, asked: Asked, *, allow: bool, reason: str
    ) -> tuple[Input, ...]:
        del state
        line = _input(
            f"answer-{asked.ask}", type="answer", ask=asked.ask, allow=allow, reason=reason
        )
        return (line,)

    def interrupt(self, state: ScriptedState, turn: str) -> tuple[Input, ...]:
        del state
        return (_input(f"interrupt-{turn}", type="interrupt"),)

    def transcript(self, seat: Seat, key: str) -> str:
        return _GLOB.sub(r"[\1]", f"{seat.config_home}/scripted/{key}.jsonl")

    def settle(self, lines: Iterable[bytes], message: str, text: str) -> Settlement:
        """Messages are found by id; of several executions of one id a finished one counts."""
        del text
        proof = Settlement("absent")
        for line in lines:
            match _record(line):
                case _MessageRecord(id=found) if found == message and proof.proof == "absent":
                    proof = Settlement("received")
                case _FinalRecord(id=found, how="done", text=answer) if found == message:
                    proof = Settlement("answered", answer)
                case _:
                    pass
        return proof


def _record(line: bytes) -> _MessageRecord | _FinalRecord | None:
    try:
        return _RECORD.decode(line)
    except _UNREADABLE:
        return None


def _input(name: str, **fields: object) -> Input:
    text = json.dumps(fields, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    return Input(name, text + "\n")


def _instant_ms(seconds: int | None) -> int | None:
    if seconds is None or not 0 < seconds < _LATEST_S:
        return None
    return seconds * 1000


DRIVER = Scripted()
