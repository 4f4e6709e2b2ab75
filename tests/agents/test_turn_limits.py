"""A limited turn is parked, not ended: later messages wait, it goes on or is given up (R10)."""

import pytest

from amiral.agents import prompt
from amiral.agents.wish import Wish
from amiral.base import events as ev
from amiral.base.errors import Conflict, NotFound

LIMITED = """
turns:
  - limit: {window: five_hour, resets_in_s: 3600}
  - say: the rest
default: {say: later}
"""


async def parked(works, scenario=LIMITED):
    works.scenario(scenario)
    await works.open()
    message = await works.post("the task")
    return message, await works.parked(message)


async def test_a_limited_turn_is_parked_and_what_comes_later_waits(works):
    message, park = await parked(works)
    later = await works.post("later")
    assert park.window == "five_hour"
    assert works.state_of(message) == "parked"
    await works.crash()
    await works.open()
    await works.post("even later")
    assert works.state_of(later) == "queued"
    assert not works.inbox.is_running("dev")
    assert not works.events(ev.TurnEnded)


async def test_a_resumed_turn_goes_on_in_its_session_with_the_resume_prompt(works):
    message, park = await parked(works)
    later = await works.post("later")
    await works.inbox.resume("dev", "owner")
    end = await works.ended(message)
    assert (end.turn, end.outcome, end.text) == (park.turn, "done", "the rest")
    assert (await works.ended(later)).text == "later"
    (resumed,) = works.events(ev.TurnResumed)
    assert (resumed.session, resumed.line) == (park.session, f"{message}.1")
    told = [one["text"] for one in works.records(works.row().fresh_key) if "text" in one]
    assert told[:3] == ["the task", "", prompt.RESUME]
    assert len(works.events(ev.MessageSeen)) == 3


async def test_a_resumed_turn_goes_on_in_a_new_session_when_its_own_is_gone(works):
    message, park = await parked(works)
    await works.close()
    await works.open()
    await works.inbox.resume("dev", "owner")
    end = await works.ended(message)
    assert (end.turn, end.text) == (park.turn, "the rest")
    first, second = works.events(ev.SessionOpened)
    assert second.resume_key == first.fresh_key
    told = [one["text"] for one in works.records(first.fresh_key) if one["type"] == "message"]
    assert told == ["the task", prompt.RESUME]


async def test_a_resume_without_a_key_tells_the_whole_task_again(works):
    final = {"how": "limited", "text": "", "session": ""}
    works.stub("first", "message", "seen", ["final", final], ["exit", 0])
    await works.open()
    message = await works.post("the task")
    await works.parked(message)
    await works.until(
        lambda: works.events(ev.SessionEnded) or works.inbox.is_running("dev") is False
    )
    await works.inbox.resume("dev", "owner")
    assert (await works.ended(message)).outcome == "done"
    assert [one["text"] for one in works.given()] == ["the task", "the task"]


async def test_a_turn_limited_twice_is_parked_and_resumed_twice(works):
    limited = "  - limit: {window: week}\n"
    message, _ = await parked(works, f"turns:\n{limited}{limited}  - say: at last\n")
    await works.inbox.resume("dev", "owner")
    await works.until(lambda: len(works.events(ev.TurnParked)) == 2)
    await works.inbox.resume("dev", "owner")
    assert (await works.ended(message)).text == "at last"
    assert [one.line for one in works.events(ev.TurnResumed)] == [f"{message}.1", f"{message}.2"]


async def test_a_resumed_turn_whose_cli_never_read_it_is_resumed_again(works):
    limited = ["final", {"how": "limited", "text": ""}]
    works.stub("first", "message", "seen", limited, ["exit", 1])
    await works.open()
    message = await works.post("the task")
    park = await works.parked(message)
    works.stub(["exit", 1])
    await works.inbox.resume("dev", "owner")
    await works.until(lambda: works.events(ev.MessageReturned))
    assert works.state_of(message) == "resuming"
    works.stub()
    end = await works.ended(message)
    assert (end.turn, end.outcome) == (park.turn, "done")
    assert [one.line for one in works.events(ev.TurnResumed)][-1] == f"{message}.2"
    assert len(works.events(ev.TurnStarted)) == 1
    assert works.given()[-1]["text"] == prompt.RESUME


async def test_a_parked_turn_that_is_given_up_lets_the_queue_go_on(works):
    message, park = await parked(works)
    later = await works.post("later")
    await works.inbox.cancel_parked("dev", "owner", "no more")
    end = await works.ended(message)
    assert (end.turn, end.outcome, end.reason) == (park.turn, "cancelled", "no more")
    assert (await works.ended(later)).outcome == "done"


async def test_p07_nothing_that_is_not_limited_can_be_resumed_or_given_up(works):
    await works.open()
    for wanted in (works.inbox.resume("dev", "owner"), works.inbox.cancel_parked("dev", "o", "x")):
        with pytest.raises(NotFound, match="dev is not limited"):
            await wanted


async def test_r16_of_two_resumes_one_happens(works):
    await parked(works)
    await works.inbox.resume("dev", "owner")
    with pytest.raises(NotFound):
        await works.inbox.resume("dev", "owner")
    assert len(works.events(ev.ResumeOrdered)) == 1


async def test_r36_no_limited_turn_is_resumed_while_a_stop_is_on(works):
    await parked(works)
    stop = works.brake.engage("enough", "owner", 1)
    with pytest.raises(Conflict, match="enough") as caught:
        await works.inbox.resume("dev", "owner")
    assert caught.value.next_step == f"release it to go on: amiral release {stop.stop_id}"
    assert not works.events(ev.ResumeOrdered)


async def test_a_parked_turn_has_nothing_to_interrupt(works):
    await parked(works)
    await works.until(lambda: not works.inbox.is_running("dev"))
    with pytest.raises(Conflict, match="dev is not working"):
        await works.inbox.interrupt("dev", Wish("interrupted", "x"), "owner")
