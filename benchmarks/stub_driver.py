"""A driver for benchmarks: any line its CLI writes ends the turn.

The answer of a turn is the time in nanoseconds of CLOCK_MONOTONIC: the one its CLI wrote
(`clock_cli.py`), else the one at which the line was read (`cat`).
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from amiral.agents import driver as d


@dataclass(frozen=True)
class StubState:
    """Nothing is remembered."""


class Stub:
    name = "stub"
    state_type = StubState

    def version_command(self, command: tuple[str, ...]) -> tuple[str, ...]:
        del command
        return ("true",)

    def version_of(self, output: str) -> str:
        return f"1{output}"

    def warning_for(self, version: str) -> str:
        return version.removeprefix("1")

    def login(self, options: Mapping[str, object]) -> d.Login:
        del options
        return d.Login()

    def open(self, seat: d.Seat) -> tuple[StubState, d.Launch]:
        return StubState(), d.Launch(seat.command, {"HOME": seat.config_home}, seat.cwd)

    def is_ready(self, state: StubState) -> bool:
        del state
        return True

    def read(self, state: StubState, line: bytes) -> d.Read[StubState]:
        told = line.split(b" ")[0]
        text = told.decode() if told.isdigit() else str(time.monotonic_ns())
        return d.Read(state, (d.Seen(""), d.Finished("done", text)))

    def say(self, state: StubState, message: str, text: str) -> tuple[d.Input, ...]:
        del state, text
        return (d.Input(message, f"{message}\n"),)

    def answer(
        self, state: StubState, asked: d.Asked, *, allow: bool, reason: str
    ) -> tuple[d.Input, ...]:
        del state, asked, allow, reason
        return ()

    def interrupt(self, state: StubState, turn: str) -> tuple[d.Input, ...]:
        del state, turn
        return ()

    def transcript(self, seat: d.Seat, key: str) -> str:
        del seat, key
        return ""

    def settle(self, lines: Iterable[bytes], message: str, text: str) -> d.Settlement:
        del lines, message, text
        return d.Settlement("unknown")


DRIVER = Stub()
