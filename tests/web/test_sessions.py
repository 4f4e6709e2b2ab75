"""One-time codes and sessions: used once, ended in time, kept as hashes."""

import pytest

from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock
from amiral.web.sessions import CODE_S, SESSION_S, WEB_SESSIONS, WebSessions


class Place:
    def __init__(self, folder):
        self.path, self.clock = folder / "journal.db", FakeClock()

    async def open(self):
        self.journal = await Journal.open(self.path, self.clock, [WEB_SESSIONS])
        return WebSessions(self.journal, self.clock)

    async def reopen(self):
        await self.journal.close()
        return await self.open()


@pytest.fixture
async def place(tmp_path):
    one = Place(tmp_path)
    yield one
    await one.journal.close()


async def test_a_code_opens_one_session(place):
    sessions = await place.open()
    token = await sessions.exchange(sessions.new_code())
    assert token
    assert sessions.is_open(token)
    assert not sessions.is_open(token + "x")
    assert not sessions.is_open("")


async def test_a_code_counts_once(place):
    sessions = await place.open()
    code, other = sessions.new_code(), sessions.new_code()
    assert await sessions.exchange(code)
    assert await sessions.exchange(code) == ""
    assert await sessions.exchange(other)


async def test_a_code_counts_for_ten_minutes(place):
    sessions = await place.open()
    early, late = sessions.new_code(), sessions.new_code()
    await place.clock.advance(CODE_S)
    assert await sessions.exchange(early)
    await place.clock.advance(1)
    assert await sessions.exchange(late) == ""


@pytest.mark.parametrize("code", ["", "guess", "é", "\udcff", "x" * 10_000])
async def test_what_is_no_code_opens_nothing(place, code):
    sessions = await place.open()
    sessions.new_code()
    assert await sessions.exchange(code) == ""
    assert not sessions.is_open(code)
    assert place.journal.last_seq == 0


async def test_many_codes_that_nobody_uses_do_not_pile_up(place):
    sessions = await place.open()
    first, *others = [sessions.new_code() for _ in range(100)]
    assert await sessions.exchange(first) == ""
    assert await sessions.exchange(others[-1])


async def test_a_session_outlives_the_process_and_a_code_does_not(place):
    sessions = await place.open()
    code, token = sessions.new_code(), await sessions.exchange(sessions.new_code())
    sessions = await place.reopen()
    assert sessions.is_open(token)
    assert await sessions.exchange(code) == ""
    await place.journal.rebuild()
    assert sessions.is_open(token)


async def test_a_session_ends_after_thirty_days(place):
    sessions = await place.open()
    token = await sessions.exchange(sessions.new_code())
    place.clock.jump(SESSION_S * 1000 - 1)
    assert sessions.is_open(token)
    place.clock.jump(1)
    assert not sessions.is_open(token)


async def test_neither_code_nor_token_is_written_anywhere(place):
    sessions = await place.open()
    code = sessions.new_code()
    token = await sessions.exchange(code)
    await place.journal.close()
    written = b"".join(path.read_bytes() for path in place.path.parent.iterdir())
    assert token.encode() not in written
    assert code.encode() not in written
    await place.open()
