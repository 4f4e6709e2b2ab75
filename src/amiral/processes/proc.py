# ruff: noqa: PTH110, PTH208
"""Processes as `/proc` shows them at one moment. Standard library only."""

import os
from typing import NamedTuple

HAS_PROC = os.path.exists("/proc/self/stat")


class Seen(NamedTuple):
    """One line of `/proc/PID/stat`; `start` counts clock ticks since boot."""

    pid: int
    parent: int
    group: int
    session: int
    start: int
    is_dead: bool


def look(pid: int) -> Seen | None:
    """Look at one process, None when it is gone."""
    try:
        text = read_whole(f"/proc/{pid}/stat")
    except OSError:
        return None
    fields = text.rpartition(b")")[2].split()
    state, threads = fields[0], int(fields[17])
    # A leader whose main thread ended shows as a zombie while other threads of it still run.
    is_dead = state in b"ZX" and threads <= 1
    parent, group, session = (int(field) for field in fields[1:4])
    return Seen(pid, parent, group, session, int(fields[19]), is_dead)


def processes_now() -> dict[int, Seen]:
    """Look at every process, by pid; zombies are among them."""
    names = os.listdir("/proc") if HAS_PROC else []
    looks = (look(int(name)) for name in names if name.isdigit())
    return {seen.pid: seen for seen in looks if seen is not None}


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
