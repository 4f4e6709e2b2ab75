"""What the scripted CLI keeps on disk: a transcript a session, and the effects of messages."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from amiral.testbench.scripted_io import encode, write_all


class Transcript:
    """One session's messages, scenario progress and final answers, each fsynced before it is told.

    The file comes into being with the first message. A last line cut by a crash is skipped.
    """

    def __init__(self, home: Path, session: str) -> None:
        self._path = home / "scripted" / f"{session}.jsonl"
        self.used: tuple[int, ...] = ()

    def exists(self) -> bool:
        """Tell whether this session was ever spoken to."""
        return self._path.exists()

    def load(self) -> None:
        """Find out how far the scenario has come in this session."""
        for record in _records(self._path.read_bytes()):
            match record:
                case {"type": "turn", "used": [*numbers]}:
                    self.used = tuple(number for number in numbers if isinstance(number, int))
                case _:
                    pass

    def message(self, message: str, text: str) -> None:
        """Record a message as received."""
        _append(self._path, {"type": "message", "id": message, "text": text})

    def progress(self, used: tuple[int, ...]) -> None:
        """Record which turns of the scenario are taken."""
        if used != self.used:
            self.used = used
            _append(self._path, {"type": "turn", "used": used})

    def final(self, message: str, how: str, text: str) -> None:
        """Record how a message was answered."""
        _append(self._path, {"type": "final", "id": message, "how": how, "text": text})


class Effects:
    """All that was executed under one home, in order: a message executed twice is seen here."""

    def __init__(self, home: Path, session: str) -> None:
        self._path = home / "scripted" / "effects.jsonl"
        self._session = session

    def executed(self, message: str) -> None:
        """Record that the execution of a message begins."""
        self._add("executed", message)

    def effect(self, message: str, tool: str, summary: str, result: str) -> None:
        """Record what a message has changed outside."""
        self._add("effect", message, tool=tool, summary=summary, result=result)

    def _add(self, kind: str, message: str, **fields: str) -> None:
        _append(self._path, {"type": kind, "id": message, "session": self._session, **fields})


def _append(path: Path, record: Mapping[str, object]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        write_all(descriptor, (b"\n" if is_torn else b"") + encode(record))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if is_new:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _records(data: bytes) -> Iterator[object]:
    for line in data.split(b"\n"):
        try:
            yield json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            continue
