"""How specs look: a card to act on, a line in a list, everything."""

from dataclasses import replace

import pytest

from amiral.base import events as ev
from amiral.specs.card import call, card, cards, in_full, line, needs_owner
from amiral.specs.spec import Status, create

DRAFT = create(
    ev.SpecCreated(
        *(
            "a1b2c3d4",
            "Add a read-through cache to the catalogue",
            "Catalogue page costs 40 queries",
        ),
        *("Cache in process,\nkeyed by version, 60 s", ("one", "two", "three"), ("a.py", "b.py")),
        *("medium", "consultant", "consultant-owner", "m1"),
    ),
    10,
)
APPROVED = replace(DRAFT, status=Status.APPROVED, by="owner")
FAILED = replace(APPROVED, is_failed=True, attempt=1, reason="1 of 48 tests fails")
REJECTED = replace(DRAFT, status=Status.REJECTED, by="owner", reason="too big")
EXECUTING = replace(APPROVED, status=Status.EXECUTING, worker="developer", branch="amiral/x")
DONE = replace(
    EXECUTING,
    status=Status.DONE,
    ticks=("by a", "", "by c"),
    commit="9f3e2a1b0c",
    tests="48 passed",
    merged="0a1b2c3d4e",
)


def test_a_card_says_what_one_needs_to_judge_a_spec():
    assert card(DRAFT, is_chat=True) == (
        "Spec a1b2c3d4 · draft · medium\n"
        "Add a read-through cache to the catalogue\n"
        "Why     Catalogue page costs 40 queries\n"
        "How     Cache in process, keyed by version, 60 s\n"
        "Done when  3 criteria · Files 2\n"
        "/approve a1b2c3d4   /reject a1b2c3d4   /spec a1b2c3d4"
    )


@pytest.mark.parametrize(
    ("spec", "progress", "commands"),
    [
        (APPROVED, "✓ approved by owner · ⏳ waits for its turn", "/reject"),
        (
            replace(APPROVED, reason="r"),
            "✓ approved by owner: r · ⏳ waits for its turn",
            "/reject",
        ),
        (FAILED, "✗ attempt 1 failed: 1 of 48 tests fails", "/retry"),
        (REJECTED, "✗ rejected by owner: too big", "/revise"),
        (EXECUTING, "⏳ developer", "/interrupt developer"),
        (
            DONE,
            "✓ done · 2/3 criteria · commit 9f3e2a1 · tests 48 passed · merged as 0a1b2c3",
            "/spec",
        ),
        (
            replace(DONE, acceptance=("a",), ticks=("x",), commit="", tests="", merged=""),
            "✓ done · 1/1 criterion",
            "/spec",
        ),
    ],
)
def test_a_card_says_how_far_a_spec_is_and_what_can_be_done(spec, progress, commands):
    *_, told, last = card(spec, is_chat=True).split("\n")
    assert told == progress
    assert last.startswith(commands)


@pytest.mark.parametrize(
    ("spec", "commands"),
    [
        (
            replace(DRAFT, revision=2),
            "amiral approve a1b2c3d4.2   amiral reject a1b2c3d4   amiral spec show a1b2c3d4",
        ),
        (
            FAILED,
            "amiral spec run a1b2c3d4   amiral reject a1b2c3d4   amiral spec show a1b2c3d4",
        ),
        (REJECTED, "amiral spec revise a1b2c3d4   amiral spec show a1b2c3d4"),
        (
            replace(DONE, branch="amiral/x", merged=""),
            "amiral diff a1b2c3d4   amiral merge a1b2c3d4   amiral spec show a1b2c3d4",
        ),
        (DONE, "amiral spec show a1b2c3d4"),
        (EXECUTING, "amiral interrupt developer   amiral spec show a1b2c3d4"),
    ],
)
def test_a_terminal_is_told_the_commands_that_it_takes(spec, commands):
    assert card(spec, is_chat=False).split("\n")[-1] == commands


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (DRAFT, "? spec a1b2c3d4 waits: {}\n  amiral approve a1b2c3d4"),
        (FAILED, "? spec a1b2c3d4 failed: {}\n  amiral spec run a1b2c3d4"),
    ],
)
def test_a_spec_that_waits_for_its_owner_calls_with_the_command_that_answers(spec, told):
    assert needs_owner(spec)
    assert call(spec) == told.format(DRAFT.title)


def test_a_spec_on_its_way_or_ended_does_not_call():
    assert not any(map(needs_owner, (APPROVED, REJECTED, EXECUTING, DONE)))


def test_r44_the_card_of_a_later_revision_approves_that_revision_only():
    assert "/approve a1b2c3d4.2 " in card(replace(DRAFT, revision=2), is_chat=True)


def test_r54_a_card_is_made_of_one_line_texts():
    nasty = replace(DRAFT, title="a\u202eb\x1b[2J", problem="one\n/approve evil", files=())
    text = card(nasty, is_chat=True)
    assert "a<U+202E>b\n" in text
    assert len(text.split("\n")) == 6


def test_the_cards_of_an_answer_stand_below_each_other_and_mistakes_last():
    assert cards([], is_chat=True) == ""
    assert (
        cards([DRAFT, APPROVED], is_chat=True)
        == f"{card(DRAFT, is_chat=True)}\n\n{card(APPROVED, is_chat=True)}"
    )
    assert cards([DRAFT], ["spec block 2, line 1: title: is missing", "x"], is_chat=True) == (
        f"{card(DRAFT, is_chat=True)}\n\n✗ spec block 2, line 1: title: is missing\n✗ x"
    )


@pytest.mark.parametrize(
    ("spec", "start"),
    [
        (DRAFT, "? a1b2c3d4  draft      Add"),
        (APPROVED, "⏳ a1b2c3d4  approved   Add"),
        (FAILED, "✗ a1b2c3d4  failed     Add"),
        (REJECTED, "✗ a1b2c3d4  rejected   Add"),
        (EXECUTING, "⏳ a1b2c3d4  executing  Add"),
        (DONE, "✓ a1b2c3d4  done       Add"),
    ],
)
def test_a_line_of_the_list_begins_with_a_mark(spec, start):
    assert line(spec).startswith(start)


def test_in_full_every_criterion_has_its_tick():
    text = in_full(DONE, is_chat=True)
    assert "  ✓ one  (by a)\n  - two\n  ✓ three  (by c)\n" in text
    assert "\nHow\nCache in process,\nkeyed by version, 60 s\n" in text
    assert "\nFiles\n  a.py\n  b.py\n" in text
    assert "\nWritten by consultant in consultant-owner\nOn branch amiral/x, attempt 0\n" in text


def test_in_full_a_draft_without_files_says_so():
    text = in_full(replace(DRAFT, files=()), is_chat=True)
    assert "\nFiles\n  none named\n" in text
    assert "branch" not in text
