"""What the blocks of an answer become: drafts, revisions, refusals, an offer to mend them."""

import pytest

from amiral.base import events as ev
from amiral.specs import rows
from amiral.specs.block import read_blocks, render_block
from amiral.specs.intake import Answer, settle
from amiral.specs.spec import Draft, Rules

SMALL = Draft("A", "B", "C", ("D",))
BAD = "```spec\ntitle: A\n```\n"


@pytest.fixture
def take(journal, tell):
    """Have a message answered and its answer taken; gives the events that follow from it."""

    async def take(message, answer, rules=Rules(), **told):  # noqa: B008 - it is frozen
        seq = await tell(message, answer, **told)
        return await take_again(journal, seq, message, answer, rules)

    return take


async def take_again(journal, seq, message, answer, rules=Rules()):  # noqa: B008
    def decide(read):
        events = settle(read, Answer(seq, message, read_blocks(answer)), rules)
        return events, events

    return await journal.decide(decide)


def kinds(events):
    return [type(event).__name__ for event in events]


async def test_s0_8_a_block_becomes_a_draft_of_the_worker_and_its_conversation(
    take, journal, sample, limiter
):
    made, read = await take("m1", sample)
    (spec,) = rows.every(journal.rows)
    assert (spec.status, spec.author) == ("draft", "consultant")
    assert spec.conversation == "consultant-owner"
    assert (spec.title, spec.acceptance, spec.files) == (
        limiter.title,
        limiter.acceptance,
        limiter.files,
    )
    assert made.spec == spec.id
    assert len(spec.id) == 8
    assert spec.id.isalnum()
    assert spec.id == spec.id.lower()
    assert rows.answered(journal.rows, "m1") == [spec]
    assert read == ev.AnswerRead("specs", 2)


async def test_an_answer_without_blocks_is_noted_as_read_and_nothing_else(take):
    assert kinds(await take("m1", "no block here")) == ["AnswerRead"]


async def test_p01_an_answer_taken_twice_has_its_effect_once(take, journal):
    await take("m1", render_block(SMALL) + BAD)
    seq = journal.last_seq
    assert await take_again(journal, 2, "m1", render_block(SMALL) + BAD) == []
    assert journal.last_seq == seq


async def test_an_answer_to_a_message_nobody_knows_is_passed_over(journal):
    events = await take_again(journal, 1, "unknown", render_block(SMALL))
    assert kinds(events) == ["AnswerRead"]


async def test_s0_35_a_draft_too_many_is_refused_with_the_way_out_and_not_offered_back(
    take, journal
):
    drafts = [Draft(f"T{n}", "B", "C", ("D",)) for n in range(4)]
    events = await take("m1", "".join(map(render_block, drafts)), Rules(most_drafts=3))
    assert kinds(events) == [*["SpecCreated"] * 3, "SpecBlocksRefused", "AnswerRead"]
    (told,) = events[3].errors
    assert told == (
        'spec "T3" is not kept: 3 drafts wait already;'
        " approve or reject some (/specs lists them), then ask for it again"
    )
    assert rows.refusals(journal.rows, "m1") == (told,)
    assert len(rows.drafts(journal.rows)) == 3


async def test_s0_35_room_is_made_by_judging_a_draft(take, journal):
    rules = Rules(most_drafts=1)
    await take("m1", render_block(SMALL), rules)
    (spec,) = rows.drafts(journal.rows)
    assert "SpecCreated" not in kinds(await take("m2", render_block(SMALL), rules))
    await journal.append(ev.SpecRejected(spec.id))
    assert "SpecCreated" in kinds(await take("m3", render_block(SMALL), rules))


async def test_bad_blocks_are_told_and_offered_back_and_the_rest_is_kept(take, journal):
    made, refused, offer, _ = await take("m1", render_block(SMALL) + BAD)
    assert isinstance(made, ev.SpecCreated)
    assert refused.errors[0] == "spec block 2, line 1: acceptance: is missing"
    assert (offer.sender, offer.worker, offer.reply_to) == ("amiral", "consultant", "m1")
    assert (offer.conversation, offer.surface) == ("consultant-owner", "telegram")
    assert "- spec block 2, line 1: acceptance: is missing\n" in offer.text
    assert "m1" not in offer.message


async def test_bad_blocks_are_offered_back_once(take):
    events = await take("m2", BAD, sender="amiral", reply_to="m1")
    assert kinds(events) == ["SpecBlocksRefused", "AnswerRead"]


