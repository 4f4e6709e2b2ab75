"""Skills are read whole or refused by line, and matched with a reason (S1.31)."""

import pytest

from amiral.base.errors import Invalid
from amiral.projects.skills import Matched, Skill, matching, read_skill

GOOD = """---
name: rest-api
description: how an API is made
matches: [fastapi, "openapi.*"]
keywords: [api]
---
# Text
---
more
"""


def test_a_whole_skill_is_kept_as_it_was_written():
    skill = read_skill(GOOD, "rest.md")
    assert skill == Skill(
        "rest-api", "how an API is made", ("fastapi", "openapi.*"), ("api",), GOOD
    )
    assert skill.file == "skills/rest-api.md"


def test_lists_may_be_left_out():
    skill = read_skill("---\nname: x\ndescription: y\n---\n", "x.md")
    assert (skill.matches, skill.keywords) == ((), ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# no front matter\n", "s.md:1: a skill begins with"),
        ("---\nname: x\n", "s.md:1: a skill begins with"),
        ("---\n\n---\n", "s.md:1: the front matter is empty"),
        ("---\n- a\n---\n", "s.md:2: the front matter must be a mapping"),
        ("---\nname: a\n---\n", "description is missing"),
        ("---\ndescription: a\n---\n", "name is missing"),
        ("---\nname: ../x\ndescription: a\n---\n", "s.md:2: name must be lowercase"),
        ("---\nname: a\ndescription: b\nmatch: [c]\n---\n", "s.md:4: .*did you mean matches"),
        ("---\nname: a\ndescription: b\nmatches: c\n---\n", "s.md:4: matches must be a list"),
        ("---\nname: [\n---\n", "s.md:"),
    ],
)
def test_every_mistake_has_its_line(text, message):
    with pytest.raises(Invalid, match=message):
        read_skill(text, "s.md")


SKILLS = (
    Skill("web", "w", ("fastapi",), ("API",), ""),
    Skill("docker", "d", ("Dockerfile", "*.tf"), (), ""),
    Skill("web", "own", ("Django",), ("api",), ""),
)


@pytest.mark.parametrize(
    ("stack", "files", "purpose", "reasons"),
    [
        (("python", ""), (), "", []),
        (("python", "django"), (), "", ["the stack is Django"]),
        (("python", "fastapi"), (), "", []),
        ((), ("Dockerfile", "a.tf"), "", ["Dockerfile is there"]),
        ((), ("infra/main.tf",), "", ["infra/main.tf is there"]),
        ((), (), "An API, for tea.", ["the purpose says api"]),
        ((), (), "therapist", []),
    ],
)
def test_a_skill_fits_by_stack_file_or_purpose_and_the_owners_own_wins(
    stack, files, purpose, reasons
):
    assert [one.reason for one in matching(SKILLS, stack, files, purpose)] == reasons


def test_what_fits_is_given_with_the_skill():
    (one,) = matching(SKILLS, ("django",), (), "")
    assert one == Matched(SKILLS[2], "the stack is Django")
