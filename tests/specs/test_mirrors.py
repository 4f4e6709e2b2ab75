"""The mirrors of `.amiral/state/`: as the journal says, each line once, whatever is killed."""

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from amiral.base import events as ev
from amiral.base.clock import iso_utc, utc_day
from amiral.specs import rows
from amiral.specs.block import render_block
from amiral.specs.mirrored import Names
from amiral.specs.mirrors import Mirrors
from amiral.specs.reader import SpecReader
from amiral.specs.spec import Draft, Rules
from amiral.specs.store import Specs
from amiral.specs.tables import SPECS
from amiral.store.journal import Journal

SCRIPT = Path(__file__).parent / "scripts" / "keep_mirrors.py"
NAMES = Names(lambda worker: worker, lambda worker: f"{worker}-owner", lambda: "developer")
BLOCK = render_block(Draft("A", "B", "C", ("D",)))
PATIENCE_S = 30


@dataclass(frozen=True)
class Shop:
    """A project, and the record of its mirrors in the home."""

    root: Path
    record: Path

    @property
    def state(self):
        return self.root / ".amiral" / "state"

    def log(self, category):
        """The lines of a log, day by day."""
        days = sorted((self.state / "logs").glob(f"{category}-????-??-??.log"))
        text = "".join(day.read_text() for day in days)
        assert text == "" or text.endswith("\n")
        return [json.loads(line) for line in text.split("\n") if line]

    def file(self, name):
        path = self.state / name
        return json.loads(path.read_text()) if path.exists() else None


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop").mkdir()
    return Shop(tmp_path / "shop", tmp_path / "state" / "mirrors.json")


@pytest.fixture
async def start(journal, clock, shop):
    """Set mirrors to work, until the test ends."""
    tasks = []

    def start(of=journal, names=NAMES):
        mirrors = Mirrors(of, clock, shop.root, shop.record, names)
        tasks.append(asyncio.create_task(mirrors.run()))
        return tasks[-1]

    yield start
    await end(*tasks)


@pytest.fixture
async def running(journal, clock, start):
    """Reader and mirrors at work."""
    reader = SpecReader(journal, clock, lambda one: one == "consultant", Rules, lambda _: None)
    task = asyncio.create_task(reader.run())
    start()
    yield
    await end(task)


async def end(*tasks):
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def until(is_so):
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.01)


async def test_s0_33_every_exchange_is_a_line_with_the_specs_it_produced(
    running, journal, tell, shop, clock
):
    await tell("m1", BLOCK)
    await until(lambda: len(shop.log("consultant")) == 2)
    (spec,) = rows.every(journal.rows)
    ts = iso_utc(clock.now_ms())
    (log,) = (shop.state / "logs").glob("consultant-*")
    assert log.name == f"consultant-{utc_day(clock.now_ms())}.log"
    first = log.read_text().split("\n")[0]
    assert first == f'{{"ts":"{ts}","role":"ceo","text":"question m1"}}'
    answer = {"ts": ts, "role": "consultant", "text": BLOCK, "specs": [spec.id]}
    assert shop.log("consultant")[1] == answer


async def test_s0_34_every_transition_is_a_line_with_who_made_it(
    running, journal, tell, shop, clock
):
    queue = Specs(journal, clock)
    await tell("m1", BLOCK)
    await until(lambda: rows.every(journal.rows))
    spec_id = rows.every(journal.rows)[0].id
    await queue.reject(spec_id, "owner", "no")
    await tell("m2", BLOCK, reply_to=spec_id)
    await until(lambda: rows.drafts(journal.rows))
    await queue.approve(spec_id, "owner")
    await journal.append(
        ev.SpecExecuting(spec_id, 1, "developer", "m3", "b", "c0"),
        ev.SpecTested(spec_id, 1, False, "pytest", "no"),
        ev.SpecFailed(spec_id, 1, "tests"),
        ev.SpecExecuting(spec_id, 2, "developer", "m4", "b", "c0"),
        ev.SpecDone(spec_id, 2, "c1", ("x",), (), "done"),
    )
    await queue.merged(spec_id, "c2", "owner")
    await until(lambda: [line["event"] for line in shop.log("specs")][-1:] == ["done"])
    lines = shop.log("specs")
    made = {"event": "created", "specId": spec_id, "title": "A", "by": "consultant"}
    assert lines[0] == {"ts": iso_utc(clock.now_ms()), **made}
    assert [(line["event"], line["by"]) for line in lines] == [
        ("created", "consultant"),
        ("rejected", "ceo"),
        ("revised", "consultant"),
        ("approved", "ceo"),
        ("executing", "amiral"),
        ("failed", "amiral"),
        ("executing", "amiral"),
        ("done", "amiral"),
    ]
    assert all(line["specId"] == spec_id for line in lines)
    assert set(lines[1]) == {"ts", "event", "specId", "by"}


