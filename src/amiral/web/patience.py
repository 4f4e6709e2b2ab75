"""How long a command may keep its caller waiting: without limit, until the process ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from amiral.web.answers import Leaving

GRACE_S = 0.5


class Patience:
    """Cuts every wait short at once when the process ends; what was accepted meanwhile is kept."""

    def __init__(self) -> None:
        self._limits: set[asyncio.Timeout] = set()
        self._ends_at: float | None = None

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Run the body; raises Leaving when the process ends before it has finished."""
        try:
            async with asyncio.timeout_at(self._ends_at) as limit:
                self._limits.add(limit)
                try:
                    yield
                finally:
                    self._limits.discard(limit)
        except TimeoutError:
            if not limit.expired():
                raise
            raise Leaving("amiral ends; what it has accepted is kept", "amiral up") from None

    def end(self) -> None:
        """Let whoever still waits go after a short grace."""
        self._ends_at = asyncio.get_running_loop().time() + GRACE_S
        for limit in self._limits:
            limit.reschedule(self._ends_at)
