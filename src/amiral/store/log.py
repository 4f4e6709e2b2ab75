"""Logs as JSON lines, one file a UTC day, redacted and bounded."""

import contextlib
import json
import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path

from amiral.base.clock import Clock, iso_utc, utc_day
from amiral.store.files import ensure_private_folder
from amiral.store.redact import Redactor

_BYTES_PER_MB = 1_000_000
_BETWEEN_CHECKS = 1_000_000
_DAY_FILE = re.compile(r"-(\d{4}-\d{2}-\d{2})\.jsonl$")


class Log:
    """One stream of records in `folder/NAME-YYYY-MM-DD.jsonl`; safe to write from any thread.

    A folder over `max_mb` loses its oldest days, of all names, never the current day; when that
    alone reaches the cap, records are dropped until the day ends (R38, P11). Writing never fails
    the caller: what was lost is counted in `dropped` and in the next record that is written.
    """

    def __init__(
        self, folder: Path, name: str, clock: Clock, redact: Redactor, *, max_mb: int = 200
    ) -> None:
        self.dropped = 0
        self._folder = folder
        self._name = name
        self._clock = clock
        self._redact = redact
        self._max_bytes = max_mb * _BYTES_PER_MB
        self._lock = threading.Lock()
        self._day = ""
        self._descriptor = -1
        self._size = 0
        self._checked_at = 0
        self._untold = 0
        self._is_torn = False
        ensure_private_folder(folder)

    def write(self, record: Mapping[str, object]) -> None:
        """Append one record, preceded by its instant `ts` (ISO 8601 UTC)."""
        now_ms = self._clock.now_ms()
        with self._lock:
            try:
                self._turn_to(utc_day(now_ms))
                self._append(self._line(now_ms, record))
            except OSError:
                self._lose()

    def close(self) -> None:
        """Close the file; a later write opens it again."""
        with self._lock:
            self._shut()

    def _line(self, now_ms: int, record: Mapping[str, object]) -> bytes:
        told = {"dropped": self._untold} if self._untold else {}
        whole = {"ts": iso_utc(now_ms), **told, **record}
        text = json.dumps(whole, ensure_ascii=False, default=str, skipkeys=True)
        if self._redact.text(text) is not text:
            # Redacted leaf by leaf, so that the line stays JSON.
            text = json.dumps(self._redact.value(json.loads(text)), ensure_ascii=False)
        return text.encode("utf-8", "replace") + b"\n"

    def _turn_to(self, day: str) -> None:
        if day == self._day:
            return
        self._shut()
        path = self._folder / f"{self._name}-{day}.jsonl"
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(path, flags, 0o600)
        self._day = day
        self._size = os.fstat(self._descriptor).st_size
        last = os.pread(self._descriptor, 1, max(self._size - 1, 0))
        self._is_torn = last not in {b"", b"\n"}
        self._drop_oldest_days()

    def _append(self, line: bytes) -> None:
        if self._size + len(line) > self._max_bytes:
            self._lose()
            return
        data = b"\n" + line if self._is_torn else line
        written = os.write(self._descriptor, data)
        self._size += written
        # A record cut short by a full disk is closed by the newline before the next one.
        self._is_torn = written < len(data)
        if self._is_torn:
            self._lose()
            return
        self._untold = 0
        if self._size - self._checked_at > _BETWEEN_CHECKS:
            self._drop_oldest_days()

    def _lose(self) -> None:
        self.dropped += 1
        self._untold += 1

    def _shut(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
        self._day = ""

    def _drop_oldest_days(self) -> None:
        self._checked_at = self._size
        days: list[tuple[str, Path, int]] = []
        for path in self._folder.glob("*.jsonl"):
            found = _DAY_FILE.search(path.name)
            if found:
                with contextlib.suppress(FileNotFoundError):
                    days.append((found[1], path, path.stat().st_size))
        total = sum(size for _, _, size in days)
        for day, path, size in sorted(days):
            if total <= self._max_bytes or day >= self._day:
                return
            path.unlink(missing_ok=True)
            total -= size