async def test_s0_32_s0_36_the_queue_holds_the_sample_with_its_fields(
    running, tell, shop, sample, limiter, clock
):
    await tell("m1", sample)
    await until(lambda: shop.file("spec_queue.json"))
    (spec,) = shop.file("spec_queue.json")
    for name in ("title", "problem", "approach", "complexity"):
        assert spec[name] == getattr(limiter, name)
    assert (spec["acceptance"], spec["files"]) == (list(limiter.acceptance), list(limiter.files))
    now = iso_utc(clock.now_ms())
    assert (spec["status"], spec["createdAt"], spec["updatedAt"]) == ("draft", now, now)
    assert (spec["consultantThread"], spec["revision"]) == ("consultant-owner", 1)


async def test_s0_32_the_queue_follows_what_is_decided(running, journal, tell, shop, clock):
    await tell("m1", BLOCK)
    await until(lambda: shop.file("spec_queue.json"))
    clock.jump(1000)
    await Specs(journal, clock).approve(shop.file("spec_queue.json")[0]["id"], "owner")
    await until(lambda: shop.file("spec_queue.json")[0]["status"] == "approved")
    assert shop.file("spec_queue.json")[0]["updatedAt"] == iso_utc(clock.now_ms())


async def test_s0_32_role_and_thread_are_mirrored(running, journal, tell, shop, clock):
    began = iso_utc(clock.now_ms())
    await tell("m1", "hello")
    thread = {"threadId": "consultant-owner", "startedAt": began, "messageCount": 2}
    await until(lambda: shop.file("consultant_thread.json") == thread)
    assert shop.file("active_role.json") == {"role": "developer", "since": began}
    clock.jump(60_000)
    await journal.append(ev.RoleChosen("developer"), by="owner")
    role = {"role": "developer", "since": iso_utc(clock.now_ms())}
    await until(lambda: shop.file("active_role.json") == role)


async def test_s0_33_a_log_is_for_one_utc_day(running, tell, shop, clock):
    days = []
    for message in ("m1", "m2"):
        days.append(utc_day(clock.now_ms()))
        await tell(message, "hello", worker="ui-designer", outcome="failed")
        clock.jump(24 * 3600 * 1000)
    await until(lambda: len(shop.log("ui-designer")) == 4)
    for day, message in zip(days, ("m1", "m2"), strict=True):
        log = shop.state / "logs" / f"ui-designer-{day}.log"
        question, answer = map(json.loads, log.read_text().strip().split("\n"))
        assert (question["text"], answer["role"]) == (f"question {message}", "ui-designer")


async def test_an_answer_without_a_text_is_a_line_with_its_end(running, tell, shop):
    await tell("m1", "", outcome="interrupted")
    await until(lambda: len(shop.log("consultant")) == 2)
    assert shop.log("consultant")[1]["text"] == "(interrupted)"


def question(text, sender="owner"):
    return ev.MessageQueued(f"m-{text}", "consultant", "c", text, sender)


async def test_a_log_category_called_specs_does_not_mix_with_the_log_of_specs(start, journal, shop):
    start(names=Names(lambda _: "specs", NAMES.thread_of, NAMES.active))
    await journal.append(question("hi", "telegram:5"), by="telegram:5")
    await until(lambda: shop.log("worker-specs"))
    assert shop.log("worker-specs")[0]["role"] == "telegram:5"
    assert shop.log("specs") == []


async def test_r54_a_mirror_is_safe_to_print(running, tell, shop):
    nasty = "a\u202eb\x1b[2J\u009b"
    await tell("m1", nasty)
    await until(lambda: len(shop.log("consultant")) == 2)
    (log,) = (shop.state / "logs").glob("consultant-*")
    assert all(char.isprintable() or char == "\n" for char in log.read_text())
    assert shop.log("consultant")[1]["text"] == nasty


def warnings_of(journal):
    return [one.event for one in journal.read(0) if isinstance(one.event, ev.WarningRaised)]


