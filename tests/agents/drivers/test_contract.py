"""What every driver must do, shown on recorded output of its CLI: one line in DRIVERS joins."""

import json
import os
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.agents.driver import (
    Asked,
    Driver,
    Finished,
    Input,
    Noise,
    Read,
    Seat,
    Settlement,
    Signal,
)
from amiral.agents.drivers import scripted
from amiral.agents.drivers.claude import driver as claude
from amiral.agents.drivers.codex import driver as codex
from amiral.agents.framing import Framer, Line

DRIVERS: dict[str, Driver[Any]] = {
    "claude": claude.DRIVER,
    "codex": codex.DRIVER,
    "scripted": scripted.DRIVER,
}
TRANSCRIPTS = Path(__file__).parent / "transcripts"


def recordings_of(name: str) -> list[Path]:
    return sorted((TRANSCRIPTS / name).glob("*.jsonl"))


RECORDED = [
    pytest.param(name, path, id=f"{name}-{path.stem}")
    for name in DRIVERS
    for path in recordings_of(name)
]
SEAT = Seat(
    worker="backend",
    command=("cli", "--own"),
    cwd="/project",
    config_home="/home[1]/w",
    tmp="/tmp/w",
    model="m",
    tools=("Read",),
    max_turns=3,
    identity="You are a backend developer.",
    login={"KEY": "k"},
    fresh_key="11111111-2222-4333-8444-555555555555",
)
every_driver = pytest.mark.parametrize("name", DRIVERS)
every_recording = pytest.mark.parametrize(("name", "path"), RECORDED)


def lines_of(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().split(b"\n") if line]


def fold(driver, lines) -> tuple[list[Signal], list[Input]]:
    state, signals, inputs = driver.open(SEAT)[0], [], []
    for line in lines:
        read = driver.read(state, line)
        state = read.state
        signals += read.signals
        inputs += read.inputs
    return signals, inputs


def changed_objects(lines, change) -> list[bytes]:
    """Rewrite each line that is a JSON object."""
    out = []
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        is_object = isinstance(value, dict)
        out.append(json.dumps(change(value)).encode() if is_object else line)
    return out


def backwards(value):
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(value)}
    return [backwards(item) for item in value] if isinstance(value, list) else value


def check_read(driver, read) -> None:
    assert isinstance(read, Read)
    assert isinstance(read.state, driver.state_type)
    assert {type(signal) for signal in read.signals} <= set(get_args(Signal))
    assert all(type(one) is Input and one.data.endswith("\n") for one in read.inputs)
    msgspec.json.encode(read.signals)
    snapshot = msgspec.json.encode(read.state)
    assert msgspec.json.decode(snapshot, type=driver.state_type) == read.state


@every_driver
def test_there_are_recordings(name):
    assert len(recordings_of(name)) >= 5


@every_recording
def test_a_recording_gives_the_expected_signals(name, path):
    """AMIRAL_GOLDEN=1 writes what comes out now, to be looked at before it is kept."""
    signals, inputs = fold(DRIVERS[name], lines_of(path))
    found = [*map(repr, signals), *(f"-> {one!r}" for one in inputs)]
    expected = path.with_suffix(".signals")
    if os.environ.get("AMIRAL_GOLDEN") == "1":
        expected.write_text("".join(f"{line}\n" for line in found), encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8").split("\n")[:-1]


@every_recording
def test_a_recorded_turn_never_ends_twice_and_names_its_end(name, path):
    signals, _ = fold(DRIVERS[name], lines_of(path))
    ends = [signal for signal in signals if isinstance(signal, Finished)]
    hows = ("done", "failed", "interrupted", "limited", "context_lost")
    assert all(end.how in hows for end in ends)
    assert all(end.reason for end in ends if end.how != "done")
    assert all(end.resume_key == "" for end in ends if end.how == "context_lost")


@every_driver
@given(data=st.data())
def test_any_chunking_gives_the_same_signals_p12(name, data):
    path = data.draw(st.sampled_from(recordings_of(name)))
    whole = path.read_bytes()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=12)))
    framer = Framer()
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        found += [line.data for line in framer.feed(whole[start:end]) if isinstance(line, Line)]
    found.append(framer.tail())
    assert fold(DRIVERS[name], found) == fold(DRIVERS[name], lines_of(path))


@every_recording
def test_a_state_can_be_kept_at_any_line_and_gone_on_from(name, path):
    driver, lines = DRIVERS[name], lines_of(path)
    state = driver.open(SEAT)[0]
    expected, _ = fold(driver, lines)
    found: list[Signal] = []
    for line in lines:
        kept = msgspec.json.decode(msgspec.json.encode(state), type=driver.state_type)
        read = driver.read(kept, line)
        state = read.state
        found += read.signals
    assert found == expected


