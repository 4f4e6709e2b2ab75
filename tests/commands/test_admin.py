"""Upkeep: trust, rebuilt tables, going down."""

import json

import pytest

from amiral.base import events as ev
from amiral.base.errors import Denied, NotFound
from amiral.commands.registry import Role
from amiral.projects.trust import State

QUEUED = ("m1", "consultant", "consultant-owner", "hello", "owner")


def lay(desk, text='{"version": 1, "workers": []}'):
    folder = desk.home.with_name("shop") / ".amiral" / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "workers_registry.json").write_text(text)


async def test_what_waits_for_trust_is_listed_and_trusted_as_it_lies_there(desk):
    assert (await desk.ask("trust")).text == "✓ nothing waits for trust"
    lay(desk)
    assert (await desk.ask("trust")).data == {
        "files": [{"file": "config/workers_registry.json", "state": "new"}]
    }
    reply = await desk.ask("trust", "workers_registry.json")
    assert '+{"version": 1, "workers": []}' in reply.text
    assert reply.text.endswith("✓ trusted config/workers_registry.json")
    (event,) = desk.told(ev.FileTrusted)
    assert (event.file, event.sha256) == (reply.data["file"], reply.data["sha256"])
    assert (await desk.ask("trust")).data == {"files": []}
    lay(desk, "changed")
    (file,) = (await desk.ask("trust")).data["files"]
    assert file["state"] == str(State.CHANGED)


async def test_what_is_trusted_is_in_force_in_the_very_next_answer(desk):
    row: dict[str, object] = {
        "id": "tester",
        "label": "Tester",
        "icon": "T",
        "type": "chat",
        "model": "sonnet",
    }
    row |= {"max_turns": 0, "tools": ["Read"], "system_prompt_skill": "", "focus_dirs": []}
    row |= {"prompt_style": "history", "output_format": "text", "log_category": "tester"}
    lay(desk, json.dumps({"version": 1, "workers": [row]}))
    await desk.roster.refresh()
    status = (await desk.ask("status")).data["projects"][0]
    assert "workers_registry.json" in status["notices"][0]
    await desk.ask("trust", "workers_registry.json")
    status = (await desk.ask("status")).data["projects"][0]
    assert status["notices"] == []
    assert "tester" in [worker["id"] for worker in status["workers"]]


async def test_what_is_not_there_cannot_be_trusted(desk):
    for name in ("nothing.json", "../../etc/passwd", "/etc/passwd"):
        with pytest.raises(NotFound):
            await desk.ask("trust", name)
    assert desk.told(ev.FileTrusted) == []


async def test_tables_rebuilt_are_the_tables_there_were(desk):
    await desk.journal.append(ev.MessageQueued(*QUEUED), ev.RoleChosen("consultant"))

    def everything():
        return [
            desk.journal.rows(f"select * from {table} order by 1")
            for table in ("inbox", "utterances", "role")
        ]

    before = everything()
    reply = await desk.ask("journal", "rebuild")
    assert reply.data == {"last_seq": desk.journal.last_seq}
    assert everything() == before != [[], [], []]


async def test_going_down_says_whether_the_agents_go_too(desk):
    assert (await desk.ask("down")).text == "✓ shop goes down"
    await desk.ask("down", "--agents")
    assert desk.went_down == [False, True]


@pytest.mark.parametrize("words", [["trust"], ["down"], ["journal", "rebuild"]])
async def test_upkeep_is_the_owners(desk, words):
    for role in (Role.MEMBER, Role.VIEWER, Role.AGENT):
        with pytest.raises(Denied):
            await desk.ask(*words, role=role)
    assert desk.went_down == []