async def test_s0_35_specs_are_approved_by_themselves_only_if_the_owner_says_so(take, journal):
    events = await take("m1", render_block(SMALL) * 2, Rules(auto_approve=True, most_drafts=1))
    assert kinds(events) == [*["SpecCreated", "SpecApproved"] * 2, "AnswerRead"]
    assert [spec.by for spec in rows.approved(journal.rows)] == ["amiral", "amiral"]


@pytest.fixture
async def rejected(take, journal):
    made, _ = await take("m1", render_block(SMALL))
    await journal.append(ev.SpecRejected(made.spec, "too big"), by="owner")
    return made.spec


async def test_s0_18_an_answer_about_a_rejected_spec_is_its_next_revision(take, journal, rejected):
    new = Draft("A2", "B2", "C2", ("D2",), ("f",), "high")
    revised, _ = await take("m2", render_block(new), reply_to=rejected)
    assert isinstance(revised, ev.SpecRevised)
    (spec,) = rows.every(journal.rows)
    assert (spec.id, spec.revision, spec.status, spec.title) == (rejected, 2, "draft", "A2")
    assert (spec.by, spec.message) == ("consultant", "m2")
    assert rows.answered(journal.rows, "m2") == rows.answered(journal.rows, "m1") == [spec]


async def test_a_block_may_say_itself_which_spec_it_revises(take, journal, rejected):
    text = render_block(Draft("A2", "B", "C", ("D",), revises=rejected)) + render_block(SMALL)
    assert kinds(await take("m2", text)) == ["SpecRevised", "SpecCreated", "AnswerRead"]
    assert rows.named(journal.rows, rejected).title == "A2"


async def test_several_blocks_about_a_rejected_spec_are_new_ones(take, rejected):
    events = await take("m2", render_block(SMALL) * 2, reply_to=rejected)
    assert kinds(events) == ["SpecCreated", "SpecCreated", "AnswerRead"]


async def test_a_corrected_block_still_revises_the_spec_it_was_about(take, rejected):
    *_, offer, _ = await take("m2", BAD, reply_to=rejected)
    events = await take("m3", render_block(SMALL), sender="amiral", reply_to=offer.reply_to)
    assert kinds(events) == ["SpecRevised", "AnswerRead"]


async def test_only_a_rejected_spec_is_revised(take, journal, rejected):
    again = Draft("A", "B", "C", ("D",), revises=rejected)
    revised, refused, *_ = await take("m2", render_block(again) * 2)
    assert isinstance(revised, ev.SpecRevised)
    assert f"{rejected} is revised in this answer already" in refused.errors[0]
    for number, status in ((3, "draft"), (4, "approved")):
        _, offer, _ = events = await take(f"m{number}", render_block(again))
        assert f"revises: {rejected} is {status}, only a rejected spec is" in events[0].errors[0]
        assert isinstance(offer, ev.MessageQueued)
        await journal.append(ev.SpecApproved(rejected))
    assert "SpecCreated" in kinds(await take("m5", render_block(SMALL), reply_to=rejected))


async def test_a_block_cannot_revise_what_another_conversation_wrote(take, rejected):
    events = await take(
        "m2", render_block(Draft("A", "B", "C", ("D",), revises=rejected)), worker="ui-designer"
    )
    assert f"{rejected} was written by consultant in another conversation" in events[0].errors[0]
    events = await take("m3", render_block(SMALL), worker="ui-designer", reply_to=rejected)
    assert kinds(events) == ["SpecCreated", "AnswerRead"]


async def test_a_block_that_revises_an_unknown_spec_is_told_the_nearest(take, rejected):
    wrong = rejected[:-1]
    (refused, *_) = await take("m2", render_block(Draft("A", "B", "C", ("D",), revises=wrong)))
    assert refused.errors[0] == (
        f"spec \"A\": revises: no spec '{wrong}' (did you mean {rejected}?);"
        " correct the line, or leave it out to write a new spec"
    )


async def test_s0_35_a_revision_needs_room_like_any_draft(take, journal, rejected):
    rules = Rules(most_drafts=1)
    await take("m2", render_block(SMALL), rules)
    events = await take("m3", render_block(SMALL), rules, reply_to=rejected)
    assert kinds(events) == ["SpecBlocksRefused", "AnswerRead"]
    assert rows.named(journal.rows, rejected).status == "rejected"
