"""The scripted CLI's two ends: JSON lines in, which may interrupt any wait, JSON lines out."""

import json
import os
import select
import signal
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType

_READ_SIZE = 65_536
STDIN, STDOUT, STDERR = 0, 1, 2


class Interrupted(Exception):
    """The person wants the running turn to end, the session to stay."""


class Malformed(Exception):
    """A line of input is not of this protocol: agent CLIs die of it."""


@dataclass(frozen=True)
class Message:
    """A task for the worker."""

    id: str
    text: str


@dataclass(frozen=True)
class Answer:
    """The answer to a permission question."""

    allow: bool
    reason: str


class Input:
    """Reads stdin without threads: whoever waits, for whatever, hears an interrupt at once."""

    def __init__(self, descriptor: int = STDIN) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._messages: deque[Message] = deque()
        self._answers: dict[str, Answer] = {}
        self.is_over = False
        self._is_busy = False
        self._is_interrupted = False
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_writer, False)

    def heed_sigint(self) -> None:
        """Take SIGINT for an interrupt after which nothing is read any more."""
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, self._take_sigint)

    def next_message(self) -> Message | None:
        """Wait for a task; None when stdin has ended. An interrupt meanwhile means nothing."""
        self._is_busy = self._is_interrupted = False
        while not self._messages:
            if self.is_over:
                return None
            self._pump(None)
        self._is_busy = True
        return self._messages.popleft()

    def pause(self, seconds: float) -> None:
        """Wait; raises Interrupted as soon as it is asked for."""
        until = time.monotonic() + seconds
        while True:
            left = max(0.0, until - time.monotonic())
            self._pump(left)
            if self._is_interrupted:
                self._is_interrupted = False
                raise Interrupted
            if left == 0.0:
                return

    def answer_to(self, ask: str) -> Answer:
        """Wait for an answer. Once stdin has ended nobody can give it, which is a no."""
        while ask not in self._answers:
            if self.is_over:
                return Answer(allow=False, reason="nobody is there to answer")
            self._pump(None)
            self.pause(0)
        return self._answers.pop(ask)

    def _pump(self, timeout: float | None) -> None:
        sources = [self._wake_reader] if self.is_over else [self._wake_reader, self._descriptor]
        ready = select.select(sources, [], [], timeout)[0]
        if self._wake_reader in ready:
            os.read(self._wake_reader, _READ_SIZE)
        elif self._descriptor in ready:
            self._read()

    def _read(self) -> None:
        data = os.read(self._descriptor, _READ_SIZE)
        if not data:
            self.is_over = True
            data = b"\n"
        self._buffer += data
        if b"\n" in data:
            *lines, self._buffer = self._buffer.split(b"\n")
            for line in filter(bytes.strip, map(bytes, lines)):
                self._take(line)

    def _take_sigint(self, _number: int, _frame: FrameType | None) -> None:
        self.is_over = True
        self._messages.clear()
        self._is_interrupted = self._is_busy

    def _take(self, line: bytes) -> None:
        match _decode(line):
            case {"type": "message", "id": str(message), "text": str(text)}:
                self._messages.append(Message(message, text))
            case {"type": "answer", "ask": str(ask), "allow": bool(allow), "reason": str(reason)}:
                self._answers[ask] = Answer(allow, reason)
            case {"type": "interrupt"}:
                self._is_interrupted = self._is_busy or bool(self._messages)
            case _:
                raise Malformed(line[:200].decode("utf-8", "replace"))


def _decode(line: bytes) -> object:
    try:
        return json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def print_event(name: str, **fields: object) -> None:
    """Print one event on stdout."""
    write_all(STDOUT, encode({"type": name, **fields}))


def encode(record: Mapping[str, object]) -> bytes:
    """Write a record as one line of JSON. Half a surrogate pair stays the escape it is in JSON."""
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, however full the pipe is."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