async def test_r38_a_mirror_that_cannot_be_written_is_told_once_and_caught_up_with(
    running, journal, tell, shop, clock
):
    (shop.root / ".amiral").write_text("in the way")
    await tell("m1", BLOCK)
    for _ in range(3):
        await clock.until_sleeping(1)
        await clock.advance(31)
    await clock.until_sleeping(1)
    (warning,) = warnings_of(journal)
    assert warning.subject == "mirrors"
    assert "a link or no folder is in the way" in warning.text
    assert rows.drafts(journal.rows)
    (shop.root / ".amiral").unlink()
    await clock.advance(31)
    await until(lambda: shop.file("spec_queue.json"))
    assert len(shop.log("consultant")) == 2


async def mirror(start, shop, text, journal):
    """Have the mirrors, begun anew, take up one more message."""
    mirrors = start(journal)
    await journal.append(question(text), by="owner")
    await until(lambda: text in texts(shop))
    await end(mirrors)


def texts(shop):
    return [line["text"] for line in shop.log("consultant")]


async def test_mirrors_of_another_journal_begin_anew_and_old_lines_stay(
    start, journal, clock, shop, tmp_path
):
    for text in ("one", "two", "three"):
        await mirror(start, shop, text, journal)
    other = await Journal.open(tmp_path / "other" / "journal.db", clock, [SPECS])
    await mirror(start, shop, "new", other)
    await other.close()
    assert texts(shop) == ["one", "two", "three", "new"]


async def test_a_journal_brought_back_from_a_backup_repeats_no_line(start, journal, shop):
    await journal.append(question("old"), by="owner")
    shop.record.write_text(json.dumps({"epoch": journal.epoch, "since": 98, "upto": 99}))
    start()
    async with asyncio.timeout(PATIENCE_S):
        for number in count():
            await journal.append(question(f"new {number}"), by="owner")
            if texts(shop):
                break
            await asyncio.sleep(0.01)
    assert "old" not in texts(shop)


async def test_r37_a_damaged_record_is_told_and_its_last_good_version_used(start, journal, shop):
    await mirror(start, shop, "one", journal)
    shop.record.write_text("{")
    await mirror(start, shop, "two", journal)
    assert texts(shop) == ["one", "two"]
    assert [warning.subject for warning in warnings_of(journal)] == ["mirrors"]


KILLS = [
    *(f"mirrors.begun:{nth}" for nth in (1, 2)),
    *(f"mirrors.appended:{nth}" for nth in (1, 2)),
    *(f"mirrors.replaced:{nth}" for nth in (1, 3)),
    *("specs.read:1", "specs.read:3", "specs.taken:1"),
]


@pytest.mark.parametrize("place", KILLS)
async def test_p01_killed_anywhere_every_line_is_there_once_and_in_order(
    tmp_path, clock, shop, place
):
    environ = {**os.environ, "AMIRAL_FAILPOINTS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    codes = []
    for failpoint in (place, place, ""):
        command = [sys.executable, str(SCRIPT), str(tmp_path)]
        env = {**environ, "AMIRAL_FAILPOINT": failpoint}
        done = await asyncio.to_thread(
            subprocess.run, command, env=env, capture_output=True, text=True, timeout=60
        )
        assert done.returncode in {0, -9}, done.stderr
        codes.append(done.returncode)
    assert (codes[0], codes[-1]) == (-9, 0)
    journal = await Journal.open(tmp_path / "home" / "journal.db", clock, [SPECS])
    said, moved = expected_lines(journal.read(0))
    await journal.close()
    assert shop.log("consultant") == said
    assert shop.log("specs") == moved
    assert len(moved) == 3
    queue = shop.file("spec_queue.json")
    assert [spec["id"] for spec in queue] == [line["specId"] for line in moved]


def expected_lines(events):
    """Tell the logs from the journal's events once more, in plain words."""
    made: dict[str, list[str]] = {}
    said: list[object] = []
    moved: list[object] = []
    for one in events:
        if isinstance(one.event, ev.SpecCreated):
            made.setdefault(one.event.message, []).append(one.event.spec)
    for one in events:
        ts = iso_utc(one.ts_ms)
        match one.event:
            case ev.MessageQueued() as event:
                role = "ceo" if event.sender == "owner" else event.sender
                said.append({"ts": ts, "role": role, "text": event.text})
            case ev.TurnEnded() as event:
                specs = made.get(event.message)
                held = {"specs": specs} if specs else {}
                said.append({"ts": ts, "role": event.worker, "text": event.text} | held)
            case ev.SpecCreated() as event:
                line = {"event": "created", "specId": event.spec, "title": "A"}
                moved.append({"ts": ts, **line, "by": "consultant"})
            case _:
                pass
    return said, moved
