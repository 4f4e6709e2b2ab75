"""Questions that wait for the owner: asked, answered once, expired, taken back, killed anywhere."""

from dataclasses import replace

import pytest

from amiral.agents.approval import CHANGED, digest_of
from amiral.agents.judging import Judgement
from amiral.agents.questions import Asking
from amiral.agents.wish import Wish
from amiral.base import events as ev
from amiral.base.errors import Broken, Conflict
from amiral.permissions.rules import Posture
from amiral.safety.approvals import Approvals
from amiral.testbench.fake_clock import FakeClock

WHY = "permissions.json:4: ask execute-bash git push*"


def asked(ask="a1", command="git push"):
    given = {"command": command}
    return {"type": "asked", "ask": ask, "tool": "Bash", "summary": command, "input": given}


def asks(*_):
    return Judgement(Posture.ASK, WHY)


def said(text):
    return {"type": "said", "text": text}


@pytest.fixture
def works(works):
    works.plan.asking = Asking(asks)
    return works


async def requests(works, count=1):
    return await works.until(
        lambda: found if len(found := works.approvals.waiting()) == count else [],
        f"{count} requests",
    )


def told(works):
    """The answers the CLI has read, as ask and verdict."""
    answers = [one for one in works.records("read") if one["type"] == "answer"]
    return [(one["ask"], one["allow"], one["reason"]) for one in answers]


async def answer(works, approval, *, allow=True, **more):
    return await works.approvals.answer(approval.id, allow=allow, by="owner", **more)


async def too_late(works, approval):
    """Nothing can be done with it any more; gives what is said instead."""
    with pytest.raises(Conflict) as caught:
        await answer(works, approval)
    return caught.value.message


def approvals(works):
    kinds = (
        *(ev.ApprovalAnswered, ev.ApprovalExpired),
        *(ev.ApprovalWithdrawn, ev.ApprovalVoided),
    )
    return [one for one in works.events() if isinstance(one, kinds)]


# ------------------------------------------------------------------ asked and answered


@pytest.mark.parametrize(
    ("allow", "reason", "heard"),
    [
        (True, "", ""),
        (False, "", "denied by the owner"),
        (False, "not today", "denied by the owner: not today"),
    ],
)
async def test_a_request_waits_for_the_owner_and_its_answer_is_told(works, allow, reason, heard):
    works.stub("message", "seen", ["show", asked()], "answer", "final")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    (event,) = works.events(ev.ApprovalAsked)
    assert (event.approval, event.message, event.why) == (approval.id, message, WHY)
    assert (approval.worker, approval.tool, approval.preview) == ("dev", "Bash", "git push")
    assert approval.expires_ms - approval.asked_ms <= 540_000
    assert len(approval.id) == 8
    assert works.state_of(message) == "seen"
    await answer(works, approval, allow=allow, reason=reason, digest=approval.digest)
    assert (await works.ended(message)).outcome == "done"
    assert told(works) == [("a1", allow, heard)]
    (answered,) = approvals(works)
    assert (answered.approval, answered.allowed, answered.reason) == (approval.id, allow, reason)
    assert not works.events(ev.PermissionAnswered)
    (by,) = [one.by for one in works.journal.read(0) if isinstance(one.event, ev.ApprovalAnswered)]
    assert by == "owner"


async def test_the_turn_goes_on_while_its_question_waits(works):
    works.stub("message", "seen", ["show", asked()], ["show", said("meanwhile")], "answer", "final")
    await works.open()
    message = await works.post()
    await works.until(lambda: works.events(ev.WorkerSaid))
    (approval,) = await requests(works)
    await answer(works, approval)
    assert (await works.ended(message)).outcome == "done"


async def test_two_questions_are_answered_in_any_order(works):
    two = (["show", asked("a1")], ["show", asked("a2", "git fetch")])
    works.stub("message", "seen", *two, "answer", "answer", "final")
    await works.open()
    message = await works.post()
    first, second = await requests(works, 2)
    await answer(works, second, allow=False)
    await works.until(lambda: told(works))
    await answer(works, first)
    assert (await works.ended(message)).outcome == "done"
    assert [(ask, allow) for ask, allow, _ in told(works)] == [("a2", False), ("a1", True)]


