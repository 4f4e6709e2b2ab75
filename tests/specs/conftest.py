"""What the tests of specs share: the sample spec, a journal with the tables of specs."""

from pathlib import Path

import pytest

from amiral.base import events as ev
from amiral.specs.spec import Draft
from amiral.specs.tables import SPECS
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock

SAMPLE = Path(__file__).parent / "crm-limiter.md"


@pytest.fixture(scope="session")
def sample():
    """An answer with the sample spec (S0.36)."""
    return SAMPLE.read_text("utf-8")


@pytest.fixture(scope="session")
def limiter():
    """The spec that the sample answer holds (S0.36)."""
    return Draft(
        title="Add rate limiting to CRM endpoints",
        problem="CRM API has no rate limiting, vulnerable to abuse",
        approach="Add sliding window rate limiter middleware using in-memory Map with IP-based"
        " tracking",
        acceptance=(
            "Rate limiter middleware applied to all /api/crm/* routes",
            "100 requests per minute per IP",
            "429 response with Retry-After header",
        ),
        files=("shared/crm-routes.ts", "shared/rate-limiter.ts"),
        complexity="medium",
    )


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def journal(tmp_path, clock):
    opened = await Journal.open(tmp_path / "state" / "journal.db", clock, [SPECS])
    yield opened
    await opened.close()


@pytest.fixture
def tell(journal):
    """Give a worker a message, and have it answered."""

    async def tell(
        message, answer="", worker="consultant", sender="owner", reply_to="", outcome="done"
    ):
        await journal.append(
            ev.MessageQueued(
                message=message,
                worker=worker,
                conversation=f"{worker}-owner",
                text=f"question {message}",
                sender=sender,
                surface="telegram",
                reply_to=reply_to,
            ),
            by=sender,
        )
        ended = ev.TurnEnded(f"t{message}", message, worker, "s", (1, 0), outcome, answer)
        return await journal.append(ended)

    return tell
