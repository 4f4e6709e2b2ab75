"""Permission requests by command: shown, answered once, by the owner alone."""

import pytest

from amiral.base import events as ev
from amiral.base.errors import Conflict, Denied, Invalid, NotFound
from amiral.commands.grammar import parse_chat, route
from amiral.commands.registry import Caller, Role
from amiral.commands.table import TABLE

FAR_MS = 4102444800000
ASKED = ("m1", "t1", "dev", "s1", "7", "Bash", "git push", "git push", "d" * 64, "a rule", FAR_MS)


@pytest.fixture
async def desk(desk):
    await desk.journal.append(ev.ApprovalAsked("a1b2c3d4", *ASKED))
    return desk


async def test_what_waits_is_shown_with_what_it_would_do(desk):
    reply = await desk.ask("approvals")
    lines = reply.text.split("\n")
    assert lines[:3] == ["? a1b2c3d4 · dev wants to use Bash", "  │ git push", "  a rule"]
    assert lines[-1].startswith("  amiral approve-request a1b2c3d4 allow")
    (one,) = reply.data["approvals"]
    assert (one["id"], one["state"], one["preview"]) == ("a1b2c3d4", "waiting", "git push")
    assert (one["digest"], one["why"]) == ("d" * 64, "a rule")
    assert one["expires_at"] == "2100-01-01T00:00:00.000Z"
    assert (one["by"], one["ended_at"]) == ("", "")


async def test_a_request_is_shown_when_no_answer_is_given(desk):
    shown = await desk.ask("approve-request", "a1b2c3d4", surface="telegram")
    assert "  │ git push" in shown.text
    assert "/approve_request a1b2c3d4 deny" in shown.text
    assert desk.told(ev.ApprovalAnswered) == []


@pytest.mark.parametrize(("answer", "mark"), [("allow", "✓ allowed"), ("deny", "✗ denied")])
async def test_a_request_is_answered_once(desk, answer, mark):
    reply = await desk.ask("approve-request", "a1b2c3d4", answer, "--reason", "so be it")
    assert reply.text == f"{mark} a1b2c3d4 · dev wants to use Bash: git push"
    assert (reply.data["by"], reply.data["reason"]) == ("owner", "so be it")
    assert reply.data["ended_at"]
    (event,) = desk.told(ev.ApprovalAnswered)
    assert (event.approval, event.allowed) == ("a1b2c3d4", answer == "allow")
    assert desk.woken == ["dev"]
    with pytest.raises(Conflict, match="by owner at 20"):
        await desk.ask("approve-request", "a1b2c3d4", "allow")
    shown = await desk.ask("approve-request", "a1b2c3d4")
    assert "by owner at 20" in shown.text
    empty = await desk.ask("approvals")
    assert (empty.text, empty.data) == ("✓ no request waits for you", {"approvals": []})


async def test_h4_a_surface_says_which_content_its_answer_is_to(desk):
    with pytest.raises(Conflict, match="something else"):
        await desk.ask("approve-request", "a1b2c3d4", "allow", "--digest", "e" * 64)
    assert (await desk.ask("approve-request", "a1b2c3d4", "deny", "--digest", "d" * 64)).text


async def test_a_wrong_id_or_answer_does_nothing(desk):
    with pytest.raises(NotFound, match="did you mean a1b2c3d4"):
        await desk.ask("approve-request", "a1b2c3d5", "allow")
    with pytest.raises(Invalid):
        await desk.ask("approve-request", "a1b2c3d4", "perhaps")
    assert desk.told(ev.ApprovalAnswered) == []


@pytest.mark.parametrize("role", [Role.AGENT, Role.MEMBER, Role.VIEWER])
@pytest.mark.parametrize("words", ["approvals", "approve-request a1b2c3d4 allow"])
async def test_h4_nobody_but_the_owner_answers_or_looks(desk, role, words):
    with pytest.raises(Denied):
        await desk.ask(*words.split(), role=role)
    assert desk.told(ev.ApprovalAnswered) == []


async def test_in_chat_the_rest_of_the_message_is_the_reason(desk):
    spellings = TABLE.by_chat_name()
    routed = route("/approve_request a1b2c3d4 deny not on a friday", ("dev",), spellings, "dev")
    owner = Caller("owner", Role.OWNER, "telegram")
    reply = await desk.commands.dispatch(owner, parse_chat(routed, TABLE))
    assert (reply.data["state"], reply.data["reason"]) == ("denied", "not on a friday")


async def test_the_status_names_what_waits_before_all_that_runs(desk):
    status = await desk.ask("status")
    lines = status.text.split("\n")
    assert lines[0] == ("? dev wants to use Bash: git push · expires 2100-01-01T00:00:00.000Z")
    assert lines[1] == "  amiral approve-request a1b2c3d4"
    assert status.data["projects"][0]["approvals"] == ["a1b2c3d4"]
    await desk.ask("approve-request", "a1b2c3d4", "deny")
    assert (await desk.ask("status")).data["projects"][0]["approvals"] == []