async def test_r44_an_answer_counts_once_and_the_second_hears_the_truth(works):
    works.stub("message", "seen", ["show", asked()], "answer", "hold")
    await works.open()
    await works.post()
    (approval,) = await requests(works)
    await answer(works, approval, allow=False, reason="no")
    said = await too_late(works, approval)
    assert said.startswith(f"request {approval.id} was denied by owner at 20")
    assert said.endswith("Z: no")
    assert works.approvals.waiting() == []
    await works.until(lambda: told(works))
    assert [one[1] for one in told(works)] == [False]


async def test_h4_an_answer_to_something_else_than_was_asked_is_refused(works):
    works.stub("message", "seen", ["show", asked()], "answer", "final")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    with pytest.raises(Conflict, match="about something else"):
        await answer(works, approval, digest="0" * 64)
    await answer(works, approval, digest=approval.digest)
    assert (await works.ended(message)).outcome == "done"


async def test_h4_a_request_that_changes_after_it_was_asked_is_denied(works):
    changed = (["show", asked()], "interrupt", ["show", asked(command="rm -rf /")])
    works.stub("message", "seen", *changed, "answer", "final")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    session = await works.sessions.find(works.row())
    await session.write([works.input("interrupt")])
    assert (await works.ended(message)).outcome == "done"
    assert told(works) == [("a1", False, "the request was changed after it was asked")]
    assert "the request was changed" in await too_late(works, approval)
    assert len(works.events(ev.ApprovalAsked)) == 1


async def test_h4_what_was_allowed_once_is_not_allowed_with_another_content(works):
    changed = ["show", asked(command="rm -rf /")]
    works.stub("message", "seen", ["show", asked()], "answer", changed, "answer", "final")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    await answer(works, approval)
    assert (await works.ended(message)).outcome == "done"
    assert told(works) == [("a1", True, ""), ("a1", False, CHANGED)]
    assert len(works.events(ev.ApprovalAsked)) == 1


@pytest.mark.parametrize("crashes", [0, 1])
async def test_h4_the_answer_of_a_rule_is_to_the_content_it_judged(works, crashes):
    """Replayed: the CLI repeats its question under the same id, with another command in it."""
    works.plan.asking = Asking(lambda *_: Judgement(Posture.ALLOW, ""))
    changed = ["show", asked(command="rm -rf /")]
    steps = (["show", asked()], "answer", "interrupt", changed, "answer", "final")
    works.stub("message", "seen", *steps)
    await works.open()
    message = await works.post()
    await works.until(lambda: told(works))
    for _ in range(crashes):
        await works.crash()
        await works.open()
    session = await works.sessions.find(works.row())
    await works.until(lambda: session.position > session.row.snapshot_at)
    await session.write([works.input("interrupt")])
    await works.until(lambda: len(told(works)) == 2)
    assert told(works) == [("a1", True, ""), ("a1", False, CHANGED)]
    given = [(one.allowed, one.digest) for one in works.events(ev.PermissionAnswered)]
    first, second = (
        digest_of("Bash", f'{{"command":"{command}"}}') for command in ("git push", "rm -rf /")
    )
    assert given == [(True, first), (False, second)]
    assert (await works.ended(message)).outcome == "done"


@pytest.mark.parametrize("posture", [Posture.ASK, Posture.ALLOW])
async def test_h4_an_answer_is_to_one_turn_and_a_question_replayed_in_the_next_is_judged_anew(
    works, posture
):
    works.plan.asking = Asking(lambda *_: Judgement(posture, ""))
    works.stub(*["message", "seen", ["show", asked()], "answer", "final"] * 2)
    await works.open()
    for allow in (True, False):
        message = await works.post()
        if posture is Posture.ASK:
            (approval,) = await requests(works)
            await answer(works, approval, allow=allow)
        assert (await works.ended(message)).outcome == "done"
    expected = [True, False] if posture is Posture.ASK else [True, True]
    assert [one[1] for one in told(works)] == expected


