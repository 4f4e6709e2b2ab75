"""Pure: the driver of the scripted CLI, which plays a scenario in place of a model."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec

from amiral.agents import driver as d
from amiral.agents.fields import Fields, clean_text, plain_text, read_fields
from amiral.agents.instants import read_instant
from amiral.agents.needs import Needs
from amiral.permissions.projection import Projection

TESTED = "1.0.0"

_VERSION = re.compile(r"scripted (\d+\.\d+\.\d+)", re.ASCII)
_GLOB = re.compile(r"([*?\[])")
_ENDINGS = ("done", "failed", "interrupted", "limited", "context_lost")


@dataclass(frozen=True)
class ScriptedState:
    """Whether the CLI has told that it is there."""

    is_open: bool = False


class Scripted:
    """The driver; it holds nothing."""

    name = "scripted"
    state_type = ScriptedState
    owned: tuple[str, ...] = ()
    needs = Needs()

    def version_command(self, command: tuple[str, ...]) -> tuple[str, ...]:
        return (*command, "--version")

    def version_of(self, output: str) -> str:
        found = _VERSION.search(output)
        return found[1] if found else ""

    def warning_for(self, version: str) -> str:
        if version == TESTED:
            return ""
        return f"scripted CLI {version or '(version unknown)'} is untested; tested: {TESTED}"

    def login(self, options: Mapping[str, object]) -> d.Login:
        """Whatever its options, it is the same."""
        del options
        return d.NO_LOGIN

    def project(self, seat: d.Seat) -> Projection:
        """It has no permissions of its own: what it does is asked for or not by its scenario."""
        del seat
        return Projection()

    def merged(self, found: str, text: str) -> str:
        """No file is merged."""
        del found
        return text

    def open(self, seat: d.Seat) -> tuple[ScriptedState, d.Launch]:
        """There is no model, so nobody reads the identity."""
        tools = seat.tools if isinstance(seat.tools, str) else ",".join(seat.tools)
        key = f"--resume={seat.resume_key}" if seat.resume_key else f"--session-id={seat.fresh_key}"
        options = [f"--home={seat.config_home}", key, f"--tools={tools}"]
        if seat.model:
            options.append(f"--model={seat.model}")
        if seat.max_turns > 0:
            options.append(f"--max-turns={seat.max_turns}")
        env = {**seat.login, "HOME": seat.config_home, "TMPDIR": seat.tmp}
        return ScriptedState(), d.Launch((*seat.command, *options), env, seat.cwd)

    def in_terminal(self, seat: d.Seat) -> d.Launch:
        """A shell stands in for a CLI of that kind."""
        return replace(self.open(seat)[1], argv=("/bin/sh",))

    def is_ready(self, state: ScriptedState) -> bool:
        return state.is_open

    def read(self, state: ScriptedState, line: bytes) -> d.Read[ScriptedState]:
        event = read_fields(line)
        kind = event.text("type") if event else ""
        if event and kind in _TAKE:
            state = ScriptedState(is_open=True) if kind == "opened" else state
            return d.Read(state, (_TAKE[kind](event),))
        text = plain_text(line)
        return d.Read(state, (d.Noise(text),) if text else ())

    def say(self, state: ScriptedState, message: str, text: str) -> tuple[d.Input, ...]:
        del state
        line = {"type": "message", "id": message, "text": clean_text(text)}
        return (_input(message, line),)

    def answer(
        self, state: ScriptedState, asked: d.Asked, *, allow: bool, reason: str
    ) -> tuple[d.Input, ...]:
        del state
        line = {"type": "answer", "ask": asked.ask, "allow": allow, "reason": clean_text(reason)}
        return (_input(f"answer-{asked.ask}", line),)

    def interrupt(self, state: ScriptedState, turn: str) -> tuple[d.Input, ...]:
        del state
        return (_input(f"interrupt-{turn}", {"type": "interrupt"}),)

    def transcript(self, seat: d.Seat, key: str) -> str:
        return _GLOB.sub(r"[\1]", f"{seat.config_home}/scripted/{key}.jsonl")

    def settle(self, lines: Iterable[bytes], message: str, text: str) -> d.Settlement:
        """A record is written whole before anything is done, so a torn one proves nothing was."""
        del text
        settled = d.Settlement("absent")
        for record in filter(None, map(read_fields, lines)):
            if record.text("id") != message:
                continue
            if record.text("type") == "message":
                settled = d.Settlement("received") if settled.proof == "absent" else settled
            elif record.text("type") == "final" and record.text("how") == "done":
                settled = d.Settlement("answered", record.text("text"))
        return settled


def _input(name: str, line: Mapping[str, object]) -> d.Input:
    return d.Input(name, msgspec.json.encode(line).decode() + "\n")


def _opened(event: Fields) -> d.Signal:
    told = (event.text("session"), event.text("version"), event.text("model"))
    return d.Opened(*told, event.texts("tools"))


def _asked(event: Fields) -> d.Signal:
    arguments = event.inner("input").as_json()
    return d.Asked(event.text("ask"), event.text("tool"), event.text("summary"), arguments)


def _nearing(event: Fields) -> d.Signal:
    window, utilization = event.text("window"), event.number("utilization")
    return d.Nearing(window, utilization, read_instant(event.value("resets_at")))


def _finished(event: Fields) -> d.Signal:
    how, usage = event.text("how"), event.inner("usage")
    return d.Finished(
        how if how in _ENDINGS else "failed",
        event.text("text"),
        event.text("reason"),
        event.text("session"),
        d.Usage(
            usage.whole("input_tokens"), usage.whole("output_tokens"), usage.number("cost_usd")
        ),
    )


_TAKE: Mapping[str, Callable[[Fields], d.Signal]] = {
    "opened": _opened,
    "seen": lambda event: d.Seen(event.text("id")),
    "said": lambda event: d.Said(event.text("text")),
    "used": lambda event: d.Used(event.text("tool"), event.text("summary")),
    "asked": _asked,
    "withdrawn": lambda event: d.Withdrawn(event.text("ask")),
    "refused": lambda event: d.Refused(event.text("tool"), event.text("reason")),
    "limited": lambda event: d.Limited(
        event.text("window"), read_instant(event.value("resets_at"))
    ),
    "nearing": _nearing,
    "retrying": lambda event: d.Retrying(event.text("error"), event.whole("delay_ms")),
    "final": _finished,
}


DRIVER = Scripted()
