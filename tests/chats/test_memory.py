"""What was said last in a chat, whoever said it, as a file holds it (S1.18)."""

import json

import pytest

from amiral.base import chat_events as ev
from amiral.chats.memory import KEPT, thread_history
from amiral.chats.tables import CHATS
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock

ME = "telegram:1"


@pytest.fixture
async def journal(tmp_path):
    opened = await Journal.open(tmp_path / "state" / "journal.db", FakeClock(), (CHATS,))
    yield opened
    await opened.close()


def heard(number, chat="7", account=ME, message="", worker=""):
    place = (account, chat, "", str(number), "telegram:2", "Bea", f"said {number}", number * 1000)
    return ev.ChatHeard(*place, message, worker)


def history(journal):
    return thread_history(journal.rows, ME, lambda message: f"answer to {message}")


async def test_s1_18_the_last_fifty_of_each_chat_are_there_oldest_first(journal):
    await journal.append(*(heard(number) for number in range(60)), heard(1, "8"))
    await journal.append(heard(2, "9", account="telegram:2"))
    chats = history(journal)
    assert {chat: len(said) for chat, said in chats.items()} == {"7": KEPT, "8": 1}
    assert [one["id"] for one in chats["7"]] == [str(number) for number in range(10, 60)]
    assert chats["8"][0] == {
        "id": "1",
        "at": "1970-01-01T00:00:01.000Z",
        "from": "Bea",
        "text": "said 1",
    }
    assert json.loads(json.dumps(chats)) == chats


async def test_s1_18_our_own_words_are_among_them_once_however_many_parts_they_have(journal):
    await journal.append(heard(1, message="m1", worker="consultant"))
    for key, text, message in (("k1", "", "m1"), ("k2", "✓ done", "")):
        await journal.append(
            ev.ChatReplyDue(key, ME, "7", "", text=text, message=message),
            ev.ChatPartSent(key, 0, f"{key}-0"),
            ev.ChatPartSent(key, 1, f"{key}-1"),
        )
    await journal.append(ev.ChatReplyDue("k3", ME, "7", ""), ev.ChatPartSending("k3", 0))
    said = [(one["id"], one["from"], one["text"]) for one in history(journal)["7"]]
    assert sorted(said) == [
        ("1", "Bea", "said 1"),
        ("k1-0", "consultant", "answer to m1"),
        ("k2-0", "amiral", "✓ done"),
    ]
