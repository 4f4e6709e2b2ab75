"""One message and its turn in a CLI's own transcript."""

import glob
import json

from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.driver import Settlement
from amiral.agents.fields import Fields
from amiral.agents.transcript import find_turn, literal


def begun(entry: Fields) -> str | None:
    return entry.text("id") if entry.text("type") == "message" else None


def message(name: str) -> bytes:
    return json.dumps({"type": "message", "id": name}).encode()


def reply(text: str) -> bytes:
    return json.dumps({"type": "reply", "text": text}).encode()


def turn(lines: list[bytes], name: str = "m1"):
    found = find_turn(lines, name, begun)
    return found if isinstance(found, Settlement) else [entry.text("text") for entry in found]


def test_a_turn_is_what_stands_between_its_message_and_the_next():
    lines = [reply("0"), message("m0"), reply("a"), message("m1"), reply("b"), reply("c")]
    assert turn([*lines, message("m2"), reply("d")]) == ["b", "c"]
    assert turn(lines, "m0") == ["a"]


def test_a_message_without_replies_has_an_empty_turn():
    assert turn([message("m1")]) == []


def test_a_message_that_is_not_there_is_absent():
    assert turn([]) == Settlement("absent")
    assert turn([message("m2"), reply("m1"), b"", b" "]) == Settlement("absent")


def test_a_message_that_may_have_been_in_a_torn_line_is_unknown():
    assert turn([reply("a"), message("m1")[:-1]]) == Settlement("unknown")
    assert turn([reply("a"), message("m1")[:9]]) == Settlement("unknown")


def test_of_several_occurrences_the_last_counts():
    lines = [message("m1"), reply("a"), message("m2"), reply("b"), message("m1"), reply("c")]
    assert turn(lines) == ["c"]


def test_a_torn_line_elsewhere_changes_nothing():
    assert turn([message("m1"), reply("a"), b'{"type":"rep']) == ["a"]


@given(st.text(alphabet="a[]*?!/", min_size=1, max_size=8))
def test_a_literal_part_of_a_pattern_stands_for_itself(part):
    assert glob.fnmatch.fnmatchcase(part, literal(part))  # type: ignore[attr-defined]
    assert not glob.fnmatch.fnmatchcase(f"{part}a", literal(part))  # type: ignore[attr-defined]
