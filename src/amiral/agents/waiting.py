"""Wait for something to happen or for time to pass, whichever comes first."""

import asyncio
from collections.abc import Coroutine
from typing import Any

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


async def comes_first(work: Coroutine[Any, Any, object], event: asyncio.Event) -> bool:
    """Do `work` unless `event` happens before it is done: then it is cut off, and False."""
    doing, heard = asyncio.create_task(work), asyncio.create_task(event.wait())
    try:
        await asyncio.wait((doing, heard), return_when=asyncio.FIRST_COMPLETED)
    finally:
        heard.cancel()
        doing.cancel()
        await asyncio.wait([doing])
    if doing.cancelled():
        return False
    doing.result()
    return True
