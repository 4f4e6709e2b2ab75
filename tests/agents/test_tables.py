"""The engine's tables follow from events alone: step by step, and again from the start."""

import pytest

from amiral.agents import rows
from amiral.agents.tables import ENGINE
from amiral.base import events as ev
from amiral.conversations.store import CONVERSATIONS
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock

TABLES = ("inbox", "turns", "sessions", "resume_keys", "limits", "utterances")
AT = (1, 10)


class Book:
    """A journal with short words for what happens to message m1 of worker dev in session s1."""

    def __init__(self, journal):
        self.journal = journal

    async def add(self, *events):
        await self.journal.append(*events)

    async def queue(self, message="m1", worker="dev"):
        await self.add(ev.MessageQueued(message, worker, f"{worker}-owner", "do it", "owner"))

    async def open(self, session="s1", key=""):
        names = (session, "dev", "dev-owner", "scripted", "/shop", "/sock", "seat", key, "fresh")
        await self.add(ev.SessionOpened(*names))

    async def start(self, message="m1", turn="t1", session="s1"):
        await self.add(ev.TurnStarted(turn, message, "dev", session, message))

    async def end(self, outcome="done", message="m1", turn="t1", session="s1", reason=""):
        who = (turn, message, "dev", session)
        await self.add(ev.TurnEnded(*who, AT, outcome, "text", reason))

    async def park(self):
        await self.add(ev.TurnParked("t1", "m1", "dev", "s1", AT, "week", 5, "cli", "wait"))

    def message(self, message="m1"):
        return rows.find_waiting(self.journal.rows, message)

    def session(self) -> rows.SessionRow:
        found = rows.find_session(self.journal.rows, "s1")
        assert found is not None
        return found

    def turns(self):
        return self.journal.rows("select turn, session, outcome from turns order by turn")

    def key(self):
        return rows.find_resume_key(self.journal.rows, "dev-owner", "scripted")

    def dump(self):
        read = self.journal.rows
        return {name: sorted(map(repr, read(f"select * from {name}"))) for name in TABLES}


@pytest.fixture
async def book(tmp_path):
    path = tmp_path / "j" / "journal.db"
    journal = await Journal.open(path, FakeClock(), (ENGINE, CONVERSATIONS))
    yield Book(journal)
    await journal.close()


async def test_a_message_goes_through_its_states(book):
    await book.queue()
    assert (book.message().state, book.message().line) == ("queued", "")
    await book.open()
    await book.start()
    assert (book.message().state, book.message().turn) == ("injected", "t1")
    assert rows.is_busy(book.journal.rows, "s1")
    await book.add(ev.MessageSeen("t1", "m1", "dev", "s1", AT))
    assert book.message().state == "seen"
    await book.end()
    assert book.message() is None
    assert rows.state_of(book.journal.rows, "m1") == "done"
    assert rows.state_of(book.journal.rows, "m2") == ""
    assert book.turns() == [("t1", "s1", "done")]
    assert not rows.is_busy(book.journal.rows, "s1")


async def test_a_returned_message_is_as_good_as_new_but_counted(book):
    await book.queue()
    await book.queue("m2")
    await book.start()
    await book.add(ev.MessageReturned("m1", "dev", "gone"))
    found = book.message()
    assert (found.state, found.turn, found.session, found.line) == ("queued", "", "", "")
    assert found.returns == 1
    assert book.turns() == []
    assert [one.message for one in rows.waiting(book.journal.rows, "dev")] == ["m1", "m2"]


async def test_a_returned_message_that_was_resumed_goes_on_with_its_turn(book):
    await book.queue()
    await book.start()
    await book.park()
    assert rows.parked(book.journal.rows)[0].resets_at_ms == 5
    await book.add(ev.ResumeOrdered("t1", "m1", "dev"))
    assert book.message().state == "resuming"
    assert rows.parked(book.journal.rows, "dev") == []
    await book.add(ev.TurnResumed("t1", "m1", "dev", "s2", "m1.1"))
    assert (book.message().state, book.message().line) == ("injected", "m1.1")
    await book.add(ev.MessageReturned("m1", "dev", "gone"))
    found = book.message()
    assert (found.state, found.turn, found.resumes, found.line) == ("resuming", "t1", 1, "")
    assert book.turns() == [("t1", "s2", "")]


async def test_an_ended_turn_holds_its_worker_no_longer(book):
    await book.queue()
    await book.start()
    await book.park()
    await book.add(ev.TurnEnded("another", "m0", "dev", "s1", AT, "done"))
    assert len(rows.parked(book.journal.rows)) == 1
    await book.end("cancelled")
    assert rows.parked(book.journal.rows) == []