async def test_a_question_that_is_repeated_is_one_request(works):
    works.stub("message", "seen", ["show", asked()], ["show", asked()], "answer", "final")
    await works.open()
    message = await works.post()
    await works.until(lambda: len(works.events(ev.PermissionAsked)) == 2)
    (approval,) = await requests(works)
    await answer(works, approval)
    assert (await works.ended(message)).outcome == "done"
    assert told(works) == [("a1", True, "")]


class Refusing:
    """A journal that can be read, on a disk that is full."""

    def __init__(self, journal):
        self.rows = journal.rows

    async def decide(self, decision, by="amiral"):
        raise Broken("the disk is full")


async def test_a_question_its_cli_takes_back_can_be_answered_no_more(works):
    back = {"type": "withdrawn", "ask": "a1"}
    works.stub("message", "seen", ["show", asked()], "interrupt", ["show", back], "hold")
    await works.open()
    await works.post()
    (approval,) = await requests(works)
    session = await works.sessions.find(works.row())
    await session.write([works.input("interrupt")])
    await works.until(lambda: approvals(works))
    assert approvals(works) == [ev.ApprovalWithdrawn(approval.id, approval.turn, "dev")]
    late = await too_late(works, approval)
    assert late.startswith(f"request {approval.id} was withdrawn by dev itself at 20")
    assert works.approvals.waiting() == []
    await works.crash()
    await works.open()
    assert await too_late(works, approval) == late
    assert told(works) == []


async def test_a_question_taken_back_and_asked_again_is_denied(works):
    back = {"type": "withdrawn", "ask": "a1"}
    again = (["show", asked()], ["show", back], "interrupt", ["show", asked()])
    works.stub("message", "seen", *again, "answer", "final")
    await works.open()
    message = await works.post()
    await works.until(lambda: approvals(works))
    session = await works.sessions.find(works.row())
    await session.write([works.input("interrupt")])
    assert (await works.ended(message)).outcome == "done"
    assert told(works) == [("a1", False, "denied: the request had been withdrawn")]


async def test_what_was_taken_back_without_being_asked_changes_nothing(works):
    back = {"type": "withdrawn", "ask": "a2"}
    works.stub("message", "seen", ["show", back], ["show", asked()], "answer", "final")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    await answer(works, approval)
    assert (await works.ended(message)).outcome == "done"


async def test_an_answer_that_cannot_be_stored_is_not_given(works):
    works.stub("message", "seen", ["show", asked()], "answer", "final")
    await works.open()
    await works.post()
    (approval,) = await requests(works)
    refusing = Approvals(
        Refusing(works.journal),  # type: ignore[arg-type]
        works.plan.clock,
        works.brake,
        works.inbox.wake,
    )
    with pytest.raises(Broken):
        await refusing.answer(approval.id, allow=True, by="owner")
    assert works.approvals.waiting() == [approval]
    assert told(works) == []


# ------------------------------------------------------------------ expired


async def test_a_request_nobody_answers_expires_and_the_worker_hears_it(works):
    clock = works.plan.clock = FakeClock()
    works.plan.longest_s = 100_000
    works.plan.asking = Asking(asks, ttl_s=3600)
    works.stub("message", "seen", ["show", asked()], "answer", "final")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    assert approval.expires_ms == clock.now_ms() + 3_600_000
    await clock.advance(3599)
    assert works.approvals.waiting() == [approval]
    await clock.advance(1)
    assert works.approvals.waiting() == []
    late = await too_late(works, approval)
    assert (await works.ended(message)).outcome == "done"
    assert told(works) == [("a1", False, "denied: nobody answered in time")]
    assert approvals(works) == [ev.ApprovalExpired(approval.id, approval.turn, "dev")]
    assert late == await too_late(works, approval)
    assert late.startswith(f"request {approval.id} was denied at 2027-01-15T09:00:00.000Z: nobody")


async def test_a_request_expires_before_its_turn_has_run_too_long(works):
    clock = works.plan.clock = FakeClock()
    works.plan.longest_s = 100
    works.plan.asking = Asking(asks, ttl_s=3600)
    works.stub("message", "seen", ["show", asked()], "answer", "final")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    assert approval.expires_ms == clock.now_ms() + 90_000
    await clock.advance(91)
    assert (await works.ended(message)).outcome == "done"
    assert told(works) == [("a1", False, "denied: nobody answered in time")]


