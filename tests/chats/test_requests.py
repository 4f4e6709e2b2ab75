"""A permission request is put before owners alone, with buttons, and tells how it ended."""

import asyncio
import contextlib

import pytest

from amiral.agents.tables import ENGINE
from amiral.base import chat_events as ev
from amiral.base import events
from amiral.chats import rows
from amiral.chats.requests import Requests
from amiral.chats.tables import CHATS
from amiral.chats.taps import TAPS
from amiral.safety.approvals import Approvals
from amiral.store.brake import Brake
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock

ME, OWNER, MEMBER = "telegram:7", "telegram:1", "telegram:2"
PATIENCE_S = 20.0


@pytest.fixture
async def journal(tmp_path):
    tables = (ENGINE, CHATS, TAPS)
    opened = await Journal.open(tmp_path / "state" / "journal.db", FakeClock(), tables)
    yield opened
    await opened.close()


@pytest.fixture
async def approvals(journal, tmp_path):
    brake = Brake(tmp_path / "brake")
    brake.prepare()
    clock = FakeClock()
    one = Approvals(journal, clock, brake, lambda _: None)
    requests = Requests(journal, clock, ME, one, lambda: frozenset({OWNER, "matrix:@a:b"}))
    task = asyncio.create_task(requests.run())
    yield one
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def asked(journal, sender, chat):
    """A message from a chat whose turn waits for a permission; gives how it is told."""
    queued = events.MessageQueued("m1", "dev", "dev-owner", "push it", sender)
    expires_ms = FakeClock().now_ms() + 3_600_000
    who = ("a1b2c3d4", "m1", "t1", "dev", "s1", "ask-1", "Bash")
    await journal.append(
        queued,
        ev.ChatReplyDue("k1", ME, chat, "", message="m1"),
        events.ApprovalAsked(*who, "git push", "git push", "d" * 64, "a rule", expires_ms),
    )
    return await told(journal, lambda found: found)


async def told(journal, holds):
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = [one for one in rows.due(journal.rows, ME) if one.key.startswith("request:")]
            if holds(found):
                return found
            await asyncio.sleep(0.002)


@pytest.mark.parametrize(
    ("sender", "chat", "expected"),
    [
        (OWNER, "1", "1"),
        (OWNER, "-100", "-100"),
        (MEMBER, "2", "1"),
        (MEMBER, "-100", "1"),
        ("owner", "1", "1"),
    ],
)
async def test_a_request_is_told_to_owners_where_they_asked_else_in_their_own_chat(
    journal, approvals, sender, chat, expected
):
    del approvals
    (request,) = await asked(journal, sender, chat)
    assert request.spot.chat == expected
    assert "dev wants to use Bash" in request.text
    assert [button.label for row in request.buttons for button in row] == ["✓ Allow", "✗ Deny"]


async def test_an_answered_request_says_so_and_has_no_buttons(journal, approvals):
    await asked(journal, OWNER, "1")
    await approvals.answer("a1b2c3d4", allow=True, by=OWNER)
    (request,) = await told(journal, lambda found: not found[0].buttons)
    assert "was allowed by telegram:1" in request.text
