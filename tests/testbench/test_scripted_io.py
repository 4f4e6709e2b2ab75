"""The scripted CLI's input, byte by byte."""

import json
import os
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.testbench.scripted_io import Input, Interrupted, Malformed, Message, encode

messages = st.lists(st.builds(Message, st.text(max_size=5), st.text(max_size=20)), max_size=4)


def line(message: Message) -> bytes:
    return encode({"type": "message", "id": message.id, "text": message.text})


def feed(pieces: list[bytes]) -> list[Message]:
    reader, writer = os.pipe()
    source = Input(reader)
    try:
        for piece in pieces:
            os.write(writer, piece)
            source.pause(0)
        os.close(writer)
        writer = -1
        found = []
        while message := source.next_message():
            found.append(message)
        return found
    finally:
        for descriptor in (reader, source._wake_reader, source._wake_writer):
            os.close(descriptor)
        if writer >= 0:
            os.close(writer)


@given(messages, st.lists(st.integers(0, 400), max_size=6))
def test_messages_are_the_same_however_their_bytes_are_cut(messages, cuts):
    """P12, R03: a character may be cut in two; the last line may lack its newline."""
    data = b"".join(map(line, messages)).removesuffix(b"\n")
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges)]
    assert feed(pieces) == messages


@given(st.binary(max_size=80))
def test_any_other_bytes_are_refused_as_such(data):
    try:
        found = feed([data])
    except (Malformed, Interrupted):
        found = []
    assert all(isinstance(message, Message) for message in found)


def test_an_interrupt_waits_for_the_message_it_is_about():
    started = line(Message("m1", "go"))
    stop = b'{"type":"interrupt"}\n'
    assert feed([stop, started]) == [Message("m1", "go")]
    with pytest.raises(Interrupted):
        feed([started + stop])


def test_half_a_surrogate_pair_is_written_as_an_escape():
    written = encode({"text": "é\ud83d"})
    assert written == '{"text": "é\\ud83d"}\n'.encode()
    assert json.loads(written) == {"text": "é\ud83d"}
