"""What a worker is told to do, and what is read from its answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.execution.task import Brief, Report, read_report, write_task, write_ticks

BRIEF = Brief("a1b2c3d4", "Add codes", "None yet", "A table", ("One", "Two"), ("cart.py", "x.py"))


def answer(*lines, fence="```", info="done"):
    return "\n".join(["Done.", f"{fence}{info}", *lines, fence, "Bye."])


def test_a_task_says_what_why_how_and_when_it_is_done():
    task = write_task(BRIEF)
    assert task.startswith("Carry out spec a1b2c3d4: Add codes\n\nWhy: None yet\n\nHow: A table\n")
    assert "Files named: cart.py, x.py" in task
    assert "It is done when:\n1. One\n2. Two\n" in task
    assert "fenced block `done`" in task
    assert "earlier attempt" not in task


def test_a_task_tells_why_an_earlier_attempt_came_back():
    brief = Brief("a", "T", "P", "A", ("One",), (), earlier="tests failed: x\ny")
    task = write_task(brief)
    assert "An earlier attempt came back: tests failed: x\ny" in task
    assert "Files named" not in task


@pytest.mark.parametrize(
    "text",
    [
        answer("1: by cart.py", "2: by tests"),
        answer("1. by cart.py", "  2)  by tests  "),
        answer("- 1: by cart.py", "* 2: by tests"),
        answer("1: by cart.py", "2: by tests", fence="~~~~"),
        answer("1: by cart.py", "2: by tests", info="Done"),
        answer("1: nothing", "2: x") + "\n" + answer("1: by cart.py", "2: by tests"),
        answer("1: by cart.py", "2: by tests").replace("\n", "\r\n"),
        answer("1: old", "1: by cart.py", "2: by tests", "3: no such", "0: nor this", "well"),
    ],
)
def test_a_report_has_a_note_for_each_criterion(text):
    assert read_report(text, 2) == Report(("by cart.py", "by tests"), ())


@pytest.mark.parametrize(
    "text",
    ["", "Done.", answer(), "````\n" + answer("1: x") + "\n````", "> ```done\n> 1: x\n> ```"],
)
def test_without_a_block_nothing_was_said(text):
    assert read_report(text, 2) == Report(("", ""), ())


@pytest.mark.parametrize(
    ("note", "why"),
    [
        ("NOT MET: no time", "no time"),
        ("not met, the cart has no table", "the cart has no table"),
        ("**NOT MET** – no time", "no time"),
        ("Not-met", "not met"),
        ("half of it; the rest is NOT MET because of x", "because of x"),
    ],
)
def test_a_criterion_that_was_not_met_is_read_with_its_reason(note, why):
    report = read_report(answer("1: by cart.py", f"2: {note}"), 2)
    assert report.unmet == (f"criterion 2: {why}",)
    assert report.notes == ("by cart.py", note)


@pytest.mark.parametrize("note", ["met, not by luck", "the table is met", "nothing metric"])
def test_words_that_are_like_it_deny_nothing(note):
    assert read_report(answer(f"1: {note}"), 1).unmet == ()


def test_a_denial_is_not_taken_back_by_a_later_line():
    assert read_report(answer("1: NOT MET: x", "1: met"), 1).unmet == ("criterion 1: x",)


@given(st.text(alphabet=st.sampled_from("`~done1:NOTMET \n\r-*x")), st.integers(1, 3))
def test_any_answer_is_read(text, criteria):
    assert len(read_report(text, criteria).notes) == criteria


def test_a_tick_says_what_met_a_criterion_and_where():
    report = Report(("by cart.py", ""), ())
    assert write_ticks(report, "nothing said · tests: 3 passed", "0" * 40) == (
        "by cart.py · 000000000000",
        "nothing said · tests: 3 passed · 000000000000",
    )
    assert write_ticks(Report(("x",), ()), "y", "") == ("x",)
