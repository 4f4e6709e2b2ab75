"""The judge of runs with kills finds every promise that was broken, and no other."""

import pytest

from amiral.testbench.verdict import KEPT, Accepted, History, Tally, offences

ACCEPTED = tuple(
    Accepted(f"m{number}", "consultant" if number % 2 else "developer", f"answer {number}")
    for number in range(4)
)


def queued(message):
    return ("MessageQueued", {"message": message})


def ended(number, **changes):
    end = {"message": f"m{number}", "turn": f"t{number}", "outcome": "done"}
    return ("TurnEnded", {**end, "text": f"answer {number}", "reason": "", **changes})


def said(number, text):
    return ("WorkerSaid", {"turn": f"t{number}", "text": text})


def history(*journal, executed=None, left=()):
    ran = {"consultant": ["m1", "m3"], "developer": ["m0", "m2"]}
    return History(ACCEPTED, journal, ran if executed is None else ran | executed, left)


WELL = tuple(ended(number) for number in range(4))


def kinds(found):
    return sorted(kind for kind, _ in offences(found))


def test_a_run_in_which_all_was_kept_has_no_offence():
    pieces = (said(0, "ans"), said(1, "answer 1"), said(0, "wer 0"))
    assert kinds(history(*pieces, *WELL, left=["s1"])) == []


def test_an_interrupted_turn_that_says_why_is_no_offence_executed_or_not():
    cut = ended(2, outcome="interrupted", text="", reason="its shim was lost")
    unsure = ended(3, outcome="unsure", text="", reason="nothing proves it")
    found = history(*WELL[:2], said(2, "answ"), cut, unsure, executed={"consultant": ["m1"]})
    assert kinds(found) == []


def test_a_message_given_up_after_four_tries_that_says_so_is_no_offence():
    back = ("MessageReturned", {"message": "m3"})
    given_up = ended(3, outcome="failed", text="", reason="tried 4 times: its shim was lost")
    cut = {"consultant": ["m1"]}
    assert kinds(history(*WELL[:3], back, back, back, given_up, executed=cut)) == []
    assert kinds(history(*WELL[:3], back, back, given_up, executed=cut)) == ["lost"]


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (history(*WELL[:3]), "lost"),
        (history(*WELL, executed={"consultant": ["m1"]}), "lost"),
        (history(*WELL[:3], ended(3, outcome="failed", reason="tried 4 times")), "lost"),
        (history(*WELL, ended(3)), "doubled"),
        (history(*WELL, executed={"developer": ["m0", "m2", "m2"]}), "doubled"),
        (history(said(1, "answer"), said(1, "answer 1"), *WELL), "doubled"),
        (history(*WELL, executed={"consultant": ["m3", "m1"]}), "out_of_order"),
        (history(WELL[2], WELL[1], WELL[0], WELL[3]), "out_of_order"),
        (history(*WELL[:3], ended(3, text="answer 1")), "wrong"),
        (history(*WELL, ended(7)), "wrong"),
        (history(*WELL[:3], ended(3, outcome="unsure", text="")), "untold"),
        (history(*WELL, ("SessionEnded", {"session": "s1"}), left=["s1", "s2"]), "strays"),
    ],
)
def test_each_broken_promise_is_found(broken, kind):
    assert set(kinds(broken)) == {kind}


def test_every_promise_of_the_tally_can_be_broken():
    parameters = test_each_broken_promise_is_found.pytestmark[0].args[1]
    assert {kind for _, kind in parameters} == set(KEPT)


def test_a_tally_adds_runs_up_and_names_seed_and_message():
    tally = Tally()
    tally.judge(history(*WELL), 7)
    assert Tally().is_clean and tally.faults == []
    tally.judge(history(*WELL[:3]), 8)
    tally.judge(history(*WELL, ended(3)), 9)
    assert not tally.is_clean
    assert (tally.lost, tally.doubled, tally.messages, tally.seeds) == (1, 1, 12, [7, 8, 9])
    assert tally.outcomes == {"done": 12}
    assert tally.faults[0] == "seed 8: lost: m3 ('answer 3' by consultant) has no end"