async def test_a_request_that_expired_while_nothing_ran_is_denied_at_the_next_start(works):
    clock = works.plan.clock = FakeClock()
    works.plan.asking = Asking(asks, ttl_s=60)
    works.stub("message", "seen", ["show", asked()], "answer", "final")
    await works.open()
    message = await works.post()
    await requests(works)
    await works.crash()
    clock.jump(61_000)
    await works.open()
    assert (await works.ended(message)).outcome == "done"
    assert told(works) == [("a1", False, "denied: nobody answered in time")]


# ------------------------------------------------------------------ taken back


@pytest.mark.parametrize("outcome", ["interrupted", "cancelled"])
async def test_an_interrupt_takes_the_request_back(works, outcome):
    works.stub("message", "seen", ["show", asked()], "interrupt", ["final", {"how": "interrupted"}])
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    if outcome == "interrupted":
        await works.inbox.interrupt("dev", Wish(outcome, "by owner"), "owner")
    else:
        await works.inbox.cancel(message, "owner", "by owner")
    assert "is being ended" in await too_late(works, approval)
    assert (await works.ended(message)).outcome == outcome
    assert approvals(works) == [ev.ApprovalVoided(approval.id, approval.turn, "dev", "by owner")]
    late = await too_late(works, approval)
    assert late.startswith(f"request {approval.id} ended without an answer at 20")
    assert told(works) == []


async def test_a_turn_that_has_run_too_long_takes_its_request_back(works):
    """A clock of the machine that was set back: the request would outlive its turn."""
    clock = works.plan.clock = FakeClock()
    works.stub("message", "seen", ["show", asked()], "interrupt", ["final", {"how": "interrupted"}])
    await works.open()
    message = await works.post()
    await requests(works)
    clock.jump(-3_600_000)
    await clock.advance(601)
    assert (await works.ended(message)).outcome == "timed_out"
    (voided,) = approvals(works)
    assert voided.reason == "the turn ran longer than 600 s"
    assert told(works) == []


async def test_the_end_of_the_cli_takes_the_request_back(works):
    works.stub("first", "message", "seen", ["show", asked()], "hold")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    works.kill((await works.launched()).cli)
    assert (await works.ended(message)).outcome == "interrupted"
    (voided,) = approvals(works)
    assert (voided.approval, voided.reason) == (approval.id, "its turn has ended: interrupted")
    assert "ended without an answer" in await too_late(works, approval)


async def test_a_stop_takes_the_request_back_and_nothing_is_answered_under_it(works):
    works.stub("first", "message", "seen", ["show", asked()], "hold")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    stop = works.brake.engage("enough", "owner", 0)
    assert f"stop {stop.stop_id} is on" in await too_late(works, approval)
    works.kill((await works.launched()).cli)
    assert (await works.ended(message)).outcome == "stopped"
    (voided,) = approvals(works)
    assert voided.reason == "its turn has ended: stopped"
    works.brake.release(stop.stop_id)
    assert "ended without an answer" in await too_late(works, approval)


async def test_a_cli_that_goes_on_without_an_answer_takes_its_request_back(works):
    works.stub("message", "seen", ["show", asked()], "final")
    await works.open()
    assert (await works.answer()).outcome == "done"
    (request,) = works.events(ev.ApprovalAsked)
    (voided,) = approvals(works)
    assert (voided.approval, voided.reason) == (request.approval, "its turn has ended: done")
    assert works.approvals.waiting() == []


async def test_a_limit_takes_the_request_back(works):
    limited = {"type": "limited", "window": "week", "resets_at": None}
    final = {"how": "limited"}
    works.stub("message", "seen", ["show", asked()], ["show", limited], ["final", final])
    await works.open()
    await works.parked(await works.post())
    (voided,) = approvals(works)
    assert voided.reason == "its turn waits for a limit to end"


