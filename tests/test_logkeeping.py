"""The daily log of a process."""

import asyncio
import json

from amiral.base import events as ev
from amiral.base.clock import SystemClock
from amiral.logkeeping import log_keeper
from amiral.store.journal import Journal
from amiral.store.log import Log
from amiral.store.redact import Redactor


async def test_warnings_and_bad_ends_are_logged_and_all_else_is_not(tmp_path):
    clock = SystemClock()
    journal = await Journal.open(tmp_path / "j" / "journal.db", clock, ())
    log = Log(tmp_path / "logs", "shop", clock, Redactor())
    keeping = asyncio.create_task(log_keeper(journal, log, 0)())
    ended = ev.TurnEnded("t1", "m1", "developer", "s1", (1, 9), "failed", reason="no login")
    fine = ev.TurnEnded("t2", "m2", "developer", "s1", (1, 9), "done", text="well")
    await journal.append(ev.WarningRaised("disk", "nearly full"), fine, ended)
    await journal.close()
    await asyncio.wait_for(keeping, 10)
    (file,) = (tmp_path / "logs").glob("shop-*.jsonl")
    records = [json.loads(line) for line in file.read_text().split("\n") if line]
    assert [one["event"] for one in records] == ["WarningRaised", "TurnEnded"]
    assert records[1]["reason"] == "no login"
