"""A thread that goes behind a fence, does one thing there and ends.

Never a thread of a pool: it would stay restricted, and so would all that it does later (S6).
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TypeVar

from amiral.base.errors import AmiralError, Denied
from amiral.processes.box import boxed, hold
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


def inside(
    fence: Fence, argv: Sequence[str], cwd: str, start: Callable[[list[str], tuple[int, ...]], T]
) -> Future[T]:
    """Start a program in the box of a fence; Denied when there is none.

    `start` gets the command and the files that it must inherit. It is done on this thread, not on
    one of its own: the box ends with the thread that started it (S7).
    """
    told: Future[T] = Future()
    handle = hold(fence)
    try:
        told.set_result(start(boxed(fence, argv, cwd, handle), (handle,)))
    except FenceError as error:
        raise _denied(error) from error
    finally:
        os.close(handle)
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
        raise _denied(error) from error


def _denied(error: FenceError) -> Denied:
    return Denied(f"the fence cannot be put up: {error}", "amiral permissions probe")
