"""The record of what a session was told: `in.jsonl`, written by its shim, read by the next owner.

Standard library only. `{"id","data"}` is on disk before the bytes go to the CLI, `{"written":id}`
follows when all of them are in its pipe, `{"withdrawn":id}` when it was not given a single one.
"""

import json
import os

from amiral.processes.shim.durable import write_all

_sync = getattr(os, "fdatasync", os.fsync)


def states_of(text: bytes) -> dict[str, str]:
    """Tell what became of each input: "written", or "recorded" when that is unsure.

    An id that is not named never reached the CLI. A torn last line was not durable, so nothing of
    it was written. ValueError names a damaged line elsewhere: then nothing can be concluded.
    """
    states: dict[str, str] = {}
    *lines, _torn = text.split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            _fold(states, json.loads(line))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(f"in.jsonl line {number} is damaged: {error}") from error
    return states


def _fold(states: dict[str, str], record: dict[str, str]) -> None:
    verb = next((verb for verb in ("written", "withdrawn") if verb in record), "id")
    key = record[verb]
    if not isinstance(key, str):
        raise TypeError(f"{verb} is no text")
    states[key] = "written" if verb == "written" else "recorded"
    if verb == "withdrawn":
        del states[key]


class InputLog:
    """The file, open for appending by the one shim that owns it."""

    def __init__(self, folder: str) -> None:
        path = f"{folder}/in.jsonl"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self._size = 0
        self._owed = b""
        self._is_damaged = False

    def record(self, key: str, data: str) -> None:
        """Put an input on disk for good; OSError means that nothing of it stayed in the file."""
        if self._is_damaged:
            raise OSError("in.jsonl could not be repaired after an earlier failure")
        line = _line({"id": key, "data": data})
        try:
            write_all(self._file, self._owed + line)
            _sync(self._file)
        except OSError:
            self._take_back()
            raise
        self._size += len(self._owed) + len(line)
        self._owed = b""

    def mark(self, verb: str, key: str) -> None:
        """Note that an input was `written` or `withdrawn`; on a full disk, at the next chance."""
        self._owed += _line({verb: key})
        try:
            write_all(self._file, self._owed)
        except OSError:
            self._take_back()
            return
        self._size += len(self._owed)
        self._owed = b""

    def close(self) -> None:
        """Give the file back to the system."""
        os.close(self._file)

    def _take_back(self) -> None:
        try:
            os.ftruncate(self._file, self._size)
        except OSError:
            self._is_damaged = True


def _line(record: dict[str, str]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"
