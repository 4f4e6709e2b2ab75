"""The examples of docs/reference/permissions.md are answered as the page says."""

import re
from pathlib import Path

import pytest

from amiral.permissions.policy import parse_policy
from amiral.permissions.rules import Capability, Posture, decide_file, path_of, resolve
from amiral.permissions.shell import decide_command

PAGE = Path(__file__).parents[2].joinpath("docs/reference/permissions.md").read_text("utf-8")
ROW = re.compile(
    r"^\| (?:`(read|write|delete)` \| )?`([^`]+)` \| (allow|ask|deny) \|$", re.MULTILINE
)
ROWS = ROW.findall(PAGE)


@pytest.fixture(scope="module")
def permissions():
    policy, diagnostics = parse_policy(PAGE.split("```")[1].removeprefix("json\n"), "page")
    assert diagnostics == ()
    return resolve(policy, "developer", "all").permissions


@pytest.mark.parametrize(("capability", "target", "answer"), ROWS)
def test_an_example_of_the_page_is_answered_as_it_says(permissions, capability, target, answer):
    if capability:
        path = path_of("/shop", target)
        decision = decide_file(permissions, Capability(capability), path)
    else:
        decision = decide_command(permissions, target)
    assert decision.posture is Posture(answer)


def test_the_page_has_examples_of_both_kinds():
    kinds = [bool(capability) for capability, *_ in ROWS]
    assert kinds.count(True) >= 10
    assert kinds.count(False) >= 15


def test_the_page_names_every_word_of_the_file():
    for word in (*Capability, *Posture, "version", "default", "rules", "workers", "match"):
        assert f"`{word}`" in PAGE
