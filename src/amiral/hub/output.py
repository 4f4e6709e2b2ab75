"""What our processes print, kept in a log within bounds, however long they run."""

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from amiral.base.clock import Clock
from amiral.base.plain import one_line
from amiral.store.files import cannot, ensure_private_folder

_LARGEST = 4 << 20
_KEPT = 1 << 20
_TAIL = 4096
_LONGEST_LINE = 160
_LOOK_S = 60.0


class Output:
    """One log at `path`, to which processes append, and beside it `NAME.1`, one older part."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._began = 0

    def open(self) -> int:
        """Open it for a process that begins; the caller closes the descriptor."""
        try:
            ensure_private_folder(self.path.parent)
            self.bound()
            descriptor = os.open(
                self.path,
                os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW,
                0o600,
            )
        except OSError as error:
            raise cannot("write", self.path, error) from error
        self._began = os.fstat(descriptor).st_size
        return descriptor

    def bound(self) -> None:
        """Put the newest part of a log grown too large aside, and empty it under its writer."""
        try:
            with self.path.open("r+b") as log:
                if os.fstat(log.fileno()).st_size <= _LARGEST:
                    return
                log.seek(-_KEPT, os.SEEK_END)
                self.path.with_suffix(".log.1").write_bytes(log.read())
                log.truncate(0)
        except FileNotFoundError:
            return
        self._began = 0

    def last_line(self, redact: Callable[[str], str]) -> str:
        """Give the last complaint, else the last line, printed since the start; "" without one.

        `redact` sees it before anything of it is cut: a part of a secret is not known again.
        """
        try:
            lines = redact(self._tail()).split("\n")
        except OSError:
            return ""
        said = [text for text in (one_line(line, _LONGEST_LINE) for line in lines) if text]
        return ([text for text in said if text.startswith("✗")] or said or [""])[-1]

    def _tail(self) -> str:
        with self.path.open("rb") as log:
            size = os.fstat(log.fileno()).st_size
            began = self._began if self._began <= size else 0
            log.seek(max(began, size - _TAIL))
            tail = log.read(_TAIL)
        if size - _TAIL > began:
            tail = tail.partition(b"\n")[2]
        return tail.decode("utf-8", "replace")


async def keep_bounded(outputs: Callable[[], Iterable[Output]], clock: Clock) -> None:
    """Look at these logs every minute; a disk that refuses one keeps no other from it."""
    while True:
        for one in outputs():
            with contextlib.suppress(OSError):
                one.bound()
        await clock.sleep(_LOOK_S)
