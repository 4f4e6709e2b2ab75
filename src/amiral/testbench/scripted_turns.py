"""How the scripted CLI answers one message: it plays turns of its scenario until one is final."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from amiral.base.failpoint import failpoint
from amiral.testbench.scenario import Limit, Raw, Say, Turn, Use
from amiral.testbench.scripted_io import STDERR, STDOUT, Input, Message, print_event, write_all
from amiral.testbench.scripted_process import misbehave
from amiral.testbench.scripted_tools import NAMES, is_inside, run_tool, summary_of
from amiral.testbench.scripted_transcript import Effects

_MOST_RETRIES = 10
_RETRY_MS = 10
_TOO_MANY = 429
_FIRST_SERVER_ERROR = 500
_ERRORS = {401: "authentication", _TOO_MANY: "rate_limit", 503: "overloaded", 529: "overloaded"}


class Exit(Exception):
    """The process ends here, with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit {code}")
        self.code = code


@dataclass(frozen=True)
class Ending:
    """How a message was answered, `how` "" when no final event is printed.

    The process ends with it when `exit_code` is a number.
    """

    how: str
    text: str
    reason: str = ""
    exit_code: int | None = None


@dataclass(frozen=True)
class Rights:
    """What the CLI was started with: tools by their own names, and whether it asks before use."""

    tools: frozenset[str]
    is_asking: bool = False
    max_turns: int = 0


@dataclass
class Player:
    """Plays turns for one message after the other."""

    input: Input
    effects: Effects
    rights: Rights
    message: Message = field(default_factory=lambda: Message("", ""))
    failures: int = 0

    def play(self, message: Message, next_turn: Callable[[], Turn]) -> Ending:
        """Answer a message. Raises Interrupted."""
        self.message, self.failures, calls = message, 0, 0
        while True:
            if calls == self.rights.max_turns > 0:
                return Ending("failed", "", f"max turns: {calls} were used")
            calls += 1
            ending = self._play_turn(next_turn())
            if ending:
                return ending

    def _play_turn(self, turn: Turn) -> Ending | None:
        self._begin(turn)
        if turn.error:
            return self._fail(turn.error.status)
        self.failures = 0
        if turn.say:
            self._say(turn.say)
        if turn.limit:
            self._tell_limit(turn.limit)
        if turn.use:
            self._use(turn.use)
        if turn.ask:
            reason = "no server of amiral's tools is connected"
            print_event("refused", tool="ask", reason=reason)
        return self._end(turn)

    def _begin(self, turn: Turn) -> None:
        self.input.pause(0)
        if turn.process:
            result = misbehave(turn.process)
            self.effects.effect(self.message.id, "process", turn.process.fork, result)
        if turn.raw:
            self._write(turn.raw)
        if turn.hang:
            self.input.pause(turn.hang.seconds)

    def _end(self, turn: Turn) -> Ending | None:
        code = turn.process.exit if turn.process else None
        if turn.limit and turn.limit.is_reached:
            return Ending("limited", "", f"the {turn.limit.window} limit is reached", code)
        if turn.is_final:
            return Ending("done", turn.text, exit_code=code)
        if turn.goes_on and code is None:
            return None
        return Ending("", "", exit_code=code)

    def _fail(self, status: int) -> Ending | None:
        self.failures += 1
        is_theirs = status >= _FIRST_SERVER_ERROR
        error = _ERRORS.get(status, "server_error" if is_theirs else "invalid_request")
        if not (is_theirs or status == _TOO_MANY) or self.failures > _MOST_RETRIES:
            return Ending("failed", "", f"{error} (status {status})")
        delay_ms = _RETRY_MS * self.failures
        print_event("retrying", error=error, delay_ms=delay_ms)
        self.input.pause(delay_ms / 1000)
        return None

    def _say(self, say: Say) -> None:
        for number, piece in enumerate(say.pieces()):
            self.input.pause(say.pause_ms / 1000 if number else 0)
            print_event("said", text=piece)

    def _write(self, raw: Raw) -> None:
        descriptor = STDERR if raw.to == "stderr" else STDOUT
        for _ in range(raw.times):
            for piece in raw.pieces():
                write_all(descriptor, piece)
                if raw.split:
                    self.input.pause(raw.pause_ms / 1000)

    def _tell_limit(self, limit: Limit) -> None:
        left = limit.resets_in_s
        resets_at = None if left is None else int(time.time()) + left
        if limit.is_reached:
            print_event("limited", window=limit.window, resets_at=resets_at)
        else:
            filled = {"utilization": limit.utilization, "resets_at": resets_at}
            print_event("nearing", window=limit.window, **filled)

    def _use(self, use: Use) -> None:
        name, summary = NAMES[use.tool], summary_of(use.args)
        refusal = self._refusal(name, use, summary)
        if refusal:
            print_event("refused", tool=name, reason=refusal)
            return
        print_event("used", tool=name, summary=summary)
        result = run_tool(use.tool, use.args, self.input.pause)
        failpoint("scripted.used")
        self.effects.effect(self.message.id, name, summary, result)

    def _refusal(self, name: str, use: Use, summary: str) -> str:
        if name not in self.rights.tools:
            return f"{name} is not among this worker's tools"
        if not is_inside(use.args):
            return f"{summary} is outside the working folder"
        if not self.rights.is_asking or use.tool == "read":
            return ""
        ask = os.urandom(8).hex()
        print_event("asked", ask=ask, tool=name, summary=summary, input=dict(use.args))
        answer = self.input.answer_to(ask)
        return "" if answer.allow else answer.reason or "denied"
