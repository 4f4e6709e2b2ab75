"""What a shim tells its CLI: each input recorded first, written once, answered when it is written.

Standard library only. The pipe never blocks: what it does not take waits in a queue.
"""

import os
from collections.abc import Callable

from amiral.processes.failpoint import reach
from amiral.processes.shim.inputs import InputLog
from amiral.processes.shim.wire import Refusal

Answer = Callable[[dict[str, object] | Refusal], None]


class _Input:
    """One accepted input on its way, and who waits for it."""

    def __init__(self, key: str, data: bytes, answer: Answer) -> None:
        self.key = key
        self.left = memoryview(data)
        self.is_touched = False
        self.answers = [answer]


class Feed:
    """The CLI's stdin and what became of every input. `pipe` is -1 once it is closed."""

    def __init__(self, pipe: int, log: InputLog) -> None:
        self.pipe = pipe
        self._log = log
        self._states: dict[str, str] = {}
        self._queue: list[_Input] = []
        self._is_closing = False

    @property
    def is_waiting(self) -> bool:
        """Whether bytes wait for the CLI to read."""
        return bool(self._queue)

    def state_of(self, key: str) -> str:
        """Tell what became of an input: unknown, recorded or written."""
        return self._states.get(key, "unknown")

    def accept(self, key: str, data: str, answer: Answer) -> None:
        """Record an input, queue it, answer when it is written; never write a known one again."""
        waiting = next((entry for entry in self._queue if entry.key == key), None)
        if waiting is not None:
            waiting.answers.append(answer)
        elif key in self._states or self.pipe < 0 or self._is_closing:
            answer(self._settled(key))
        else:
            self._record(key, data)
            self._queue.append(_Input(key, data.encode(), answer))
            self.write()

    def write(self) -> None:
        """Give the CLI what its pipe takes now."""
        if not self._queue:
            return
        first = self._queue[0]
        try:
            written = os.write(self.pipe, first.left)
        except BlockingIOError:
            return
        except OSError:
            self.end()
            return
        first.left = first.left[written:]
        first.is_touched = True
        if first.left:
            reach("shim.input.half")
        else:
            self._finish(self._queue.pop(0))

    def close(self) -> None:
        """Close the pipe as soon as what was accepted is written."""
        self._is_closing = True
        if not self._queue:
            self.end()

    def end(self) -> None:
        """Close the pipe now: nobody reads any more. What was not touched is withdrawn."""
        if self.pipe >= 0:
            os.close(self.pipe)
            self.pipe = -1
        unwritten, self._queue = self._queue, []
        for entry in unwritten:
            if not entry.is_touched:
                del self._states[entry.key]
                self._log.mark("withdrawn", entry.key)
            self._answer(entry)

    def _record(self, key: str, data: str) -> None:
        try:
            self._log.record(key, data)
        except UnicodeEncodeError as error:
            raise Refusal("invalid", f"data is not writable as UTF-8: {error}") from error
        except OSError as error:
            message = f"in.jsonl cannot be written, nothing was given to the CLI: {error.strerror}"
            raise Refusal("failed", message) from error
        self._states[key] = "recorded"
        reach("shim.input.recorded")

    def _finish(self, entry: _Input) -> None:
        reach("shim.input.piped")
        self._states[entry.key] = "written"
        self._log.mark("written", entry.key)
        reach("shim.input.written")
        self._answer(entry)
        if self._is_closing and not self._queue:
            self.end()

    def _answer(self, entry: _Input) -> None:
        for answer in entry.answers:
            answer(self._settled(entry.key))

    def _settled(self, key: str) -> dict[str, object] | Refusal:
        match self.state_of(key):
            case "written":
                return {"id": key, "state": "written"}
            case "recorded":
                return Refusal("unsure", "the CLI ended while this input was being written")
            case _:
                return Refusal("gone", "the CLI reads no more; nothing of this input was written")
