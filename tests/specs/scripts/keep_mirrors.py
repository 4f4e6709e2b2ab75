"""Have messages answered with specs in them until all is mirrored; goes on where it was killed."""

import asyncio
import sys
from pathlib import Path

from amiral.base import events as ev
from amiral.base.clock import SystemClock
from amiral.specs import rows
from amiral.specs.block import render_block
from amiral.specs.mirrored import Names
from amiral.specs.mirrors import Mirrors
from amiral.specs.reader import SpecReader
from amiral.specs.spec import Draft, Rules
from amiral.specs.tables import SPECS
from amiral.store.journal import Journal

NAMES = Names(lambda worker: worker, lambda worker: f"{worker}-owner", lambda: "developer")
BLOCK = render_block(Draft("A", "B", "C", ("D",)))
ANSWERS = {"m1": BLOCK, "m2": f"text\n{BLOCK}{BLOCK}", "m3": "```spec\n```", "m4": "the last one"}


async def talk(journal):
    for message, answer in ANSWERS.items():
        if rows.asked(journal.rows, message) is None:
            question = ev.MessageQueued(message, "consultant", "consultant-owner", "?", "owner")
            await journal.append(question, by="owner")
        if not journal.rows(
            "select 1 from event where name = 'TurnEnded' and"
            " json_extract(payload, '$.message') = ?",
            message,
        ):
            ended = ev.TurnEnded("t", message, "consultant", "s", (1, 0), "done", answer)
            await journal.append(ended)
        await asyncio.sleep(0.02)


def is_mirrored(journal, logs):
    """Tell whether every answer was read, and every line that follows is there."""
    names = [one.name for one in journal.read(0)]
    said = names.count("MessageQueued") + names.count("TurnEnded")
    wanted = {"consultant": said, "specs": names.count("SpecCreated")}
    there = {
        name: sum(log.read_text().count("\n") for log in logs.glob(f"{name}-*.log"))
        for name in wanted
    }
    return names.count("AnswerRead") == len(ANSWERS) and there == wanted


async def until_mirrored(journal, logs):
    while not is_mirrored(journal, logs):
        await asyncio.sleep(0.01)


async def main(folder):
    journal = await Journal.open(folder / "home" / "journal.db", SystemClock(), [SPECS])
    reader = SpecReader(journal, SystemClock(), lambda _: True, Rules, lambda _: None)
    root = folder / "shop"
    mirrors = Mirrors(journal, SystemClock(), root, folder / "home" / "mirrors.json", NAMES)
    tasks = [asyncio.create_task(reader.run()), asyncio.create_task(mirrors.run())]
    async with asyncio.timeout(30):
        await talk(journal)
        await until_mirrored(journal, root / ".amiral" / "state" / "logs")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await journal.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
