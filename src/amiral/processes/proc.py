# ruff: noqa: PTH110, PTH208
"""Processes as `/proc` shows them at one moment. Standard library only."""

import os

# Fields 20 and 22, counted from the seventh.
_THREADS, _START = 13, 15

HAS_PROC = os.path.exists("/proc/self/stat")


class Seen:
    """One line of `/proc/PID/stat`; `start` counts clock ticks since boot."""

    __slots__ = ("group", "is_dead", "is_paused", "name", "parent", "pid", "session", "start")

    def __init__(self, pid: int, text: bytes) -> None:
        head, _, tail = text.rpartition(b")")
        state, parent, group, session, *rest = tail.split()
        self.name = head.partition(b"(")[2]
        self.pid = pid
        self.parent = int(parent)
        self.group = int(group)
        self.session = int(session)
        self.start = int(rest[_START])
        self.is_paused = state in b"Tt"
        # A leader whose main thread ended shows as a zombie while other threads of it still run.
        self.is_dead = state in b"ZX" and int(rest[_THREADS]) <= 1


def look(pid: int) -> Seen | None:
    """Look at one process, None when it is gone."""
    try:
        return Seen(pid, _read_line(f"/proc/{pid}/stat"))
    except OSError:
        return None


def processes_now() -> dict[int, Seen]:
    """Look at every process, by pid; zombies are among them."""
    names = os.listdir("/proc") if HAS_PROC else []
    looks = (look(int(name)) for name in names if name.isdigit())
    return {seen.pid: seen for seen in looks if seen is not None}


def _read_line(path: str) -> bytes:
    """Read what the kernel gives in one piece."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)


def read_whole(path: str) -> bytes:
    """Read a small file of the kernel's."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = b""
        while chunk := os.read(file, 65536):
            text += chunk
        return text
    finally:
        os.close(file)
