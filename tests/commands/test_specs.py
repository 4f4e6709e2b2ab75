"""Specs by command: who may, what is told, what the worker is asked."""

import asyncio
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from amiral.agents import rows as queue
from amiral.agents.declared import shipped
from amiral.agents.inbox import Inbox
from amiral.agents.roster import ROLE, Roster
from amiral.agents.tables import ENGINE
from amiral.base import events as ev
from amiral.base.errors import Conflict, Denied, Invalid, NotFound
from amiral.commands.arguments import parse_argv
from amiral.commands.grammar import parse_chat, route
from amiral.commands.registry import Caller, Commands, Role
from amiral.commands.specs import SpecCommands
from amiral.commands.table import TABLE
from amiral.specs.card import card
from amiral.specs.rows import named
from amiral.specs.store import Specs
from amiral.specs.tables import SPECS
from amiral.store.brake import Brake
from amiral.store.journal import Journal
from amiral.testbench.fake_clock import FakeClock

OWNER = Caller("owner", Role.OWNER, "console")


class Idle:
    """Turns that never end, in sessions nobody asks for."""

    async def run(self, *_):
        await asyncio.Event().wait()


@pytest.fixture
async def journal(tmp_path):
    tables = [ENGINE, ROLE, SPECS]
    opened = await Journal.open(tmp_path / "state" / "journal.db", FakeClock(), tables)
    await opened.append(created("a1b2c3d4"), created("e5f6a7b8"))
    yield opened
    await opened.close()


def created(spec_id):
    return ev.SpecCreated(
        *(spec_id, f"Title of {spec_id}", "P: x", "A", ("a", "b"), ("f",), "low", "consultant"),
        *("consultant-owner", f"m{spec_id}"),
    )


@pytest.fixture
def brake(tmp_path):
    brake = Brake(tmp_path / "brake")
    brake.prepare()
    return brake


@pytest.fixture
async def say(journal, brake):
    """Dispatch a command line, or a chat message that begins with a slash."""
    idle: Any = Idle()
    roster = Roster(journal, shipped, "scripted")
    inbox = Inbox(journal, FakeClock(), brake, idle, idle, roster.find)
    topic = SpecCommands(Specs(journal, FakeClock()), journal, inbox, roster)
    commands = Commands(TABLE, topic)

    async def say(text, caller=OWNER):
        if text.startswith("/"):
            routed = route(text, roster.ids(), TABLE.by_chat_name(), "developer")
            return await commands.dispatch(caller, parse_chat(routed, TABLE))
        return await commands.dispatch(caller, parse_argv(text.split(), TABLE))

    yield say
    await inbox.stop()


def data(reply):
    return msgspec.json.decode(msgspec.json.encode(reply.data))


@pytest.mark.parametrize("text", ["specs", "/specs", "/SPECS "])
async def test_s0_11_all_specs_are_listed_with_their_status(say, text):
    await say("approve e5f6a7b8")
    reply = await say(text, Caller("guest", Role.VIEWER, "telegram"))
    assert reply.text == (
        "? a1b2c3d4  draft      Title of a1b2c3d4\n⏳ e5f6a7b8  approved   Title of e5f6a7b8"
    )
    assert [(spec["id"], spec["status"]) for spec in data(reply)] == [
        ("a1b2c3d4", "draft"),
        ("e5f6a7b8", "approved"),
    ]


async def test_s0_16_json_has_the_fields_under_their_names(say):
    spec = data(await say("spec show a1b2c3d4"))
    now = spec["createdAt"]
    assert now.endswith("Z")
    assert spec == {
        "id": "a1b2c3d4",
        "title": "Title of a1b2c3d4",
        "problem": "P: x",
        "approach": "A",
        "acceptance": ["a", "b"],
        "files": ["f"],
        "complexity": "low",
        "status": "draft",
        "createdAt": now,
        "updatedAt": now,
        "consultantThread": "consultant-owner",
        "revision": 1,
        "reason": "",
        "by": "consultant",
        "failed": False,
        "worker": "",
        "branch": "",
        "commit": "",
        "ticks": [],
        "tests": "",
        "merged": "",
    }


@pytest.mark.parametrize(
    "text", ["approve a1b2c3d4", "spec approve A1B2C3D4", "/approve  a1b2c3d4"]
)
async def test_s0_9_the_owner_approves(say, text):
    reply = await say(text)
    assert reply.text == "✓ approved a1b2c3d4 · Title of a1b2c3d4"
    assert (data(reply)["status"], data(reply)["by"]) == ("approved", "owner")


@pytest.mark.parametrize("text", ["reject a1b2c3d4 --reason=no", "/reject a1b2c3d4 no"])
async def test_s0_10_the_owner_rejects_with_a_reason(say, text):
    reply = await say(text)
    assert reply.text == "✗ rejected a1b2c3d4 · Title of a1b2c3d4"
    assert (data(reply)["status"], data(reply)["reason"]) == ("rejected", "no")


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER, Role.AGENT])
@pytest.mark.parametrize(
    "text", ["approve a1b2c3d4", "reject a1b2c3d4", "spec revise a1b2c3d4", "spec run a1b2c3d4"]
)
async def test_s0_31_nobody_but_the_owner_decides(say, role, text):
    with pytest.raises(Denied):
        await say(text, Caller("guest", role, "telegram"))


