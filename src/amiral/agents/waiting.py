"""Wait for something to happen or for time to pass, whichever comes first."""

import asyncio

from amiral.base.clock import Clock


async def happens(event: asyncio.Event, clock: Clock, within_s: float) -> bool:
    """Wait for `event`, at most so many seconds of the clock; False when time was up first."""
    heard = asyncio.create_task(event.wait())
    nap = asyncio.create_task(clock.sleep(within_s))
    try:
        await asyncio.wait((heard, nap), return_when=asyncio.FIRST_COMPLETED)
        return heard.done()
    finally:
        heard.cancel()
        nap.cancel()
