"""A turn whose journal's disk is full for a while: prints as JSON what came of it.

`full_disk.py CONFTEST HOME`, in a mount namespace whose HOME/journal is a small disk.
"""

import asyncio
import errno
import json
import runpy
import sys
from pathlib import Path

from amiral.base import events as ev
from amiral.base.errors import Broken

ENGINE = runpy.run_path(sys.argv[1])
HOME = Path(sys.argv[2])
FILLER = HOME / "journal" / "filler"
PIECES = [f"piece {number}" for number in range(200)]


def fill():
    with FILLER.open("ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


async def main():
    works = ENGINE["Works"](HOME, ENGINE["Plan"]())
    said = "".join(json.dumps({"type": "said", "text": piece}) + "\n" for piece in PIECES)
    works.stub("message", "seen", "answer", ["raw", said], "final")
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    fill()
    session = await works.sessions.find(works.row())
    await session.write([works.input("answer")])
    out = works.sessions_folder / works.session() / "out.000001"
    await works.until(lambda: b'"final"' in out.read_bytes())
    refused = 0
    for _ in range(3):
        try:
            await works.post("while it is full")
        except Broken:
            refused += 1
        await asyncio.sleep(0.4)
    state = works.state_of(message)
    FILLER.unlink()
    end = await works.ended(message)
    later = await works.answer("after")
    found = {
        "state_while_full": state,
        "refused": refused,
        "outcomes": [end.outcome, later.outcome],
        "said": [one.text for one in works.events(ev.WorkerSaid) if one.turn == end.turn] == PIECES,
        "seen": len(works.events(ev.MessageSeen, message)),
        "given": len(works.given()),
        "queued": len(works.events(ev.MessageQueued)),
    }
    await works.clear()
    sys.stdout.write(json.dumps(found))


asyncio.run(main())