@pytest.mark.parametrize("text", ["/approve", "/reject", "approve", "reject"])
async def test_r44_approve_and_reject_alone_list_what_waits(say, journal, text):
    await say("approve e5f6a7b8")
    before = journal.last_seq
    reply = await say(text)
    assert [spec["id"] for spec in data(reply)] == ["a1b2c3d4"]
    assert journal.last_seq == before
    await say("approve a1b2c3d4")
    assert (await say(text)).text == "✓ no spec waits for you"


async def test_r44_a_second_tap_is_told_the_earlier_result(say):
    await say("/approve a1b2c3d4")
    with pytest.raises(Conflict, match=r"it is approved, by owner at .*Z$") as caught:
        await say("/approve a1b2c3d4")
    assert caught.value.exit_code == 6
    with pytest.raises(NotFound, match="did you mean a1b2c3d4"):
        await say("/approve a1b2c3d")


async def test_r44_a_card_of_a_revision_approves_that_revision_only(say, journal):
    revised = ev.SpecRevised("a1b2c3d4", 2, "New", "P", "A", ("a",), (), "low", "m2")
    await journal.append(ev.SpecRejected("a1b2c3d4"), revised)
    with pytest.raises(Conflict, match="at revision 2, not 1 any more"):
        await say("/approve a1b2c3d4.1")
    for wrong in ("a1b2c3d4.x", "a1b2c3d4.", "a1b2c3d4.²"):
        with pytest.raises(Invalid):
            await say(f"/approve {wrong}")
    text = card(named(journal.rows, "a1b2c3d4"), is_chat=True).split("\n")[-1].split("   ")[0]
    assert data(await say(text))["title"] == "New"


@pytest.mark.parametrize(
    "text", ["spec revise a1b2c3d4 --reason=smaller", "/revise a1b2c3d4 smaller"]
)
async def test_s0_18_a_spec_sent_back_is_rejected_and_its_author_asked_with_the_old_block(
    say, journal, text
):
    reply = await say(text)
    assert reply.text == "⏳ consultant writes it again · a1b2c3d4 · Title of a1b2c3d4"
    assert (data(reply)["status"], data(reply)["reason"]) == ("rejected", "smaller")
    (message,) = queue.waiting(journal.rows, "consultant")
    assert message.conversation == "consultant-owner"
    assert message.text == (
        "Spec a1b2c3d4 comes back to you: smaller\n"
        "Write it again as one SPEC block and keep its line `revises`. It was:\n\n"
        "```spec\nrevises: a1b2c3d4\ntitle: Title of a1b2c3d4\nproblem: 'P: x'\napproach: A\n"
        "acceptance:\n- a\n- b\nfiles:\n- f\ncomplexity: low\n```\n"
    )
    (event,) = (one.event for one in journal.read(0) if one.name == "MessageQueued")
    assert (event.reply_to, event.sender, event.surface) == ("a1b2c3d4", "owner", "console")


async def test_a_spec_sent_back_without_a_reason_keeps_the_one_it_was_rejected_for(say, journal):
    await say("reject a1b2c3d4 --reason=big")
    await say("spec revise a1b2c3d4")
    await say("spec revise e5f6a7b8")
    first, second = queue.waiting(journal.rows, "consultant")
    assert first.text.startswith("Spec a1b2c3d4 comes back to you: big\n")
    assert second.text.startswith("Spec e5f6a7b8 comes back to you.\n")


async def test_p03_nothing_is_sent_back_while_a_stop_is_on(say, journal, brake):
    brake.engage("fire", "me", 1)
    with pytest.raises(Conflict, match=r"stop .* is on"):
        await say("spec revise a1b2c3d4")
    assert named(journal.rows, "a1b2c3d4").status == "draft"


async def test_a_spec_whose_author_is_gone_stays_as_it_is(say, journal):
    event = created("c9d0e1f2")
    await journal.append(replace(event, worker="nobody"))
    with pytest.raises(NotFound, match="no worker 'nobody'"):
        await say("spec revise c9d0e1f2")
    assert named(journal.rows, "c9d0e1f2").status == "draft"


@pytest.mark.parametrize("text", ["spec run a1b2c3d4", "/retry a1b2c3d4"])
async def test_a_failed_spec_is_carried_out_again(say, journal, text):
    await say("approve a1b2c3d4")
    executing = ev.SpecExecuting("a1b2c3d4", 1, "developer", "m", "b", "c")
    await journal.append(executing, ev.SpecFailed("a1b2c3d4", 1, "1 test fails"))
    assert (await say("specs")).text.startswith("✗ a1b2c3d4  failed")
    reply = await say(text)
    assert reply.text == "⏳ in the queue again · a1b2c3d4 · Title of a1b2c3d4"
    assert (data(reply)["status"], data(reply)["failed"]) == ("approved", False)
    with pytest.raises(Conflict, match="cannot be carried out again"):
        await say(text)


async def test_one_spec_is_shown_in_full(say):
    for text in ("spec show a1b2c3d4", "/spec a1b2c3d4"):
        assert "\nDone when\n  - a\n  - b\n" in (await say(text)).text
    with pytest.raises(NotFound):
        await say("spec show zzzz")
