"""SPEC blocks in answers: found, checked with every mistake placed, written and read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.specs.block import BlocksRead, read_blocks, render_block
from amiral.specs.spec import COMPLEXITIES, LONGEST_TITLE, Draft

GOOD = "title: A\nproblem: B\napproach: C\nacceptance: [D]\n"
SMALL = Draft("A", "B", "C", ("D",))


def block(body, fence="```", info="spec"):
    return f"{fence}{info}\n{body}{fence}\n"


def errors(body):
    found = read_blocks(block(body))
    assert found.specs == ()
    return list(found.errors)


def test_s0_8_s0_36_the_sample_is_read_from_a_whole_answer(sample, limiter):
    assert read_blocks(sample) == BlocksRead((limiter,))


def test_s0_38_the_title_is_the_one_line_of_the_block():
    assert read_blocks(block(GOOD)).specs == (SMALL,)
    assert errors(GOOD.replace("title: A", "title: |\n  A\n  B")) == [
        "spec block 1, line 1: title: must be one line of at most 120 characters"
    ]


@pytest.mark.parametrize("info", ["spec", " spec ", "SPEC", "Spec\t"])
@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
def test_a_block_is_a_fence_with_the_info_string_spec(info, fence):
    assert read_blocks(block(GOOD, fence, info)) == BlocksRead((SMALL,))


@pytest.mark.parametrize("info", ["", "yaml", "spec yaml", "specs", "spec:"])
def test_other_fences_are_text(info):
    assert read_blocks(block(GOOD, info=info)) == BlocksRead()


@pytest.mark.parametrize(
    "answer",
    [
        f"````\n{block(GOOD)}````\n",
        f"~~~markdown\n{block(GOOD)}~~~\n",
        "".join(f"> {line}\n" for line in block(GOOD).split("\n")),
        "@@ -0,0 +1,7 @@\n" + "".join(f" {line}\n" for line in block(GOOD).split("\n")),
        "".join(f"+{line}\n" for line in block(GOOD).split("\n")),
        "".join(f"    {line}\n" for line in block(GOOD).split("\n")),
        f"```diff\n {block(GOOD)}",
    ],
)
def test_r55_a_block_in_a_fence_a_quote_a_diff_or_indented_code_is_text(answer):
    assert read_blocks(f"before\n\n{answer}\nafter\n") == BlocksRead()


def test_several_blocks_stand_for_themselves_and_a_bad_one_costs_only_itself():
    found = read_blocks(block(GOOD) + "text\n" + block("title: A\n") + block(GOOD, "~~~"))
    assert found.specs == (SMALL, SMALL)
    assert found.errors == (
        "spec block 2, line 1: acceptance: is missing",
        "spec block 2, line 1: approach: is missing",
        "spec block 2, line 1: problem: is missing",
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (GOOD.replace("A", "x" * (LONGEST_TITLE + 1)), "1: title: must be one line of at most 120"),
        (GOOD.replace("title: A", "title:"), "1: title: must not be empty"),
        (GOOD.replace("title: A", "title: ''"), "1: title: must not be empty"),
        (GOOD.replace("B", '" "'), "2: problem: must not be blank"),
        (GOOD.replace("B", "[b]"), "2: problem: must be a text"),
        (GOOD.replace("[D]", "[]"), "4: acceptance: must hold at least one criterion"),
        (GOOD.replace("[D]", "D"), "4: acceptance: must be a list"),
        (GOOD.replace("[D]", "[{a: b}]"), "4: acceptance: must be a text"),
        (GOOD + "files: a.py\n", "5: files: must be a list"),
        (GOOD + "complexity: huge\n", "5: complexity: must be one of low, medium, high"),
        (GOOD + "title: again\n", "5: a spec: title is given twice"),
        (GOOD + "aproach: x\n", "5: a spec: unknown key aproach (did you mean approach?)"),
        (GOOD.replace("B", "b: c"), "2: mapping values are not allowed here"),
        ("- a\n", "1: a spec must be a mapping of title, problem"),
        ("# only a comment\n", "1: the block is empty; it needs title, problem"),
        ("x" * 40_000 + "\n", "1: the block is longer than 32 KiB"),
    ],
)
def test_r56_a_mistake_is_told_with_block_line_and_field(body, told):
    (error,) = errors(body)
    assert error.startswith(f"spec block 1, line {told}")


def test_a_block_that_does_not_end_is_a_mistake_at_its_last_line():
    found = read_blocks("text\n```spec\ntitle: A\nproblem: B")
    assert found == BlocksRead((), ("spec block 1, line 2: the block is not closed",))


def test_r56_values_stay_as_they_were_written():
    body = "title: no\nproblem: 10:30\napproach: 0755\nacceptance: [yes, 1e3, ~]\n"
    assert read_blocks(block(body)).specs == (Draft("no", "10:30", "0755", ("yes", "1e3", "~")),)


def test_an_answer_has_a_bounded_number_of_blocks():
    found = read_blocks(block(GOOD) * 51)
    assert len(found.specs) == 50
    assert found.errors == ("spec block 51: an answer has at most 50 blocks",)


def test_a_revision_names_the_spec_it_replaces():
    old = Draft("A", "B", "C", ("D",), revises="a1b2c3d4")
    assert "revises: a1b2c3d4\n" in render_block(old)
    assert read_blocks(render_block(old)).specs == (old,)


CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXTS = st.text(CHARACTERS, max_size=80).map(str.strip).filter(bool) | st.sampled_from(
    ["```spec", "a\n```\nb", "no", "x: y # z", "é\u2028😀", "- [ ] a", "~~~", "> q", '"', "'", "|"]
)
DRAFTS = st.builds(
    Draft,
    title=TEXTS.filter(lambda text: "\n" not in text),
    problem=TEXTS,
    approach=TEXTS,
    acceptance=st.lists(TEXTS, min_size=1, max_size=4).map(tuple),
    files=st.lists(TEXTS, max_size=3).map(tuple),
    complexity=st.sampled_from(COMPLEXITIES),
    revises=st.just("") | TEXTS,
)


@given(DRAFTS)
def test_p12_a_block_written_reads_back_as_the_same_draft(draft):
    assert read_blocks(render_block(draft)) == BlocksRead((draft,))


@given(st.lists(DRAFTS, max_size=3), st.sampled_from(["\n", "\r\n"]))
def test_p12_blocks_read_the_same_whatever_stands_around_them(drafts, end):
    answer = "\nsome text\n".join(["Look:", *map(render_block, drafts), "That is all."])
    assert read_blocks(answer.replace("\n", end)).specs == tuple(drafts)


PIECES = st.sampled_from(
    ["```spec\n", "```\n", "~~~spec\n", "title: A\n", "acceptance:\n", "  - a\n", "> ", "    "]
    + ["problem: |\n", "&a ", "*a", "!!python/object:os.system ", "---\n", "\t", "{", "[", ": "]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join))
def test_p12_any_answer_is_read_and_every_block_is_a_spec_or_told(answer):
    found = read_blocks(answer)
    assert all(draft.title and draft.acceptance for draft in found.specs)
    assert all(error.startswith("spec block ") for error in found.errors)


@given(st.lists(DRAFTS, min_size=1, max_size=3), st.data())
def test_p12_how_an_answer_was_cut_into_pieces_does_not_matter(drafts, data):
    pieces = [f"text\n{render_block(draft)}" for draft in drafts]
    cut = data.draw(st.integers(0, len(pieces)))
    first, second = "".join(pieces[:cut]), "".join(pieces[cut:])
    assert read_blocks(first + second).specs == read_blocks(first).specs + read_blocks(second).specs
