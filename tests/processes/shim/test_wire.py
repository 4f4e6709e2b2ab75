"""One connection: whole lines in, whole lines out, whatever the pieces they come in."""

import json
import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amiral.processes.shim.wire import Connection, Refusal, number_of, parse, text_of, texts_of


@pytest.fixture
def pair():
    near, far = socket.socketpair()
    near.setblocking(False)
    far.setblocking(False)
    with far:
        connection = Connection(near.detach())
        yield connection, far
        connection.close()


@given(st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b""))), st.data())
def test_lines_do_not_depend_on_how_they_are_cut(lines, data):
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    near, far = os.pipe()
    connection = Connection(near)
    read = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        if start < end:
            os.write(far, stream[start:end])
            read += connection.receive()
    os.close(far)
    connection.close()
    assert read == lines


def test_the_other_side_hanging_up_closes_it(pair):
    connection, far = pair
    far.close()
    assert connection.receive() == []
    assert not connection.is_open
    connection.send({"late": 1})
    connection.close()


def test_what_the_other_side_does_not_read_waits_and_requests_do_too(pair):
    connection, far = pair
    while connection.wants_requests:
        connection.send({"n": 1, "pad": "x" * 10_000})
    assert connection.has_unsent
    received = b""
    while connection.has_unsent:
        received += far.recv(1 << 20)
        connection.flush()
    received += far.recv(1 << 20)
    assert connection.wants_requests
    assert {json.loads(line)["n"] for line in received.split(b"\n")[:-1]} == {1}


@pytest.mark.parametrize("line", [None, b"", b"x", b"[1]", b'"x"', b"\xff", b"[" * 99_999])
def test_what_is_no_request_is_refused(line):
    with pytest.raises(Refusal) as refusal:
        parse(line)
    assert refusal.value.kind == "invalid"


@pytest.mark.parametrize(
    ("take", "values"),
    [
        (text_of, [None, 1, [], {}]),
        (number_of, [None, "1", 1.0, True]),
        (texts_of, [None, "x", [], [1], ["x", None]]),
    ],
)
def test_a_field_of_another_type_is_refused(take, values):
    for value in values:
        with pytest.raises(Refusal, match="field must be"):
            take({"field": value}, "field")
