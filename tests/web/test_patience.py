"""A command may wait as long as it likes, until the process ends."""

import asyncio

import pytest

from amiral.web.answers import Leaving
from amiral.web.patience import GRACE_S, Patience


async def test_nothing_is_cut_short_while_the_process_runs():
    patience = Patience()
    async with patience.limit():
        await asyncio.sleep(0)
    with pytest.raises(KeyError):
        async with patience.limit():
            raise KeyError


async def test_who_waits_at_the_end_is_let_go_and_told():
    patience, waiting = Patience(), asyncio.Event()

    async def wait():
        async with patience.limit():
            waiting.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await waiting.wait()
    began = asyncio.get_running_loop().time()
    patience.end()
    with pytest.raises(Leaving) as told:
        await task
    assert told.value.kind == "unreachable"
    assert asyncio.get_running_loop().time() - began < GRACE_S * 4


async def test_what_ends_within_the_grace_is_not_disturbed():
    patience = Patience()
    async with patience.limit():
        patience.end()
        await asyncio.sleep(0)
    with pytest.raises(Leaving):
        async with patience.limit():
            await asyncio.Event().wait()


async def test_a_time_limit_of_the_command_itself_is_its_own_error():
    with pytest.raises(TimeoutError):
        async with Patience().limit(), asyncio.timeout(0):
            await asyncio.Event().wait()
