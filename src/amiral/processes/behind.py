"""A thread that goes behind a fence, does one thing there and ends.

Never a thread of a pool: it would stay restricted, and so would all that it does later (S6).
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TypeVar

from amiral.base.errors import AmiralError, Denied
from amiral.processes.fence import Fence, FenceError, apply

T = TypeVar("T")


def behind(fence: Fence, work: Callable[[], T]) -> Future[T]:
    """Do the work behind the fence, on a thread of its own; Denied, undone, if it cannot be put up.

    What the work starts stays behind the fence; this process is not restricted.
    """
    told: Future[T] = Future()
    # From here on it cannot be cancelled: whoever gives up waiting must still undo it.
    told.set_running_or_notify_cancel()

    def begin() -> None:
        try:
            _put_up(fence)
            told.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it
            told.set_exception(error)

    Thread(target=begin, name="fence", daemon=True).start()
    return told


async def awaited(told: Future[T], undo: Callable[[T], None]) -> T:
    """Wait for the work without blocking the loop; undo it when nobody waits any more."""
    try:
        return await asyncio.wrap_future(told)
    except asyncio.CancelledError:
        with suppress(AmiralError):
            undo(told.result())
        raise


def _put_up(fence: Fence) -> None:
    try:
        apply(fence)
    except FenceError as error:
        raise Denied(f"the fence cannot be put up: {error}", "amiral permissions probe") from error