@every_recording
def test_the_order_of_keys_and_unknown_fields_mean_nothing(name, path):
    driver, lines = DRIVERS[name], lines_of(path)
    expected = [
        signal for signal in fold(driver, lines)[0] if not isinstance(signal, Asked | Noise)
    ]
    for change in (backwards, lambda value: {"zz_new": {"type": "result"}, **value}):
        found = fold(driver, changed_objects(lines, change))[0]
        assert [one for one in found if not isinstance(one, Asked | Noise)] == expected


@every_driver
def test_an_unknown_event_is_noise_and_changes_nothing(name):
    driver = DRIVERS[name]
    state = driver.open(SEAT)[0]
    for line in (b'{"type":"from_the_future","a":1}', b"Update available", b"\x1b[31mred\x1b[0m"):
        read = driver.read(state, line)
        assert read.state == state
        assert [type(signal) for signal in read.signals] == [Noise]
    assert driver.read(state, b"").signals == ()


@every_driver
@given(lines=st.lists(st.binary(max_size=60), max_size=4))
def test_any_bytes_are_read_without_failing_p12(name, lines):
    driver = DRIVERS[name]
    state = driver.open(SEAT)[0]
    for line in lines:
        read = driver.read(state, line)
        check_read(driver, read)
        state = read.state


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "message", "content", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def mutate(data, value):
    """Put something else somewhere in a JSON value."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 3)):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: mutate(data, value[key])}
    if isinstance(value, list) and value and data.draw(st.integers(0, 3)):
        index = data.draw(st.integers(0, len(value) - 1))
        return [*value[:index], mutate(data, value[index]), *value[index + 1 :]]
    return data.draw(json_values)


@every_driver
@given(data=st.data())
def test_any_damage_to_recorded_lines_is_read_without_failing_p12(name, data):
    driver = DRIVERS[name]
    path = data.draw(st.sampled_from(recordings_of(name)))
    state = driver.open(SEAT)[0]
    for line in lines_of(path):
        damaged = changed_objects([line], lambda value: mutate(data, value))
        read = driver.read(state, damaged[0] if data.draw(st.booleans()) else line)
        check_read(driver, read)
        state = read.state


@every_driver
@given(message=st.from_regex(r"[a-z0-9.]{1,20}", fullmatch=True), text=st.text(max_size=50))
def test_what_is_written_is_one_line_of_json_for_each_input_under_its_own_id(name, message, text):
    driver = DRIVERS[name]
    state = driver.open(SEAT)[0]
    asked = Asked("q1", "Write", "a", '{"file_path":"a"}')
    said = driver.say(state, message, text)
    allowed = driver.answer(state, asked, allow=True, reason="")
    refused = driver.answer(state, asked, allow=False, reason=text)
    written = [*said, *allowed, *driver.interrupt(state, "t1")]
    assert said[0].id == message
    assert [one.id for one in refused] == [one.id for one in allowed], "answered only once"
    assert len({one.id for one in written}) == len(written)
    for one in (*written, *refused):
        assert one.data.endswith("\n") and one.data.count("\n") == 1
        assert isinstance(json.loads(one.data.encode()), dict)


@every_driver
@pytest.mark.parametrize("text", ["\ud83d", "a\x00b", "x" * 100_000, "\u2028", ""])
def test_odd_texts_can_be_said(name, text):
    (line, *_) = DRIVERS[name].say(DRIVERS[name].open(SEAT)[0], "m1", text)
    assert line.data.encode().count(b"\n") == 1


@every_driver
def test_the_plan_stays_in_the_worker_s_own_folders(name):
    state, launch = DRIVERS[name].open(SEAT)
    assert isinstance(state, DRIVERS[name].state_type)
    assert launch.argv[: len(SEAT.command)] == SEAT.command
    assert (launch.cwd, launch.env["HOME"]) == (SEAT.cwd, SEAT.config_home)
    assert (launch.env["TMPDIR"], launch.env["KEY"]) == (SEAT.tmp, "k")
    assert all(not Path(file.path).is_absolute() for file in launch.files)
    assert not any(argument == "k" for argument in launch.argv), "logins are in no argument list"


@every_driver
def test_a_transcript_without_the_message_proves_its_absence(name):
    driver = DRIVERS[name]
    other = json.dumps({"type": "message", "uuid": "message-2", "id": "message-2"}).encode()
    assert driver.settle([], "message-1", "text") == Settlement("absent")
    assert driver.settle([other, b""], "message-1", "text") == Settlement("absent")


@every_driver
@given(lines=st.lists(st.binary(max_size=40), max_size=5))
def test_a_transcript_of_any_bytes_never_proves_an_answer_p12(name, lines):
    found = DRIVERS[name].settle(lines, "message-1", "text")
    assert found.proof in ("absent", "unknown")


@every_driver
def test_a_transcript_is_found_by_a_pattern_that_means_its_folder_literally(name):
    pattern = DRIVERS[name].transcript(SEAT, "key")
    assert pattern.startswith("/home[[]1]/w/") and pattern.endswith("key.jsonl")
