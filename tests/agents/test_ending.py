"""How a turn ends: its final event, a wish, or the proof that files give after a crash."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents import ending
from amiral.agents.driver import Finished, Limited, Settlement, Usage
from amiral.agents.ending import Evidence
from amiral.agents.fold import Now, Progress
from amiral.agents.wish import Wish
from amiral.base import events as ev

AT = (1, 10)
NOW = Now("t1", "m1", "m1", "dev", "s1", "dev-owner", "scripted", "/shop", "k1")
CANCELLED = Wish("cancelled", "owner said so")
PROVED = ev.ResumeKeyProved("dev-owner", "scripted", "k2", "s1", "/shop")
LIMIT = Limited("week", 5)
OUTCOMES = ("done", "failed", "interrupted", "limited", "context_lost")


def end(finished, now=NOW, wish=None, **progress):
    return ending.end(Progress(finished=finished, **progress), now, AT, wish)


def turn_ended(outcome, text="", reason="", **usage):
    return ev.TurnEnded("t1", "m1", "dev", "s1", AT, outcome, text, reason, **usage)


def parked(text, limit=LIMIT):
    window, resets = (limit.window, limit.resets_at_ms) if limit else ("", None)
    return ev.TurnParked("t1", "m1", "dev", "s1", AT, window, resets, "cli", text)


def test_without_a_final_event_nothing_ends_r06():
    assert ending.end(Progress("x", limited=LIMIT), NOW, AT, CANCELLED) == ()


@pytest.mark.parametrize("how", ["done", "failed", "interrupted"])
def test_a_final_event_ends_the_turn_as_it_says(how):
    usage = Usage(3, 4, 0.5)
    found = end(Finished(how, "text", "why", "k2", usage))
    used = {"input_tokens": 3, "output_tokens": 4, "cost_usd": 0.5}
    assert found == (PROVED, turn_ended(how, "text", "why", **used))


def test_an_end_without_text_carries_what_was_said():
    assert end(Finished("failed", ""), said="half a") == (turn_ended("failed", "half a"),)


@pytest.mark.parametrize(
    ("finished", "limit"),
    [
        (Finished("limited", "t", resume_key="k2"), LIMIT),
        (Finished("limited", "t", resume_key="k2"), None),
        (Finished("failed", "t", resume_key="k2"), LIMIT),
    ],
)
def test_a_limited_turn_is_parked_not_ended(finished, limit):
    assert end(finished, limited=limit) == (PROVED, parked("t", limit))


def test_a_turn_that_got_through_a_limit_is_done():
    assert end(Finished("done", "ok"), limited=LIMIT) == (turn_ended("done", "ok"),)


@pytest.mark.parametrize("how", ["interrupted", "limited"])
def test_a_wish_gives_its_outcome_to_an_interrupted_or_limited_turn(how):
    (ended,) = end(Finished(how, ""), wish=CANCELLED)
    assert ended == turn_ended("cancelled", reason="owner said so")


@pytest.mark.parametrize("how", ["done", "failed"])
def test_a_wish_that_came_too_late_changes_nothing(how):
    (ended,) = end(Finished(how, "text"), wish=CANCELLED)
    assert ended.outcome == how


def test_r17_a_lost_context_is_told_and_the_message_goes_again():
    assert end(Finished("context_lost", "", "gone", "")) == (
        ev.ContextLost("dev-owner", "dev", "scripted", "k1", "gone"),
        ev.MessageReturned("m1", "dev", "context lost"),
    )


def test_r17_a_context_lost_again_and_again_ends_the_message():
    lost, ended = end(Finished("context_lost", "gone"), replace(NOW, returns=3))
    assert lost.reason == "gone"
    assert ended == turn_ended("failed", reason="tried 4 times: context lost")


def test_a_wish_ends_a_turn_whose_context_is_lost():
    lost, ended = end(Finished("context_lost", "gone"), wish=CANCELLED)
    assert isinstance(lost, ev.ContextLost)
    assert ended == turn_ended("cancelled", reason="owner said so")


BAD = "API Error: 400 tool_use ids were found without tool_result blocks"


@pytest.mark.parametrize(
    ("before", "now", "is_lost"),
    [
        (BAD, BAD, True),
        ("API Error: 400 {request_id: 1}", "API Error: 400 {request_id: 2}", True),
        ("invalid_request (status 400)", "invalid_request (status 400)", True),
        ("API Error (413 too large)", "API Error (413 too large)", True),
        ("", BAD, False),
        (BAD, "API Error: 413 too large", False),
        ("authentication (status 401)", "authentication (status 401)", False),
        ("API Error: 403 no", "API Error: 403 no", False),
        ("API Error: 404 model", "API Error: 404 model", False),
        ("rate_limit (status 429)", "rate_limit (status 429)", False),
        ("overloaded (status 529)", "overloaded (status 529)", False),
        ("max turns: 400 were used", "max turns: 400 were used", False),
        ("API Error: 4000", "API Error: 4000", False),
    ],
)
def test_r20_the_same_permanent_request_error_twice_loses_the_context(before, now, is_lost):
    found = end(Finished("failed", "", now, "k2"), replace(NOW, failure=before))
    if is_lost:
        reason = f"refused twice in a row: {now}"
        lost = ev.ContextLost("dev-owner", "dev", "scripted", "k1", reason)
        assert found == (lost, ev.MessageReturned("m1", "dev", "context lost"))
    else:
        assert found == (PROVED, turn_ended("failed", reason=now))


def test_r20_an_error_that_is_no_failure_loses_nothing():
    assert end(Finished("done", BAD), replace(NOW, failure=BAD)) == (turn_ended("done", BAD),)


@pytest.mark.parametrize(
    ("proof", "line", "progress", "expected"),
    [
        ("answered", "written", Progress("x", seen=True), turn_ended("done", "the answer")),
        ("answered", "unknown", Progress(limited=LIMIT), turn_ended("done", "the answer")),
        ("received", "written", Progress("half"), turn_ended("interrupted", "half", "gone")),
        ("received", "unknown", Progress(), turn_ended("interrupted", "", "gone")),
        ("absent", "written", Progress("x", seen=True), turn_ended("interrupted", "x", "gone")),
        ("unknown", "written", Progress(seen=True), turn_ended("interrupted", "", "gone")),
        ("received", "written", Progress(limited=LIMIT), parked("gone")),
        ("absent", "written", Progress(), ev.MessageReturned("m1", "dev", "gone")),
        ("absent", "recorded", Progress(), ev.MessageReturned("m1", "dev", "gone")),
        ("unknown", "unknown", Progress(), ev.MessageReturned("m1", "dev", "gone")),
        (
            "unknown",
            "written",
            Progress("x"),
            turn_ended("unsure", "x", "gone; nothing proves whether the message was read"),
        ),
        (
            "unknown",
            "recorded",
            Progress(),
            turn_ended("unsure", "", "gone; nothing proves whether the message was read"),
        ),
    ],
)
def test_r41_the_fate_of_a_message_whose_cli_is_gone(proof, line, progress, expected):
    evidence = Evidence(line, Settlement(proof, "the answer"), "gone")
    assert ending.verdict(evidence, progress, NOW, AT) == expected


def test_r41_a_message_goes_back_three_times_at_most():
    evidence = Evidence("unknown", Settlement("absent"), "gone")
    for returns, tries in ((2, None), (3, 4)):
        found = ending.verdict(evidence, Progress(), replace(NOW, returns=returns), AT)
        wanted = turn_ended("failed", reason=f"tried {tries} times: gone")
        assert found == (wanted if tries else ev.MessageReturned("m1", "dev", "gone"))


@given(
    st.sampled_from(["answered", "received", "absent", "unknown"]),
    st.sampled_from(["unknown", "recorded", "written"]),
    st.booleans(),
    st.integers(0, 9),
)
def test_p01_what_may_have_been_read_never_goes_again(proof, line, seen, returns):
    evidence = Evidence(line, Settlement(proof), "gone")
    found = ending.verdict(evidence, Progress(seen=seen), replace(NOW, returns=returns), AT)
    if isinstance(found, ev.MessageReturned):
        assert not seen
        assert proof == "absent" or (proof == "unknown" and line == "unknown")
        assert returns < ending.MOST_RETURNS


def test_a_wish_ends_a_turn_whose_cli_was_ended_on_purpose():
    found = ending.wished(CANCELLED, Progress("half"), NOW, AT)
    assert found == turn_ended("cancelled", "half", "owner said so")


def test_every_final_event_has_exactly_one_fate():
    choices = itertools.product(OUTCOMES, (None, LIMIT), (None, CANCELLED), (0, 3), ("", BAD))
    for how, limit, wish, returns, failure in choices:
        now = replace(NOW, returns=returns, failure=failure)
        found = end(Finished(how, "", BAD, "k2"), now, wish, limited=limit)
        fates = [one for one in found if isinstance(one, FATES)]
        assert len(fates) == 1
        assert found[-1] is fates[0]
        lost = [one for one in found if isinstance(one, ev.ContextLost)]
        proved = [one for one in found if isinstance(one, ev.ResumeKeyProved)]
        assert len(lost) + len(proved) == 1


FATES = (ev.TurnEnded, ev.TurnParked, ev.MessageReturned)
