"""Folding the signals of a turn: what it comes to, and which events are told of it, once."""

from itertools import dropwhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents import driver as d
from amiral.agents import fold
from amiral.agents.approval import digest_of
from amiral.agents.drivers import scripted
from amiral.agents.framing import Oversized
from amiral.base import events as ev

AT = (1, 10)
NOW = fold.Now("t1", "m1", "m1", "dev", "s1", "dev-owner", "scripted", "/shop", "k1")
NOTHING = fold.Progress()


def line(*signals, **fields):
    return fold.Folded(AT, scripted.ScriptedState(), signals, **fields)


def told(one, answers=(), noise=0):
    return list(fold.told(one, NOW, answers, noise))


@pytest.mark.parametrize(
    ("signal", "event"),
    [
        (d.Opened("k9", "1.0"), ev.SessionIdObserved("s1", "dev", AT, "k9")),
        (d.Opened(""), None),
        (d.Seen("m1"), ev.MessageSeen("t1", "m1", "dev", "s1", AT)),
        (d.Seen(""), ev.MessageSeen("t1", "m1", "dev", "s1", AT)),
        (d.Seen("another"), None),
        (d.Said("hi"), ev.WorkerSaid("t1", "dev", "s1", AT, "hi")),
        (d.Used("Read", "a.py"), ev.ToolUsed("t1", "dev", "s1", AT, "Read", "a.py")),
        (d.Refused("Bash", "no"), ev.ToolRefused("t1", "dev", "s1", AT, "Bash", "no")),
        (
            d.Asked("a1", "Bash", "ls", "{}"),
            ev.PermissionAsked("t1", "dev", "s1", AT, "a1", "Bash", "ls"),
        ),
        (d.Nearing("week", 0.9, 5), ev.LimitNoted("dev", "s1", AT, "week", 0.9, 5)),
        (d.Retrying("busy", 7), ev.ServiceRetried("dev", "s1", AT, "busy", 7)),
        (d.Noise("?" * 600), ev.NoiseRead("s1", "dev", AT, "?" * 500)),
        (d.Limited("week", 5), None),
        (d.Finished("done", "ok"), None),
    ],
)
def test_each_signal_is_told_as_one_event_or_none(signal, event):
    assert told(line(signal)) == ([event] if event else [])


def test_an_oversized_line_is_told_with_size_and_hash_r01():
    one = line(oversized=Oversized(9, "abc", 10))
    assert told(one) == [ev.OutputOversized("s1", "dev", AT, 9, "abc")]


def test_r17_a_message_of_somebody_else_does_not_count_as_ours_being_read():
    assert not fold.advance(NOTHING, [d.Seen("another")], NOW).seen
    assert fold.advance(NOTHING, [d.Seen("m1")], NOW).seen


def test_progress_keeps_the_limit_the_end_and_what_was_said():
    limited, finished = d.Limited("week", 5), d.Finished("limited", "")
    signals: list[d.Signal] = [d.Said("a"), d.Used("Read", "x"), d.Said("b"), limited, finished]
    found = fold.advance(NOTHING, signals, NOW)
    assert found == fold.Progress("a\n\nb", limited=limited, finished=finished)


@given(st.lists(st.text(max_size=9000), max_size=12))
def test_p11_progress_of_a_long_turn_is_bounded_and_keeps_the_end(texts):
    progress = fold.advance(NOTHING, [d.Said(text) for text in texts], NOW)
    whole = "\n\n".join(dropwhile(lambda text: not text, texts))
    cut = "…" + whole[1 - fold.MOST_SAID :]
    assert progress.said == (whole if len(whole) <= fold.MOST_SAID else cut)


def test_r08_a_flood_of_noise_is_told_up_to_a_cap_and_the_cap_once():
    progress, events = NOTHING, []
    for number in range(1000):
        one = line(d.Noise(f"n{number}"), d.Said("x") if number == 900 else d.Opened(""))
        events += told(one, noise=progress.noise)
        progress = fold.advance(progress, one.signals, NOW)
    texts = [event.text for event in events if isinstance(event, ev.NoiseRead)]
    assert texts[:-1] == [f"n{number}" for number in range(fold.MOST_NOISE)]
    assert "more" in texts[-1]
    assert [event.text for event in events if isinstance(event, ev.WorkerSaid)] == ["x"]
    assert progress.noise == 1000


def test_noise_of_one_line_is_counted_too():
    events = told(line(*(d.Noise("n") for _ in range(100))))
    assert len(events) == fold.MOST_NOISE + 1


def test_an_answer_given_at_once_is_told_after_its_question():
    asked = d.Asked("a1", "Bash", "ls", "{}")
    answer = fold.Answer(asked, allowed=False, reason="no", inputs=())
    assert told(line(asked), [answer]) == [
        ev.PermissionAsked("t1", "dev", "s1", AT, "a1", "Bash", "ls"),
        ev.PermissionAnswered(
            *("t1", "dev", "s1", AT, "a1"),
            allowed=False,
            reason="no",
            digest=digest_of("Bash", "{}"),
        ),
    ]


SIGNALS = st.lists(
    st.one_of(
        st.builds(d.Said, st.text(max_size=5)),
        st.builds(d.Noise, st.text(max_size=5)),
        st.builds(d.Seen, st.sampled_from(["m1", "x", ""])),
        st.builds(d.Limited, st.just("week"), st.none()),
        st.builds(d.Finished, st.just("done"), st.text(max_size=5)),
    ),
    max_size=60,
)


@given(SIGNALS, st.integers(0, 60))
def test_folding_again_from_any_cut_comes_to_the_same(signals, cut):
    whole = fold.advance(NOTHING, signals, NOW)
    part = fold.advance(NOTHING, signals[:cut], NOW)
    assert fold.advance(part, signals[cut:], NOW) == whole