async def test_what_is_asked_of_a_turn_that_is_being_ended_is_denied(works):
    works.stub("message", "seen", "interrupt", ["show", asked()], "answer", "final")
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    await works.inbox.interrupt("dev", Wish("interrupted", "by owner"), "owner")
    await works.ended(message)
    assert told(works) == [("a1", False, "by owner")]
    assert not works.events(ev.ApprovalAsked)


# ------------------------------------------------------------------ killed anywhere


async def test_p01_a_request_is_still_there_after_a_crash_and_is_answered_once(works):
    works.stub("message", "seen", ["show", asked()], "answer", "final")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    for _ in range(3):
        await works.crash()
        await works.open()
        assert works.approvals.waiting() == [approval]
    await answer(works, approval)
    assert (await works.ended(message)).outcome == "done"
    assert told(works) == [("a1", True, "")]
    assert len(works.events(ev.ApprovalAsked)) == len(works.events(ev.PermissionAsked)) == 1


@pytest.mark.parametrize("allow", [True, False])
async def test_p01_an_answer_that_was_not_written_yet_is_written_after_a_crash(works, allow):
    works.stub("message", "seen", ["show", asked()], "answer", "final")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    await works.inbox.stop()
    alone = Approvals(works.journal, works.plan.clock, works.brake, lambda worker: None)
    await alone.answer(approval.id, allow=allow, by="owner")
    assert works.inputs() == {message: "written"}
    await works.crash()
    await works.open()
    assert (await works.ended(message)).outcome == "done"
    assert [one[:2] for one in told(works)] == [("a1", allow)]
    assert "answered" not in await too_late(works, approval)


async def test_p01_an_answer_that_was_written_is_not_written_again(works):
    works.stub("message", "seen", ["show", asked()], "answer", "interrupt", "final")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    await answer(works, approval)
    await works.until(lambda: told(works))
    for _ in range(2):
        await works.crash()
        await works.open()
    written = works.inputs()
    assert len(written) == 2
    assert set(written.values()) == {"written"}
    session = await works.sessions.find(works.row())
    await session.write([works.input("interrupt")])
    assert (await works.ended(message)).outcome == "done"
    assert told(works) == [("a1", True, "")]


async def test_what_was_answered_at_once_is_not_judged_again_after_a_crash(works):
    works.plan.asking = Asking(lambda *_: Judgement(Posture.DENY, "no"))
    works.stub("message", "seen", ["show", asked()], "answer", "interrupt", "final")
    await works.open()
    message = await works.post()
    await works.until(lambda: told(works))
    await works.crash()
    works.plan.asking = Asking(asks)
    await works.open()
    session = await works.sessions.find(works.row())
    await works.until(lambda: session.position > session.row.snapshot_at)
    await session.write([works.input("interrupt")])
    assert (await works.ended(message)).outcome == "done"
    assert told(works) == [("a1", False, "no")]
    assert not works.events(ev.ApprovalAsked)
    assert len(works.events(ev.PermissionAnswered)) == 1


async def test_what_a_dead_cli_had_asked_is_not_put_before_the_owner(works):
    works.stub("first", "message", "seen", "interrupt", ["show", asked()], "hold")
    await works.open()
    message = await works.post()
    await works.state(message, "seen")
    session = await works.sessions.find(works.row())
    cli = (await works.launched()).cli
    await works.inbox.stop()
    await session.write([works.input("interrupt")])
    out = works.sessions_folder / works.session() / "out.000001"
    await works.until(lambda: b'"asked"' in out.read_bytes())
    works.kill(cli)
    await works.until((out.parent / "exit.json").exists)
    await works.crash()
    await works.open()
    assert (await works.ended(message)).outcome == "interrupted"
    assert len(works.events(ev.PermissionAsked)) == 1
    assert not works.events(ev.ApprovalAsked)


async def test_a_turn_given_up_takes_its_request_back(works):
    """Its worker is gone: the turn cannot go on after a restart."""
    works.stub("first", "message", "seen", ["show", asked()], "hold")
    await works.open()
    message = await works.post()
    (approval,) = await requests(works)
    await works.crash()
    works.plan.workers = {"other": replace(works.make_worker("other"))}
    await works.open()
    assert (await works.ended(message)).outcome == "failed"
    assert "ended without an answer" in await too_late(works, approval)
