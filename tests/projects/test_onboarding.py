"""The interview of a new project: proposals, answers typed and answers in a file (S1.27)."""

import json

import pytest

from amiral.base.errors import Invalid
from amiral.projects.blueprint import Blueprint, Found
from amiral.projects.onboarding import (
    STEPS,
    Answers,
    Known,
    answers_of,
    questions,
    read_answers,
    read_typed,
)
from amiral.projects.skills import Matched, Skill

KNOWN = Known(
    ("claude", "codex"), ("consultant", "developer"), ("web", "rust"), ("guarded", "open")
)
FOUND = Blueprint(
    Found("rust", "Cargo.toml is there"), Found(), Found("cargo test", "it is there"), Found()
)
WEB = Matched(Skill("web", "w", (), (), ""), "the stack is rust")
ASKED = questions(KNOWN, FOUND, (WEB,), may_init=True)
BY_NAME = {one.name: one for one in ASKED}
PROPOSED = Answers(
    *("", "rust", "", "", "cargo test", ""),
    git=True,
    skills=("web",),
    cli="",
    active="developer",
    members={},
    rights="guarded",
)


def test_four_steps_are_asked_in_order_each_question_once():
    steps = [one.step for one in ASKED]
    assert list(dict.fromkeys(steps)) == list(STEPS)
    assert len({one.name for one in ASKED}) == len(ASKED)
    assert all(one.ask and one.help for one in ASKED)


def test_what_nobody_answers_is_what_was_found_and_least_power():
    assert answers_of(ASKED, {}) == PROPOSED
    assert BY_NAME["stack.language"].reason == "Cargo.toml is there"
    assert BY_NAME["stack.skills"].reason == "web: the stack is rust"


def test_without_a_developer_the_first_worker_takes_plain_text():
    asked = questions(Known((), ("scout",), (), ("open",)), Blueprint(), (), may_init=False)
    found = answers_of(asked, {})
    assert (found.active, found.rights, found.git) == ("scout", "open", False)


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("stack.language", "", "rust"),
        ("stack.language", " - ", ""),
        ("stack.language", " go ", "go"),
        ("stack.git", "n", False),
        ("stack.git", "Oui", True),
        ("stack.skills", "", ("web",)),
        ("stack.skills", "-", ()),
        ("stack.skills", "rust, web,", ("rust", "web")),
        ("workers.cli", "codex", "codex"),
        ("workers.cli", "-", ""),
        ("chat.members", "telegram:1=member, telegram:2 = viewer", None),
        ("chat.members", "-", {}),
        ("chat.rights", "open", "open"),
    ],
)
def test_an_answer_is_read_as_its_question_wants_it(name, typed, value):
    wanted = {"telegram:1": "member", "telegram:2": "viewer"} if value is None else value
    assert read_typed(BY_NAME[name], typed) == wanted


@pytest.mark.parametrize(
    ("name", "typed", "why"),
    [
        ("stack.git", "perhaps", "stack.git must be true or false"),
        ("stack.language", "\x1b[2J", "visible characters"),
        ("purpose.about", "x" * 401, "one line of at most 400"),
        ("stack.skills", "wbe", "none of web, rust.*did you mean web"),
        ("workers.cli", "claud", "did you mean claude"),
        ("workers.active", "-", "none of consultant, developer"),
        ("chat.rights", "root", "none of guarded, open"),
        ("chat.members", "123", "must be a table"),
        ("chat.members", "telegram:1=owner", "must be a table"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_the_reason(name, typed, why):
    with pytest.raises(Invalid, match=why):
        read_typed(BY_NAME[name], typed)


TOML = """[purpose]
about = "Tea"
[stack]
skills = ["rust"]
git = false
[chat]
members = {"telegram:1" = "viewer"}
"""


def test_a_file_answers_what_it_names_and_leaves_the_rest_as_proposed():
    read = read_answers(TOML, "a.toml", ASKED)
    assert (read.about, read.skills, read.git) == ("Tea", ("rust",), False)
    assert (read.members, read.test) == ({"telegram:1": "viewer"}, "cargo test")
    assert read_answers("", "a.toml", ASKED) == PROPOSED


def test_json_and_toml_say_the_same():
    document = {
        "purpose": {"about": "Tea"},
        "stack": {"skills": ["rust"], "git": False},
        "chat": {"members": {"telegram:1": "viewer"}},
    }
    text = json.dumps(document, indent=1)
    assert read_answers(text, "a.json", ASKED) == read_answers(TOML, "a.toml", ASKED)


@pytest.mark.parametrize(
    ("file", "text", "mistakes"),
    [
        ("a.toml", "[stak]\nx = 1\n", ["a.toml:1: unknown section stak (did you mean stack?)"]),
        ("a.toml", "stack = 1\n", ["a.toml:1: stack must be a table of answers (got 1)"]),
        (
            "a.toml",
            "[stack]\nlangage = 'x'\ngit = 1\nskills = 'web'\n[workers]\ncli = 'clude'\n",
            [
                "a.toml:2: unknown key stack.langage (did you mean language?)",
                "a.toml:3: stack.git must be true or false (got 1)",
                'a.toml:4: stack.skills must be a list of skills (got "web")',
                'a.toml:6: workers.cli: "clude" is none of claude, codex (did you mean claude?)',
            ],
        ),
        ("a.toml", "[stack]\nskills = [1]\n", ["a.toml:2: stack.skills: 1 is none of web, rust"]),
        ("a.toml", "[stack\n", ["a.toml:1: "]),
        ("a.json", "[]", ["a.json:1: the file must be an object (got [])"]),
        ("a.json", '{"stack":\n{"git": "x"}}', ["a.json:2: stack.git must be true or false"]),
        ("a.json", '{"stack": {},\n"stack": {}}', ['a.json:2: key "stack" stands twice']),
        ("a.json", '{"stack": {"git": null}}', ["a.json:1: stack.git must be true or false"]),
    ],
)
def test_every_mistake_of_a_file_is_told_at_once_by_line(file, text, mistakes):
    with pytest.raises(Invalid) as told:
        read_answers(text, file, ASKED)
    lines = told.value.message.split("\n")
    assert len(lines) == len(mistakes)
    assert all(line.startswith(wanted) for line, wanted in zip(lines, mistakes, strict=True))


def test_where_there_is_no_skill_none_can_be_named():
    asked = questions(Known((), ("d",), (), ("open",)), Blueprint(), (), may_init=False)
    with pytest.raises(Invalid, match='"web" is none of none'):
        read_answers("[stack]\nskills = ['web']", "a.toml", asked)
