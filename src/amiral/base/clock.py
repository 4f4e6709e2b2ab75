"""The only reader of time."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

MS_PER_S = 1000


class Clock(Protocol):
    """Time as amiral sees it; injected so that tests can hold or jump it."""

    def now_ms(self) -> int:
        """Return wall time: epoch milliseconds UTC, for instants and alarms."""
        ...

    def monotonic_s(self) -> float:
        """Return seconds that never jump, for ages and time limits."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait so many monotonic seconds."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        """Wall time in epoch milliseconds UTC."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the running loop."""
        await asyncio.sleep(seconds)


def iso_utc(instant_ms: int) -> str:
    """Write an instant as ISO 8601 UTC with milliseconds and a Z: `2026-11-30T14:05:00.250Z`."""
    moment = datetime.fromtimestamp(instant_ms / MS_PER_S, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def utc_day(instant_ms: int) -> str:
    """Name the UTC day of an instant: `2026-11-30`, the name of daily log files."""
    return datetime.fromtimestamp(instant_ms / MS_PER_S, UTC).strftime("%Y-%m-%d")
