"""The reader of answers: which it reads, and that each is read once whatever is killed."""

import asyncio
import contextlib

import pytest

from amiral.base import events as ev
from amiral.specs import rows
from amiral.specs.block import render_block
from amiral.specs.reader import SpecReader, until_read
from amiral.specs.spec import Draft, Rules

BLOCK = render_block(Draft("A", "B", "C", ("D",)))
PATIENCE_S = 20


@pytest.fixture
async def woken(journal, clock):
    """The workers that were woken by a reader that runs."""
    woken: list[str] = []
    reader = SpecReader(journal, clock, lambda one: one == "consultant", Rules, woken.append)
    task = asyncio.create_task(reader.run())
    yield woken
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def read(journal, seq):
    async with asyncio.timeout(PATIENCE_S):
        await until_read(journal, seq)


async def test_s0_8_the_answer_of_a_chat_worker_is_read(woken, journal, tell):
    seq = await tell("m1", BLOCK)
    await read(journal, seq)
    assert [spec.message for spec in rows.every(journal.rows)] == ["m1"]
    assert woken == []
    await read(journal, seq)


@pytest.mark.parametrize(
    "told", [{"worker": "developer"}, {"outcome": "failed"}, {"outcome": "interrupted"}]
)
async def test_other_answers_hold_no_specs(woken, journal, tell, told):
    await read(journal, await tell("m1", BLOCK, **told))
    assert rows.every(journal.rows) == []
    assert rows.position(journal.rows) == 2


async def test_a_worker_that_shall_mend_its_blocks_is_woken(woken, journal, tell):
    await read(journal, await tell("m1", "```spec\n```"))
    async with asyncio.timeout(PATIENCE_S):
        while not woken:
            await asyncio.sleep(0.01)
    assert woken == ["consultant"]


async def test_it_goes_on_where_it_stood_and_reads_what_came_meanwhile(journal, clock, tell):
    for message in ("m1", "m2"):
        seq = await tell(message, BLOCK)
        reader = SpecReader(journal, clock, lambda _: True, Rules, print)
        task = asyncio.create_task(reader.run())
        await read(journal, seq)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [spec.message for spec in rows.every(journal.rows)] == ["m1", "m2"]


async def test_it_ends_when_the_journal_closes_and_so_does_who_waits_for_it(
    tmp_path, journal, clock
):
    reader = SpecReader(journal, clock, lambda _: True, Rules, print)
    seq = await journal.append(ev.RoleChosen("consultant"))
    tasks = [asyncio.create_task(reader.run()), asyncio.create_task(until_read(journal, seq))]
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE_S):
        await journal.close()
        await asyncio.gather(*tasks)
