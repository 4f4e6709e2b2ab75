"""What Codex's own record of a thread proves about a message, after a kill at any place."""

import json
from pathlib import Path

import pytest

from amiral.agents.driver import Settlement
from amiral.agents.drivers.codex.rollout import settle

OWN = Path(__file__).parents[1] / "transcripts" / "codex" / "own"


def recorded(name: str) -> list[bytes]:
    return (OWN / f"{name}.jsonl").read_bytes().split(b"\n")


def entry(kind: str, **payload) -> bytes:
    return json.dumps({"type": "event_msg", "payload": {"type": kind, **payload}}).encode()


def said(text: str) -> bytes:
    return entry("message", role="user", content=[{"type": "input_text", "text": text}])


def taken(message: str | None, turn: str = "t1") -> bytes:
    item = {"type": "UserMessage", "client_id": message}
    return entry("item_completed", turn_id=turn, item=item)


def ended(turn: str = "t1", **more) -> bytes:
    return entry("task_complete", turn_id=turn, **{"last_agent_message": "fine", **more})


@pytest.mark.parametrize(
    ("name", "message", "proof", "text"),
    [
        ("model", "m1", "received", ""),
        ("model", "m2", "absent", ""),
        ("model-resumed", "m1", "received", ""),
        ("model-resumed", "m2", "answered", "resumed"),
        ("tool", "m1", "received", ""),
        ("tool-resumed", "m1", "received", ""),
        ("tool-resumed", "m2", "answered", "resumed"),
        ("final", "m1", "answered", "the answer"),
        ("final-resumed", "m1", "answered", "the answer"),
        ("final-resumed", "m2", "answered", "resumed"),
        ("interrupted", "m1", "received", ""),
        ("interrupted", "m2", "answered", "after"),
        ("limited", "m1", "answered", "nearly"),
        ("limited", "m2", "received", ""),
        ("limited", "m2.1", "answered", "after"),
        ("limited", "m3", "received", ""),
        ("limited", "m4", "absent", ""),
    ],
)
def test_its_own_record_proves_what_became_of_a_message_r41(name, message, proof, text):
    assert settle(recorded(name), message, "another text") == Settlement(proof, text)


@pytest.mark.parametrize("name", ["final", "tool", "limited"])
def test_a_record_cut_anywhere_proves_no_more_than_it_holds(name):
    whole = b"\n".join(recorded(name))
    order = ["absent", "received", "answered"]
    seen = [settle(whole[:end].split(b"\n"), "m1", "go").proof for end in range(len(whole))]
    ranks = [order.index(proof) for proof in seen if proof != "unknown"]
    assert ranks == sorted(ranks), "more bytes never prove less"


def test_a_text_that_stands_there_without_its_id_was_received():
    before = [said("go"), taken("m0", "t0"), ended("t0")]
    assert settle([*before, said("go")], "m1", "go") == Settlement("received")
    assert settle(before, "m1", "go") == Settlement("absent"), "that one was another message"
    assert settle([*before, said("else")], "m1", "go") == Settlement("absent")
    assert settle([said("go"), b'{"torn'], "m1", "go") == Settlement("received")


def test_a_torn_line_may_have_been_the_message():
    assert settle([b'{"payl', b""], "m1", "go") == Settlement("unknown")
    assert settle([taken("m1"), b'{"payl'], "m1", "go") == Settlement("received")


def test_only_the_end_of_its_own_turn_answers_a_message():
    lines = [taken("m1"), ended("t2"), taken(None, "t2"), ended("t2")]
    assert settle(lines, "m1", "go") == Settlement("received")
    assert settle([*lines, ended("t1")], "m1", "go") == Settlement("answered", "fine")
    failed = ended(error={"message": "no"}, last_agent_message=None)
    assert settle([taken("m1"), failed], "m1", "go") == Settlement("received")
    silent = ended(last_agent_message=None)
    assert settle([taken("m1"), silent], "m1", "go") == Settlement("answered", "")
