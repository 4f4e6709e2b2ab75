"""The text of a turn: built from the journal, so that a turn taken up again gets the same words."""

import pytest

from amiral.agents import prompt, rows
from amiral.agents.tables import ENGINE
from amiral.agents.words import Words
from amiral.base import events as ev
from amiral.conversations.store import CONVERSATIONS
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock


@pytest.fixture
async def journal(tmp_path):
    path = tmp_path / "j" / "journal.db"
    journal = await Journal.open(path, FakeClock(), (ENGINE, CONVERSATIONS))
    yield journal
    await journal.close()


async def talk(journal, *texts):
    """Have earlier messages answered, the last one waiting; give it as it is queued."""
    for number, text in enumerate(texts):
        message = f"m{number}"
        await journal.append(ev.MessageQueued(message, "dev", "dev-owner", text, "owner"))
        if number < len(texts) - 1:
            who = (f"t{number}", message, "dev", "s1")
            await journal.append(ev.TurnEnded(*who, (1, 1), "done", f"answer to {text}"))
    return rows.find_waiting(journal.rows, message)


async def test_a_session_that_knows_the_conversation_gets_the_task_alone(journal, works):
    message = await talk(journal, "one", "two")
    assert Words(journal, "shop")(message, works.make_worker(), False) == "two"


async def test_a_session_that_knows_nothing_gets_what_was_said_before(journal, works):
    message = await talk(journal, "one", "two")
    await journal.append(ev.MessageQueued("m9", "dev", "dev-owner", "later", "owner"))
    await journal.append(ev.MessageQueued("m8", "two", "owner-two", "elsewhere", "owner"))
    text = Words(journal, "shop")(message, works.make_worker(), True)
    assert text.endswith("TASK\ntwo")
    assert "owner, 2027-01-15:\n> one\ndev, 2027-01-15:\n> answer to one" in text
    assert "later" not in text
    assert "elsewhere" not in text


async def test_only_the_last_dozen_is_quoted_and_what_has_no_text_is_left_out(journal, works):
    message = await talk(journal, *(f"n{number}" for number in range(20)), "now")
    await journal.append(ev.MessageQueued("x", "dev", "dev-owner", "", "owner"))
    text = Words(journal, "shop")(message, works.make_worker(), True)
    assert text.count("\n> ") == 12
    assert "> n13\n" not in text
    assert "> answer to n13\n" not in text
    assert "> n14\n" in text


async def test_a_resumed_turn_gets_the_resume_prompt_unless_its_session_knows_nothing(
    journal, works
):
    await talk(journal, "the task")
    await journal.append(
        ev.TurnStarted("t0", "m0", "dev", "s1", "m0"),
        ev.TurnResumed("t0", "m0", "dev", "s1", "m0.1"),
    )
    (message,) = rows.waiting(journal.rows, "dev")
    words, worker = Words(journal, "shop"), works.make_worker()
    assert words(message, worker, False) == prompt.RESUME
    assert words(message, worker, True) == "the task"


async def test_the_workers_style_frames_the_task(journal, works):
    message = await talk(journal, "the task")
    text = Words(journal, "shop")(message, works.make_worker(prompt_style="gsd"), True)
    assert text.startswith("TASK\nthe task\n\nPROJECT\nshop\n")