async def test_a_session_counts_as_open_only_once_it_is_launched(book):
    await book.open()
    assert [row.state for row in rows.open_sessions(book.journal.rows)] == ["opening"]
    await book.add(ev.SessionLaunched("s1", "dev", 5, "1.0"))
    assert [row.state for row in rows.open_sessions(book.journal.rows, "dev")] == ["open"]
    assert rows.open_sessions(book.journal.rows, "two") == []
    await book.add(ev.SessionEnded("s1", "dev", "idle"))
    assert rows.open_sessions(book.journal.rows) == []


async def test_a_session_remembers_the_id_its_cli_named_and_where_it_was_read_to(book):
    await book.open()
    await book.add(ev.SessionIdObserved("s1", "dev", (2, 30), "other"))
    row = book.session()
    assert (row.observed, row.position, row.snapshot_at) == ("other", (2, 30), (1, 0))
    assert rows.knows_nothing(book.journal.rows, "s1")
    await book.add(ev.OutputRead("s1", (2, 40), '{"x":1}'))
    row = book.session()
    assert (row.position, row.snapshot_at, row.snapshot) == ((2, 40), (2, 40), '{"x":1}')
    assert not rows.knows_nothing(book.journal.rows, "s1")


async def test_a_resumed_session_knows_what_was_before(book):
    await book.open(key="k1")
    assert not rows.knows_nothing(book.journal.rows, "s1")


async def test_r17_a_key_is_kept_for_each_conversation_and_driver_until_it_is_lost(book):
    await book.open()
    await book.add(ev.ResumeKeyProved("dev-owner", "scripted", "k1", "s1", "/shop"))
    assert book.key() == rows.ResumeKey("k1", "/shop", False, "")
    assert rows.find_resume_key(book.journal.rows, "dev-owner", "claude") is None
    await book.add(ev.ContextLost("dev-owner", "dev", "scripted", "another", "gone"))
    assert book.key() is not None
    await book.add(ev.ContextLost("dev-owner", "dev", "scripted", "k1", "gone"))
    assert book.key() is None


async def test_r20_a_key_remembers_whether_it_worked_and_how_its_last_turn_failed(book):
    await book.queue()
    await book.open()
    await book.add(ev.ResumeKeyProved("dev-owner", "scripted", "k1", "s1", "/shop"))
    for outcome, has_worked, failure in (
        ("failed", False, "bad"),
        ("interrupted", False, "bad"),
        ("done", True, ""),
        ("failed", True, "bad"),
        ("unsure", True, "bad"),
    ):
        await book.end(outcome, reason="bad")
        await book.add(ev.ResumeKeyProved("dev-owner", "scripted", "k2", "s1", "/shop"))
        assert book.key() == rows.ResumeKey("k2", "/shop", has_worked, failure)


async def test_the_failure_of_another_conversation_does_not_count(book):
    await book.queue()
    await book.open()
    await book.add(ev.ResumeKeyProved("dev-owner", "scripted", "k1", "s1", "/shop"))
    await book.end("failed", session="s9", reason="bad")
    assert book.key().failure == ""


async def test_lively_workers_have_messages_or_sessions(book):
    assert rows.lively_workers(book.journal.rows) == []
    await book.queue("m1", "two")
    await book.open()
    assert sorted(rows.lively_workers(book.journal.rows)) == ["dev", "two"]
    await book.add(ev.SessionEnded("s1", "dev", "idle"), ev.MessageCancelled("m1", "two", "x"))
    assert rows.lively_workers(book.journal.rows) == []


async def test_the_newest_ended_sessions_are_left_out_of_the_old_ones(book):
    for number in range(5):
        await book.open(f"s{number}")
        await book.add(ev.SessionEnded(f"s{number}", "dev", "x"))
    await book.open("s9")
    assert rows.ended_sessions(book.journal.rows, "dev", after=2, limit=2) == ["s2", "s1"]
    assert rows.ended_sessions(book.journal.rows, "two", after=0, limit=9) == []


async def test_the_tables_follow_from_the_events_alone(book):
    await book.queue()
    await book.queue("m2", "two")
    await book.open()
    await book.start()
    await book.add(
        ev.SessionLaunched("s1", "dev", 5), ev.WorkerSaid("t1", "dev", "s1", (1, 7), "x")
    )
    await book.park()
    await book.add(ev.ResumeOrdered("t1", "m1", "dev"), ev.WarningRaised("turn", "x"))
    await book.add(ev.TurnResumed("t1", "m1", "dev", "s1", "m1.1"), ev.OutputRead("s1", AT, "{}"))
    await book.add(ev.ResumeKeyProved("dev-owner", "scripted", "k1", "s1", "/shop"))
    await book.end()
    before = book.dump()
    assert before["inbox"]
    assert before["utterances"]
    await book.journal.rebuild()
    assert book.dump() == before
