"""Events read back as they were stored, today's and yesterday's."""

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.base import events
from amiral.base.errors import Broken, Invalid
from amiral.base.events import Event, LimitNoted, NoiseRead, ProjectProcessStarted, RoleChosen
from amiral.store.codec import encode, read_row, stamp, to_row
from amiral.store.redact import REDACTED, Redactor

OLD_EVENTS = sorted((Path(__file__).parent / "old_events").glob("*.jsonl"))

st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))


def old_lines():
    return [
        json.loads(line) for path in OLD_EVENTS for line in path.read_text().split("\n") if line
    ]


@given(
    st.sampled_from(events.ALL).flatmap(st.from_type),
    st.integers(1, 2**53),
    st.integers(0, 2**53),
    st.text(),
)
def test_every_event_reads_back_as_it_was(event, seq, ts_ms, by):
    (stamped,) = stamp([encode(event, None)], seq, ts_ms, by)
    assert stamped[:5] == (seq, ts_ms, by, type(event).__name__, event.version)
    assert stamped.event == event
    assert read_row(to_row(stamped)) == stamped


@given(st.sampled_from(events.ALL).flatmap(st.from_type))
def test_what_is_redacted_is_what_is_stored(event):
    redact = Redactor(["secret-value"])
    shown, payload = encode(event, redact)
    assert encode(shown, None) == (shown, payload)


@pytest.mark.parametrize("line", old_lines(), ids=lambda line: line["name"])
def test_an_old_event_always_loads_with_all_it_said(line):
    payload = json.dumps(line["payload"]).encode()
    stamped = read_row((1, 2, "x", line["name"], line["version"], payload))
    read = json.loads(msgspec.json.encode(stamped.event))
    assert line["payload"].items() <= read.items()


def test_every_event_has_an_old_one_that_must_always_load():
    kept = {(line["name"], line["version"]) for line in old_lines()}
    missing = [
        json.dumps({"name": kind.__name__, "version": kind.version, "payload": _blank(kind)})
        for kind in events.ALL
        if (kind.__name__, kind.version) not in kept
    ]
    if missing:
        lines = "\n".join(missing)
        pytest.fail(f"add, filled in, to the newest file of tests/store/old_events:\n{lines}")


def _blank(kind):
    return {field.name: str(field.type) for field in fields(kind)}


@pytest.mark.parametrize(
    ("name", "version"), [("Undreamt", 1), ("RoleChosen", RoleChosen.version + 1)]
)
def test_an_event_of_a_newer_amiral_is_kept_and_not_read(name, version):
    row = (1, 2, "x", name, version, b'{"worker": 5}')
    stamped = read_row(row)
    assert stamped.event is None
    assert to_row(stamped) == row


def test_a_field_of_a_newer_amiral_is_skipped():
    stamped = read_row((1, 2, "x", "RoleChosen", 1, b'{"worker": "a", "mood": "calm"}'))
    assert stamped.event == RoleChosen("a")


def test_a_damaged_event_is_never_hidden():
    with pytest.raises(Broken, match=r"event 7 of the journal \(RoleChosen\) is damaged"):
        read_row((7, 2, "x", "RoleChosen", 1, b'{"worker": '))


@dataclass(frozen=True)
class Homemade(Event):
    """An event that nobody could read back."""


@pytest.mark.parametrize(
    "event",
    [
        RoleChosen(None),  # type: ignore[arg-type]
        RoleChosen(object()),  # type: ignore[arg-type]
        LimitNoted("w", "s", (1, 1), "5h", math.nan),
        LimitNoted("w", "s", (1, 1), "5h", math.inf),
        NoiseRead("s", "w", (1,), "x"),  # type: ignore[arg-type]
        Homemade(),
    ],
)
def test_an_event_that_would_not_read_back_is_refused(event):
    with pytest.raises(Invalid, match=type(event).__name__):
        encode(event, None)


def test_r03_half_a_surrogate_pair_costs_one_character_not_the_event():
    event, _ = encode(NoiseRead("s", "w", (1, 1), "a\ud800b😀"), None)
    assert event == NoiseRead("s", "w", (1, 1), "a\ufffdb😀")


def test_a_list_given_for_a_tuple_is_seen_as_it_will_be_read_back():
    event, _ = encode(NoiseRead("s", "w", [1, 1], "x"), None)  # type: ignore[arg-type]
    assert event == NoiseRead("s", "w", (1, 1), "x")


@pytest.mark.parametrize("secret", ["open sesame", "123456", "worker", 'quo"te\\d', "boot_id"])
def test_r50_a_secret_is_neither_in_the_bytes_nor_in_what_tables_see(secret):
    redact = Redactor([secret])
    event, payload = encode(NoiseRead("s", "w", (123456, 1), f"say {secret}!"), redact)
    assert event == NoiseRead("s", "w", (123456, 1), f"say {REDACTED}!")
    assert json.loads(payload)["text"] == f"say {REDACTED}!"


def test_a_number_is_no_secret():
    event, _ = encode(ProjectProcessStarted(1234567, 8, "b"), Redactor(["1234567"]))
    assert event == ProjectProcessStarted(1234567, 8, "b")


def test_paths_and_keys_that_machines_read_back_are_never_redacted():
    redact = Redactor(["sk-learn-experiments-2024"])
    folder = "/home/u/sk-learn-experiments-2024"
    lost = events.ContextLost("owner-c", "c", "claude", folder, f"made in {folder}")
    stored = msgspec.json.decode(encode(lost, redact)[1])
    assert stored["key"] == folder
    assert "sk-learn" not in stored["reason"]
