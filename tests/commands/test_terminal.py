"""What is told of terminals of workers, and what is kept waiting by them."""

import pytest

from amiral.base import events as ev
from amiral.base.errors import Conflict, Denied, NotFound
from amiral.commands.registry import Role


async def test_opening_one_tells_how_to_get_there_and_how_to_end_it(desk):
    reply = await desk.ask("terminal", "developer")
    assert reply.data == {"worker": "developer", "attach": "tmux attach -t '=developer'"}
    lines = reply.text.split("\n")
    assert lines[0] == "✓ the terminal of developer is open; its messages wait until it ends"
    assert lines[1:] == ["  tmux attach -t '=developer'", "  amiral terminal close developer"]
    with pytest.raises(NotFound):
        await desk.ask("terminal", "nobody")


async def test_status_tells_of_an_open_one_and_closing_ends_it(desk):
    await desk.ask("terminal", "developer")
    status = await desk.ask("status")
    told = {row["id"]: row["state"] for row in status.data["projects"][0]["workers"]}
    assert (told["developer"], told["consultant"]) == ("terminal", "idle")
    assert "⏸ developer (active) · terminal · amiral terminal close developer" in status.text
    assert (await desk.ask("terminal", "close", "Developer")).data == {"worker": "developer"}
    with pytest.raises(Conflict, match="no open terminal"):
        await desk.ask("terminal", "close", "developer")


async def test_who_speaks_to_its_worker_is_told_at_once_what_the_message_waits_for(desk):
    desk.tray.outcome = ""
    await desk.ask("terminal", "developer")
    reply = await desk.ask("say", "/d hello")
    assert (reply.data.outcome, reply.exit_code) == ("pending", 0)
    assert "its terminal is open; to go on: amiral terminal close developer" in reply.text
    assert len(desk.told(ev.MessageQueued)) == 1


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER, Role.AGENT])
@pytest.mark.parametrize("words", [("terminal", "developer"), ("terminal", "close", "developer")])
async def test_only_the_owner_opens_and_ends_them(desk, role, words):
    with pytest.raises(Denied):
        await desk.ask(*words, role=role)
    assert desk.tray.terminals == []
