"""The handle of a running turn: the first wish counts and wakes whoever follows the turn."""

import asyncio

from amiral.agents.control import Control
from amiral.agents.wish import Wish


async def test_the_first_wish_counts():
    control = Control()
    control.interrupt(Wish("cancelled", "first"))
    control.interrupt(Wish("timed_out", "second"))
    assert control.wish == Wish("cancelled", "first")
    assert control.woken.is_set()


async def test_a_wish_wakes_the_session_that_is_followed():
    control, woken = Control(), asyncio.Event()
    control.woken = woken
    control.interrupt(Wish("cancelled", "x"))
    assert woken.is_set()
